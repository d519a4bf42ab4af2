"""The layers in compiled code: torch's numbers, the same bits however texts come, and nothing of torch."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longtail import store
from longtail.corpus import Documents
from longtail.encoders import transformer as encoders_transformer
from longtail.encoders.families import FAMILIES, shape_of
from longtail.encoders.forward import Forward, chunks
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import Transformer, has_gpu
from longtail.errors import ModelError
from longtail.features.tokens import Tokens
from longtail.precision import all_stored_as
from tests.tiny_encoders import write_encoder

WORDS = [f"w{at}" for at in range(90)]
KNOWN = ["bert", "roberta", "distilbert"]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Transformer]:
    place = tmp_path_factory.mktemp("encoders")
    made = {family: str(write_encoder(place / family, WORDS, family, hidden=40, layers=3)) for family in KNOWN}
    return {family: replace(pretrained(where, 200), layers=2) for family, where in made.items()}


def drawn(transformer: Transformer, *lengths: int, seed: int = 0) -> Tokens:
    """Texts of these lengths, with the special tokens among their words."""
    rng = np.random.default_rng(seed)
    return Tokens.of([rng.integers(0, transformer.n_tokens, length).tolist() for length in lengths])


def by_torch(transformer: Transformer, tokens: Tokens) -> np.ndarray:
    return transformer._by_torch(tokens, np.arange(len(tokens)), roughly=False)


def smaller(transformer: Transformer, precision: str) -> Transformer:
    weights, scales = all_stored_as(precision, transformer.weights, transformer.scales)
    return replace(transformer, weights=weights, scales=scales)


@pytest.mark.parametrize("family", KNOWN)
@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_vectors_are_those_of_torch(encoders: dict[str, Transformer], family: str, pool: str):
    """Texts longer than a panel and than a strip; RoBERTa's padding token, which has no position of its own, inside."""
    transformer = replace(encoders[family], pool=pool)
    tokens = drawn(transformer, 3, 7, 64, 65, 150, 1)
    np.testing.assert_allclose(transformer.encode(tokens), by_torch(transformer, tokens), atol=2e-5)


@pytest.mark.parametrize(("precision", "near"), [("fp16", 0.01), ("int8", 0.1)])
def test_vectors_in_fewer_bits_are_near_and_torch_reads_the_same_weights(
    encoders: dict[str, Transformer], precision: str, near: float
):
    exact, rough = encoders["bert"], smaller(encoders["bert"], precision)
    tokens = drawn(exact, *range(3, 40))
    found, expected = rough.encode(tokens), exact.encode(tokens)
    assert np.abs(found - expected).max() < near * np.abs(expected).max()
    # What is left is the rounding of vectors alone: torch multiplies the same weights as floats.
    np.testing.assert_allclose(found, by_torch(rough, tokens), atol=near / 3 * float(np.abs(expected).max()))


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_text_has_the_same_bits_alone_in_a_batch_on_one_thread_and_on_many(
    encoders: dict[str, Transformer], precision: str, monkeypatch: pytest.MonkeyPatch
):
    transformer = smaller(encoders["bert"], precision)
    tokens = drawn(transformer, 5, 150, 7, 33, 120, 99, 64, 2)
    together = transformer.encode(tokens)
    for cores in (1, 3):
        monkeypatch.setattr("longtail.kernels.threads.available_cores", lambda cores=cores: cores)
        assert np.array_equal(transformer.encode(tokens), together)
        for text in range(len(tokens)):
            assert np.array_equal(transformer.encode(Tokens.of([tokens[text].tolist()]))[0], together[text])


def test_threads_that_come_together_get_their_own_answers(encoders: dict[str, Transformer]):
    transformer = replace(encoders["bert"])
    asked = [drawn(transformer, 5 + at, 60 - at, seed=at) for at in range(6)]
    expected, found = [replace(transformer).encode(tokens) for tokens in asked], [None] * len(asked)

    def answer(at: int) -> None:
        found[at] = transformer.encode(asked[at])

    threads = [threading.Thread(target=answer, args=(at,)) for at in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, other) for one, other in zip(found, expected))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_that_forks_after_its_first_answer_answers_in_the_child(
    encoders: dict[str, Transformer], tmp_path: Path
):
    store_in(tmp_path / "stored", encoders["bert"])
    code = f"""
import os, sys, numpy as np
from pathlib import Path
from longtail import store
from longtail.corpus import Documents
from longtail.encoders.transformer import Transformer
t = store.read(Path({str(tmp_path / "stored")!r}), Transformer)
texts = Documents.of(["w1 w2 w3 " * 30, "w5"] * 20)
before = t.encode(t.read(texts))
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(t.encode(t.read(texts)), before) else 3)
print(os.waitpid(child, 0)[1], "torch" in sys.modules, "transformers" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.split() == ["0", "False", "False"]


def test_a_copy_and_a_pickled_one_answer_the_same(encoders: dict[str, Transformer]):
    """As processes of Ray and copies in Python have it, after the first answer has made the layers."""
    transformer = replace(encoders["bert"])
    tokens = drawn(transformer, 3, 7)
    expected = transformer.encode(tokens)
    for other in (copy.deepcopy(transformer), pickle.loads(pickle.dumps(transformer))):
        np.testing.assert_array_equal(other.encode(tokens), expected)


def store_in(place: Path, transformer: Transformer) -> None:
    with store.whole_directory(place) as building:
        store.write(building, transformer)


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_a_stored_one_in_fewer_bits_reads_the_same(encoders: dict[str, Transformer], precision: str, tmp_path: Path):
    transformer = smaller(encoders["roberta"], precision)
    store_in(tmp_path / "stored", transformer)
    again, tokens = store.read(tmp_path / "stored", Transformer), drawn(transformer, 4, 9)
    assert np.array_equal(again.encode(tokens), transformer.encode(tokens))


def test_no_texts_have_no_vectors(encoders: dict[str, Transformer]):
    assert encoders["bert"].encode(Tokens.of([])).shape == (0, 80)


# -- what it does not know ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    {"model_type": "xlnet"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}, {"hidden_size": "40"},
    {"num_attention_heads": 3}, {"num_attention_heads": 0}, {"layer_norm_eps": None}, {"layer_norm_eps": -1.0},
    {"hidden_size": True}, {"num_hidden_layers": 10**9}, {"max_position_embeddings": 0}, {"type_vocab_size": -1},
])  # fmt: skip
def test_another_architecture_is_left_to_torch(encoders: dict[str, Transformer], change: dict):
    assert shape_of(encoders["bert"].architecture) is not None
    assert shape_of(encoders["bert"].architecture | change) is None


def test_roberta_counts_from_its_padding(encoders: dict[str, Transformer]):
    about = encoders["roberta"].architecture
    shape = shape_of(about)
    assert shape is not None and (shape.before, shape.longest) == (1, 512)
    assert shape_of(about | {"pad_token_id": -2}) is None and shape_of(about | {"pad_token_id": 600}) is None


def test_every_family_is_one_of_three_ways_to_name_things():
    assert {"bert", "roberta", "xlm-roberta", "distilbert"} <= FAMILIES.keys()


@pytest.mark.parametrize("wrong", ["missing", "more", "shape"])
def test_weights_that_do_not_fit_the_architecture_are_named(encoders: dict[str, Transformer], wrong: str):
    name, weights = "encoder.layer.1.output.dense.weight", dict(encoders["bert"].weights)
    if wrong == "missing":
        del weights[name]
    else:
        weights["zzz" if wrong == "more" else name] = np.zeros((3, 4), np.float32)
    with pytest.raises(ModelError, match=r"do not fit its architecture \((encoder\.layer\.1\.output\.dense|zzz)"):
        replace(encoders["bert"], weights=weights).encode(drawn(encoders["bert"], 4))


@pytest.mark.parametrize("ids", [[4, -1], [4, 10_000], []])
def test_tokens_that_have_no_vector_are_refused(encoders: dict[str, Transformer], ids: list[int]):
    with pytest.raises(ModelError, match="before a transformer with vectors for 94"):
        encoders["bert"].encode(Tokens.of([[5, 6], ids]))


def test_texts_longer_than_positions_are_refused(encoders: dict[str, Transformer]):
    with pytest.raises(ModelError, match="reads up to 514"):
        encoders["bert"].encode(drawn(encoders["bert"], 515))


def test_a_tokenizer_that_reads_too_much_is_refused_before_layers_are_built(encoders: dict[str, Transformer]):
    bert = encoders["bert"]
    pieces = replace(bert.pieces, max_tokens=600, longest=600)
    with pytest.raises(ModelError, match="cannot read 600 tokens, but 514"):
        replace(bert, pieces=pieces).encode(drawn(bert, 4))
    with pytest.raises(ModelError, match="a tokenizer with token 9999 before a transformer with vectors for 94"):
        replace(bert, pieces=replace(bert.pieces, pad=9999)).encode(drawn(bert, 4))


def test_a_gpu_is_left_to_torch(encoders: dict[str, Transformer], monkeypatch: pytest.MonkeyPatch):
    assert not has_gpu()
    asked = []
    monkeypatch.setattr(encoders_transformer, "has_gpu", lambda: True)
    monkeypatch.setattr(
        Transformer, "_by_torch", lambda self, tokens, rows, roughly: asked.append(rows) or np.zeros((1, 80))
    )
    encoders["bert"].encode(drawn(encoders["bert"], 4))
    assert len(asked) == 1


# -- chunks ------------------------------------------------------------------------------------------------------------


def test_every_text_is_in_one_chunk_and_long_ones_are_alone():
    lengths = np.random.default_rng(0).integers(1, 40, 200)
    found = chunks(lengths, 64)
    assert sorted(np.concatenate(found).tolist()) == list(range(200))
    assert all(lengths[rows].sum() <= 64 for rows in found)
    assert [rows.tolist() for rows in chunks(np.array([100, 3]), 64)] == [[0], [1]]


def test_layers_are_made_once_and_work_is_cut_by_tokens(encoders: dict[str, Transformer]):
    bert = encoders["bert"]
    forward = Forward(shape_of(bert.architecture), bert.weights, {})
    tokens = drawn(bert, *[30] * 40)
    found = forward.encode(tokens, np.arange(10, 40), 2, bert.pool, first=True)
    assert np.array_equal(found, bert.encode(tokens)[10:])


def test_documents_are_read_without_an_order_of_their_own(encoders: dict[str, Transformer]):
    bert = encoders["bert"]
    documents = Documents.of(["w1", "w2 w3 w4", "", "w9 w9"])
    rows, vectors = (np.concatenate(parts) for parts in zip(*bert.batches(documents)))
    assert np.array_equal(vectors[np.argsort(rows)], bert.encode(bert.read(documents)))
