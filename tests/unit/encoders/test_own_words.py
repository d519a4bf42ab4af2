"""Words of a corpus become tokens of its transformer, whichever family; all other text reads as before."""

from __future__ import annotations

import json
import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from longtail import store
from longtail.corpus import Documents, Texts
from longtail.encoders.own_words import own_words, taught, with_words
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import Reading, Transformer
from longtail.errors import ConfigError
from longtail.features.tokens import Subwords
from tests.tiny_encoders import SPECIAL, write_encoder

FAMILIES = list(SPECIAL)
WORDS = ["red", "fox", "sea"]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("encoders")
    for family in FAMILIES:
        write_encoder(place / family, WORDS, family, hidden=16, layers=2)
    return place


def pieces(subwords: Subwords, text: str) -> list[str]:
    return [subwords.names[number] for number in subwords.encode(Texts.of([text]))[0]]


def wordpieces() -> Subwords:
    """Letters, and three words."""
    known = ["[UNK]", *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), ","]
    numbers = {each: at for at, each in enumerate([*known, "red", "fox", "sea"])}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Subwords(json.loads(tokenizer.to_str()))


def vector(transformer: Transformer, text: str) -> np.ndarray:
    return next(transformer.batches(Documents.of([text])))[1][0]


def test_words_met_often_that_have_no_token_are_found_the_most_frequent_first():
    subwords = wordpieces()
    assert len(pieces(subwords, "gtk")) > 1 and len(pieces(subwords, "dns")) > 1 and pieces(subwords, "d") == ["d"]
    documents, labels = Texts.of(["DNS gtk red seas", "dns gtk red red"]), Texts.of(["dns qt"])
    assert list(own_words(subwords, documents, labels, times=2)) == ["dns", "gtk"]
    assert list(own_words(subwords, documents, labels, times=3)) == ["dns"]
    assert list(own_words(subwords, documents, labels, times=4)) == []


def test_a_word_is_one_token_where_it_stands_whole_and_pieces_inside_another():
    before = wordpieces()
    after, (number,) = taught(before, Texts.of(["dns"]))
    assert number == len(before.names)
    assert pieces(after, "red DNS, fox") == [*pieces(before, "red"), "dns", *pieces(before, ", fox")]
    for other in ("dnsmasq", "udns"):
        assert pieces(after, other) == pieces(before, other)


def test_tokenizers_that_know_spaces_take_a_word_with_the_space_in_front():
    tokenizer = Tokenizer(models.BPE({each: at for at, each in enumerate(pre_tokenizers.ByteLevel.alphabet())}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    subwords = Subwords(json.loads(tokenizer.to_str()))
    after, _ = taught(subwords, Texts.of(["dns"]))
    assert pieces(after, "a dns b") == ["a", "dns", "Ġ", "b"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_learns_words_and_reads_all_else_as_before(encoders: Path, family: str, tmp_path: Path):
    start = pretrained(str(encoders / family), 16)
    more = with_words(start, own_words(start.pieces.subwords, Texts.of(["gtk gtk"]), Texts.of(["red"]), times=2))
    np.testing.assert_array_equal(vector(more, "red fox, sea"), vector(start, "red fox, sea"))
    # Its vector is that of what it was read as before, here the unknown word, until it learns.
    np.testing.assert_allclose(vector(more, "red gtk"), vector(start, "red gtk"), atol=1e-6)
    read, read_before = (each.pieces.subwords.encode(Texts.of(["red gtk"]))[0] for each in (more, start))
    assert read[0] == read_before[0] and read[1] == more.architecture["vocab_size"] - 1 != read_before[1]
    store.write(tmp_path, more)
    again = store.read(tmp_path, Transformer)
    np.testing.assert_array_equal(vector(again, "red gtk"), vector(more, "red gtk"))


def test_a_words_vector_starts_at_the_mean_of_its_pieces(encoders: Path):
    start = pretrained(str(encoders / "bert"), 16)
    start = replace(start, pieces=replace(start.pieces, subwords=wordpieces()))
    table = "embeddings.word_embeddings.weight"
    vectors = np.arange(2.0 * len(start.pieces.subwords.names), dtype=np.float32).reshape(-1, 2)
    start = replace(start, weights=start.weights | {table: np.repeat(vectors, 8, axis=1)})
    start = replace(start, architecture=start.architecture | {"vocab_size": len(vectors)})
    one, *others = start.pieces.subwords.encode(Texts.of(["gtk"]))[0].tolist()
    assert others, "in pieces"
    grown = with_words(start, Texts.of(["gtk"])).weights[table]
    assert len(grown) == len(vectors) + 1
    np.testing.assert_allclose(grown[-1], start.weights[table][[one, *others]].mean(axis=0))
    np.testing.assert_array_equal(grown[:-1], start.weights[table])


def test_no_word_changes_nothing(encoders: Path):
    start = pretrained(str(encoders / "bert"), 16)
    same = with_words(start, Texts.of([]))
    assert same.architecture["vocab_size"] == start.architecture["vocab_size"]
    np.testing.assert_array_equal(vector(same, "red fox"), vector(start, "red fox"))


def test_words_are_met_at_least_once():
    with pytest.raises(ConfigError, match=r"reading\.own_words"):
        Reading(own_words=0)
