"""Binary fastText models, checked against what the fasttext package itself says of this one."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import numpy as np
import pytest

from longtail.errors import ConfigError
from longtail.features.fasttext import fnv, open_fasttext, pieces_of
from longtail.features.vectors import first_vectors

# Ten words, twenty buckets, pieces of two and three letters, three numbers a vector; written by fasttext 0.9.
MODEL = zlib.decompress(base64.b85decode(
    'c-mc1F%H5o3^X7Z5Ca2ZK!_h8HYP+}v9R$5L@Qt^Lt*bzI`9St7E<*ih?Pfx-CRgTq>Fu5`|RdE+{}7J)DpCThM@Tu2gtQ95=>X)'
    '_iH{1x{@pO%n?60i&?s)9z;4HV(K`u+nzm1>tyTG=(MltNmLE5PJB!}Nq2|xmc*%7*5&mgYFsO#38GgF%f&X&4N)fO7eWdfjqn^b'
    'Pt;|BT%p8TuWI@|M?Euq3}%q!+M`fSy>*UpwPd;OkUeZKVIRd4Im3@IkKoC!FT~EF)fhQpE(2~i_0|2E{jQ9+Ab7I-|H8k6^VVMX'
    'c8>o%syScEWn!)'
))  # fmt: skip
EXPECTED = {
    "cat": [-0.875, -1.25, 2.125],
    "schönes": [2.4375, -0.625, -1.0],
    "catdog": [0.30769, -1.30769, 1.30769],  # never seen: its pieces alone
    "x": [-0.33333, -0.66667, -5.0],
    "": [-3.0, -1.0, 8.0],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tiny.bin").write_bytes(MODEL)
    return tmp_path / "tiny.bin"


@pytest.mark.parametrize("word", EXPECTED)
def test_a_word_is_the_mean_of_itself_and_its_pieces(path: Path, word: str):
    np.testing.assert_allclose(open_fasttext(path).vector(word), EXPECTED[word], atol=1e-5)


def test_pieces_are_runs_of_letters_but_no_bracket_alone():
    assert [piece.decode() for piece in pieces_of("<né>", 1, 2)] == ["<n", "n", "né", "é", "é>"]


def test_the_hash_of_letters_beyond_ascii_counts_bytes_as_signed():
    assert fnv(b"") == 2_166_136_261 and fnv(b"a") == 0xE40C292C
    assert fnv("é".encode()) != fnv(b"e")


def test_token_vectors_start_from_it_even_for_words_it_never_saw(path: Path):
    vectors = first_vectors(["cat", "catdog", "dog"], str(path), 3, seed=0)
    random = first_vectors(["cat", "catdog", "dog"], "random", 3, seed=0)
    assert (vectors != random).any(axis=1).all()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a whole fastText model"),
        (b"3 2\ncat 1 0\n", "not a binary fastText model"),
        (MODEL[:100], "not a whole fastText model"),
        (MODEL[:200], "not a whole fastText model"),
        (MODEL[:-40], "not a whole fastText model"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, complaint: str):
    (tmp_path / "bad.bin").write_bytes(content)
    with pytest.raises(ConfigError, match=complaint):
        open_fasttext(tmp_path / "bad.bin")
