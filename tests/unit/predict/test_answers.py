"""Answers as they are written."""

from __future__ import annotations

import json

import pytest

from longtail.data.queries import Bad, Query
from longtail.errors import ConfigError
from longtail.predict.answers import TOLD, Answers, as_annif, as_csv, as_json
from longtail.predict.predictor import Predictor, Suggestion
from tests.planted import word

FOX = [Suggestion(1, "http://x/fox", 'red "fox", wild', 0.5)]


def test_json_gives_ids_back_as_they_were():
    assert json.loads(as_json(1, Query("x", 0), FOX)) == {
        "id": 0, "labels": [{"index": 1, "id": "http://x/fox", "name": 'red "fox", wild', "score": 0.5}],
    }  # fmt: skip
    assert json.loads(as_json(1, Bad(7, "q:7: bad"), [])) == {"error": {"line": 7, "message": "q:7: bad"}}


def test_csv_quotes_what_needs_it_and_a_text_without_labels_has_a_row():
    assert as_csv(3, Query("x", "a,b"), FOX) == '3,"a,b",1,http://x/fox,"red ""fox"", wild",0.5,\n'
    assert as_csv(4, Query("x"), []) == "4,,,,,,\n"
    assert as_csv(5, Bad(6, "q:6: bad", 9), []) == "5,9,,,,,q:6: bad\n"


def test_annif_has_no_place_for_ids_with_spaces():
    assert as_annif(1, Query("a\tb\r\nc"), FOX * 2) == "a b c\t<http://x/fox> <http://x/fox>\n"
    assert as_annif(1, Query("x"), []) == "x\t\n"
    with pytest.raises(ConfigError, match="the id 'red fox' has one"):
        as_annif(1, Query("x"), [Suggestion(1, "red fox", "fox", 0.5)])


def test_records_are_numbered_across_batches_and_bad_ones_told_up_to_a_number(model: Predictor):
    said: list[str] = []
    answers = Answers(model, 1, 0.0, as_csv, said.append)
    batches = [[Query(word(3)), Bad(2, "q:2: bad")], [Bad(3, "q:3: bad")] * TOLD, [Query(word(4))]]
    lines = b"".join(map(answers, answers.numbered(batches))).decode().splitlines()
    assert lines[0].startswith(f"1,,1,L3,{word(3)},") and lines[1] == "2,,,,,,q:2: bad"
    assert lines[-1].startswith(f"{TOLD + 3},,1,L4,{word(4)},") and len(lines) == TOLD + 3
    assert len(said) == TOLD and said[-1].endswith("more are not told here")
    answers.tell_how_many_were_bad()
    assert said[-1].startswith(f"{TOLD + 1} of {TOLD + 3} records")
