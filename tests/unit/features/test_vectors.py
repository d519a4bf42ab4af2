from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from longtail.errors import ConfigError
from longtail.features.vectors import PACKAGES, first_vectors

WORDS = ["cat", "dog", "stone"]


def written(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_random_vectors_are_kaiming_uniform_and_a_function_of_the_seed():
    vectors = first_vectors(["token"] * 500, "random", 24, seed=3)
    assert vectors.shape == (500, 24) and vectors.dtype == np.float32
    assert np.abs(vectors).max() <= np.sqrt(6 / 24)
    assert np.linalg.norm(vectors, axis=1).mean() == pytest.approx(np.sqrt(2), rel=0.02)
    assert np.array_equal(vectors, first_vectors(["token"] * 500, "random", 24, seed=3))
    assert not np.array_equal(vectors, first_vectors(["token"] * 500, "random", 24, seed=4))


def test_a_fasttext_file_gives_vectors_to_the_words_it_knows_and_leaves_the_others_random(tmp_path):
    source = written(tmp_path / "some.vec", "3 2\ncat 1 0\ndog 0.9 0.1\nsea 5 5\n")
    vectors = first_vectors(WORDS, source, 4, seed=0)
    assert np.linalg.norm(vectors[:2], axis=1).mean() == pytest.approx(np.sqrt(2), rel=1e-5)
    assert np.array_equal(vectors[2], first_vectors(WORDS, "random", 4, seed=0)[2])
    assert (vectors[:2, 2:] == 0).all()


def test_wider_vectors_keep_the_directions_in_which_words_differ(tmp_path):
    lines = [f"{word} {x} 7 0.001" for word, x in zip(WORDS, (-1, 0, 1))]
    vectors = first_vectors(WORDS, written(tmp_path / "wide.vec", "3 3\n" + "\n".join(lines)), 1, seed=0)
    assert np.sign(vectors[0, 0]) == -np.sign(vectors[2, 0]) and abs(vectors[1, 0]) < 1e-3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("cat 1 0\n", "line 1 should count"),
        ("1 3\ncat 1 0\n", "line 2 has 2 numbers, and line 1 says 3"),
        ("1 2\nsea 1 0\n", "none of its words"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(tmp_path, content: str, complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        first_vectors(WORDS, written(tmp_path / "bad.vec", content), 2, seed=0)


def test_an_unknown_source_is_refused():
    with pytest.raises(ConfigError, match="nor one of random, wordllama, minilm"):
        first_vectors(WORDS, "glove", 2, seed=0)


@pytest.mark.parametrize("source", ["wordllama", "minilm"])
def test_a_package_knows_that_cats_are_more_like_dogs_than_like_gearboxes(source: str):
    if find_spec(PACKAGES[source].module) is None:
        pytest.skip(f"SKIPPED, NOT PASSED: pip install {PACKAGES[source].distribution}")
    words = ["cat", "dog", "gearbox", "engine", "river", "music", "law", "green", "seven", "bread", "window", "king"]
    vectors = first_vectors(words, source, 64, seed=0)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
