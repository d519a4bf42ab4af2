"""Words by Python's own rules, subwords by Hugging Face's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longtail import store
from longtail.corpus import Texts
from longtail.errors import ModelError
from longtail.features import tokens as tokens_module
from longtail.features.tokens import SPECIAL_TOKENS, Subwords, Tokens, Words, chunks

# Letters whose lower case is longer, shorter, elsewhere, or depends on the neighbours; marks; digits; and no letters.
ODD = "İıΣσςßẞKÅǅȺⱥÉé\u0301ªⒶ²①٣中文ひ🙂\u200d_aZ0 \n\x85\u2028\ud800\udfff\U0001e900\U00010400\0"
odd_text = st.text(st.one_of(st.sampled_from(ODD), st.characters(categories=None)), max_size=30)


def plain_words(text: str) -> list[str]:
    return re.findall(r"(?u)\b\w\w+\b", text.lower())


@settings(deadline=None, max_examples=300)
@given(st.lists(odd_text, max_size=5))
@example(["ΣΑΣ ΟΔΟΣ", "İstanbul", "ὈΔΥΣΣΕΎΣ."])
@example(["K KK ÅÅ", "Ⱥa", "ǅb"])
def test_words_are_those_of_scikit_learn(strings: list[str]):
    words = Words()
    learned = words.learn(Texts.of(strings))
    names = list(words)
    assert [[names[number] for number in learned[row]] for row in range(len(strings))] == [*map(plain_words, strings)]
    assert words.encode(Texts.of(strings)).ids.tolist() == learned.ids.tolist()


def surrogate(char: str) -> bool:
    return "\ud800" <= char <= "\udfff"


def test_every_code_point_is_lowered_and_classed_as_python_does():
    special = "İΣ"  # left to str.lower together with the texts they are in, so here they stand alone
    ordinary = [chr(code) for code in range(sys.maxunicode + 1) if chr(code) not in special]
    # Between two letters every word character makes a word, and others part two words that are too short.
    groups = [" ".join(f"x{char}x" for char in ordinary[at : at + 64]) for at in range(0, len(ordinary), 64)]
    words = Words()
    for group in [*groups, *special]:
        words.learn(Texts.of([group]))
    assert list(words) == list(dict.fromkeys(word for group in groups for word in plain_words(group)))
    assert len(words) > 100_000
    # The scanner's buffer counts on this.
    assert all(2 * len(char.lower().encode()) <= 3 * len(char.encode()) for char in ordinary if not surrogate(char))


def test_texts_read_alike_in_one_piece_and_scattered_over_a_larger_whole():
    whole = Texts.of(f"word{number % 7} Éa{number} x" for number in range(50))
    scattered = whole[::-3]
    apart, together = Words(), Words()
    assert apart.learn(scattered).ids.tolist() == together.learn(Texts.of(scattered)).ids.tolist()
    assert list(apart) == list(together)


def test_words_of_others_are_absorbed_under_new_numbers():
    words, others = Words(["red", "fox"]), Words(["sea", "red", "überlang-bandwurmwort"])
    numbers = words.absorb(others)
    assert [list(words)[number] for number in numbers] == ["sea", "red", "überlang", "bandwurmwort"]
    assert list(words) == ["red", "fox", "sea", "überlang", "bandwurmwort"]


def test_chunks_cover_the_texts_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens_module, "CHUNK", 10)
    strings = ["", "abc", "d" * 35, "", "ef", "ghi", "jklmno", "p", "q" * 10, ""]
    pieces = chunks(Texts.of(strings))
    assert [text for piece in pieces for text in piece] == strings
    assert max(sum(map(len, piece)) for piece in pieces if "d" * 35 not in piece) <= 20
    assert len(pieces) > 3


def test_no_texts_are_one_empty_chunk():
    assert [len(piece) for piece in chunks(Texts.of([]))] == [0]


def test_joined_tokens_are_those_of_the_parts():
    parts = [Tokens(np.array([1, 2], np.int32), np.array([0, 2, 2])), Tokens(np.array([3], np.int32), np.array([0, 1]))]
    joined = Tokens.joined(parts)
    assert [joined[row].tolist() for row in range(len(joined))] == [[1, 2], [], [3]]


# -- subwords -----------------------------------------------------------------------------------------------------

STORIES = Texts.of(
    f"The {color} {animal} of Übersee runs {number} miles" * 2
    for number, (color, animal) in enumerate((c, a) for c in ("red", "blue", "grey") for a in ("fox", "wolf", "hound"))
)


@pytest.fixture(scope="module", params=["wordpiece", "bpe"])
def subwords(request: pytest.FixtureRequest) -> Subwords:
    return Subwords.train(STORIES, 300, request.param)


def test_subwords_spell_the_text_in_lower_case(subwords: Subwords):
    encoded = subwords.encode(Texts.of(["The RED hound", "", "foxes"]))
    pieces = [[subwords.names[token] for token in encoded[row]] for row in range(3)]
    assert ["".join(row).replace("##", "").replace("Ġ", "") for row in pieces] == ["theredhound", "", "foxes"]
    assert len(pieces[2]) > 1


def test_special_tokens_stand_for_no_text(subwords: Subwords):
    assert [subwords.names[token] for token in subwords.special] == SPECIAL_TOKENS
    assert not np.isin(subwords.encode(STORIES).ids, subwords.special).any()


def test_half_a_surrogate_pair_does_not_stop_the_tokenizer(subwords: Subwords):
    assert len(subwords.encode(Texts.of(["red \ud800 fox"])).ids) > 2


def test_training_again_in_another_process_gives_the_same_subwords(subwords: Subwords):
    kind = "wordpiece" if subwords.tokenizer["model"]["type"] == "WordPiece" else "bpe"
    code = (
        "import sys, json; from longtail.corpus import Texts; from longtail.features.tokens import Subwords\n"
        f"print(json.dumps(Subwords.train(Texts.of(json.load(sys.stdin)), 300, {kind!r}).tokenizer))"
    )
    again = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(list(STORIES)), capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout) == subwords.tokenizer


def test_subwords_survive_the_store_and_a_tokenizer_file(subwords: Subwords, tmp_path: Path):
    with store.whole_directory(tmp_path / "subwords") as building:
        store.write(building, subwords)
    (tmp_path / "tokenizer.json").write_text(json.dumps(subwords.tokenizer), "utf-8")
    for read in (store.read(tmp_path / "subwords", Subwords), Subwords.open(tmp_path / "tokenizer.json")):
        assert read == subwords
        assert read.encode(STORIES).ids.tolist() == subwords.encode(STORIES).ids.tolist()


def test_padding_and_cuts_asked_for_by_a_tokenizer_file_are_not_made(subwords: Subwords):
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    pad = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    published = Subwords(subwords.tokenizer | {"truncation": cut, "padding": pad | {"pad_to_multiple_of": None}})
    assert published.encode(STORIES).ids.tolist() == subwords.encode(STORIES).ids.tolist()


@pytest.mark.parametrize("content", [None, "", "{}", '{"model": 3}'])
def test_a_file_that_is_no_tokenizer_is_named(content: str | None, tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        Subwords.open(path)


def test_subwords_of_much_text_are_learned_from_a_part_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.features.tokens.ENOUGH_BYTES", 100)
    often, seldom = ["red fox"] * 99, ["zebra"]
    assert "zebra" not in Subwords.train(Texts.of(often + seldom), 200).names  # a seventh of the texts
    assert "zebra" in Subwords.train(Texts.of(often[:5] + seldom), 200).names
