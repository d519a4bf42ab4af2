"""Stages have short names on disk and are told in words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import longtail
from longtail.train.phrases import PHRASES, phrase

PACKAGE = Path(longtail.__file__).parent
NAMING = {"stage", "train", "trained", "watched"}  # functions of the methods that take a stage's name


COUNTED = ("clusters", "shortlister", "shortlists", "ranker")  # by instance, of which the first has no number


def names_in(tree: ast.AST) -> Iterator[str]:
    """Stage names in a module, with 1 where a name has a number."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "attr", getattr(call.func, "id", None)) in NAMING:
            for given in call.args[:2]:
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    yield given.value
                elif isinstance(given, ast.JoinedStr):
                    yield "".join(part.value if isinstance(part, ast.Constant) else "1" for part in given.values)


def test_every_stage_of_every_method_has_its_words():
    paths = [path for part in ("methods", "encoders", "predict", "train") for path in (PACKAGE / part).rglob("*.py")]
    names = {name for path in paths for name in names_in(ast.parse(path.read_text("utf-8")))}
    assert {"tree-1", "warm-up", "shortlister-1", "recall", "proposed", "valid-documents", "label-tokens"} <= names
    assert [name for name in names if phrase(name) == name] == []
    described = {name.replace("#", "1") for name in PHRASES} - {f"{name}-0" for name in COUNTED}
    assert described - names == {"tree-1-level-1"}, "no stage has this name but one that is put together elsewhere"


def test_numbers_of_a_name_are_in_its_words_and_instances_count_from_one():
    assert phrase("tree-2-level-13") == "training the classifiers of tree 2, level 13"
    assert phrase("ranker-0") == "training the classifiers of labels"
    assert phrase("ranker-1") == "training the classifiers of labels, for instance 2"
    assert phrase("stage-1") == "training encoder and classifiers, stage 1 of 2"
