"""What every method promises, checked on a corpus whose answer is known.  A new entry in METHODS gets all of it."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail import config, fit, load
from longtail import open as open_model
from longtail.corpus import PAD, Corpus, Documents, LabelSet, Splits
from longtail.errors import ConfigError, CorpusError
from longtail.kernels.standalone import PLAIN
from longtail.methods import METHODS, method
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from tests import mutants
from tests.planted import N_LABELS, word

# What a method needs to learn the planted corpus in seconds; a method that needs nothing is not listed.
TRANSFORMER = {"transformer.max_tokens": 16, "transformer.word_lr": 2e-3, "optim.batch_size": 16}
BAG = {"encoder": "bag", "bag.dim": 64, "bag.subwords": 0}
HEADS = {"valid_documents": 0, "eps": 1e-8, "optim.row_lr": 1e-2, "optim.lr": 2e-3, "optim.epochs": 6}
CLUSTERED = HEADS | TRANSFORMER | {"dropout": 0.2, "transformer.pool": "cls"}
CLUSTERS = {"one_vs_all_up_to": 0, "labels_per_cluster": 8, "beam": 6}
ON_A_BAG = HEADS | BAG | {"optim.row_lr": 2e-2, "optim.epochs": 8, "optim.batch_size": 16}
ELIAS = BAG | {
    "dropout": 0.1, "labels_per_cluster": 8, "walk.beam": 4, "valid_documents": 0, "optim.epochs": 5,
    "optim.row_lr": 0.04, "optim.cluster_lr": (0.02, 0.01), "optim.lr": (0.02, 0.01),
}  # fmt: skip
ELIAS_ON_A_TRANSFORMER = ELIAS | TRANSFORMER | {
    "dropout": 0.2, "optim.lr": (2e-3, 1e-3),
    # The paper's way, so that both are tried.
    "walk.paths": "product", "belief_weight": 1.0,
}  # fmt: skip
DECAF_ON_A_TRANSFORMER = TRANSFORMER | {"optim.lr": 2e-3, "optim.average_from": "none", "optim.epochs": (2, 2, 6)}
LIGHTDXML_ON_A_TRANSFORMER = TRANSFORMER | {"optim.lr": 2e-3, "optim.epochs": 6, "optim.average_from": "none"}


def inside(part: str, settings: dict) -> dict:
    """Settings of a method that another one holds."""
    return {f"{part}.{name}": value for name, value in settings.items()}


SETTINGS: dict[str, dict] = {
    "lightxml": CLUSTERED | CLUSTERS,
    "lightxml++": inside("lightxml", CLUSTERED | CLUSTERS),
    "lightxml on a bag": ON_A_BAG | CLUSTERS,
    "gudn": dict(CLUSTERED),
    "gudn++": inside("gudn", CLUSTERED),
    "gudn on a bag": dict(ON_A_BAG),
    "decaf on a transformer": DECAF_ON_A_TRANSFORMER,
    "lightdxml on a transformer": LIGHTDXML_ON_A_TRANSFORMER,
    "elias": ELIAS,
    "elias on a transformer": ELIAS_ON_A_TRANSFORMER,
    "elias++": inside("elias", ELIAS),
    "elias++ on a transformer": inside("elias", ELIAS_ON_A_TRANSFORMER),
}
# The settings of each case say how its method learns, and the first word of its name says which one it is.
CASES = [*METHODS, *(name for name in SETTINGS if name not in METHODS)]
# Where the tiny transformer is to be named.
ENCODERS = {
    "lightxml": "encoder", "lightxml++": "lightxml.encoder", "gudn": "encoder", "gudn++": "gudn.encoder",
    "elias on a transformer": "encoder", "elias++ on a transformer": "elias.encoder",
    "decaf on a transformer": "encoder", "lightdxml on a transformer": "encoder",
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def name(request: pytest.FixtureRequest, tiny_encoder: Path) -> str:
    if request.param in ENCODERS:
        SETTINGS[request.param][ENCODERS[request.param]] = str(tiny_encoder)
    return request.param


def trained(name: str, corpus: Corpus, run: Path | None = None, **settings: object) -> Predictor:
    return fit(method_of(name), corpus, run=run, **(SETTINGS.get(name, {}) | settings))


def method_of(name: str) -> str:
    return name.partition(" ")[0]


@pytest.fixture(scope="module")
def heard(name: str) -> list[str]:
    """What was said while `fitted` was trained."""
    return []


@pytest.fixture(scope="module")
def fitted(name: str, planted: Splits, heard: list[str]) -> Predictor:
    return trained(name, planted.train, say=heard.append)


@pytest.fixture(scope="module")
def answer(fitted: Predictor, planted: Splits) -> Ranking:
    return fitted.rank(planted.test.documents, k=10)


def same(one: Ranking, other: Ranking) -> bool:
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)


def test_finds_the_label_whose_word_is_in_the_text(fitted: Predictor):
    documents = Documents.of([f"{word(label)} nothing else" for label in range(N_LABELS)])
    first = fitted.rank(documents, k=1).labels[:, 0]
    assert (first == np.arange(N_LABELS)).mean() >= 0.95


def test_finds_nearly_all_planted_labels_of_unseen_documents(answer: Ranking, planted: Splits):
    truth = [set(row) for row in np.split(planted.test.labels.indices, planted.test.labels.indptr[1:-1])]
    found = [len(labels & set(row[: len(labels)].tolist())) / len(labels) for labels, row in zip(truth, answer.labels)]
    assert np.mean(found) >= 0.9


def test_one_document_ranks_the_same_alone_and_in_a_batch(fitted: Predictor, planted: Splits, answer: Ranking):
    for row in (0, 17, 119):
        alone = fitted.rank(planted.test.documents[row : row + 1], k=10)
        assert np.array_equal(alone.labels[0], answer.labels[row])
        np.testing.assert_allclose(alone.scores[0], answer.scores[row], atol=1e-6)


def test_scores_fall_and_stay_within_zero_and_one(answer: Ranking):
    assert np.isfinite(answer.scores).all()
    assert (np.diff(answer.scores, axis=1) <= 0).all()
    assert answer.scores.min() >= 0 and answer.scores.max() <= 1


def test_equal_scores_stand_in_label_order(answer: Ranking):
    tied = (answer.scores[:, 1:] == answer.scores[:, :-1]) & (answer.labels[:, 1:] != PAD)
    assert (answer.labels[:, 1:][tied] > answer.labels[:, :-1][tied]).all()


def test_no_label_is_ranked_twice(answer: Ranking):
    for row in answer.labels:
        real = row[row != PAD]
        assert len(set(real.tolist())) == len(real)


def test_asking_for_more_labels_than_exist_pads(fitted: Predictor):
    ranking = fitted.rank(Documents.of([word(3)]), k=N_LABELS + 5)
    assert ranking.labels.shape == (1, N_LABELS + 5)
    assert (ranking.labels[0, N_LABELS:] == PAD).all() and (ranking.scores[ranking.labels == PAD] == 0).all()


def test_a_longer_answer_starts_with_the_shorter_one(fitted: Predictor, planted: Splits, answer: Ranking):
    assert np.array_equal(fitted.rank(planted.test.documents, k=3).labels, answer.labels[:, :3])


@pytest.mark.parametrize("text", ["", "   ", "zzzz qqqq", "\x00", "🦊", "a" * 100_000])
def test_a_text_without_known_words_gets_an_answer(fitted: Predictor, text: str):
    ranking = fitted.rank(Documents.of([text]), k=3)
    assert ranking.labels.shape == (1, 3) and np.isfinite(ranking.scores).all()


def test_no_documents_no_answers(fitted: Predictor):
    assert fitted.rank(Documents.of([]), k=4).labels.shape == (0, 4)


def test_a_saved_and_opened_model_gives_the_same_ranking(
    fitted: Predictor, planted: Splits, answer: Ranking, tmp_path: Path
):
    fitted.save(tmp_path / "model")
    assert same(open_model(tmp_path / "model").rank(planted.test.documents, k=10), answer)


TEXTS = st.lists(
    st.integers(0, 2 * N_LABELS).map(word) | st.sampled_from(["half \ud83d", "\x00", "ΣΑΣ", "İ"]) | st.text(max_size=8),
    max_size=6,
).map(" ".join)


@pytest.fixture(scope="module")
def opened(fitted: Predictor, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    place = tmp_path_factory.mktemp("opened") / "model"
    fitted.save(place)
    return open_model(place)


@settings(deadline=None, max_examples=15)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_whatever_the_texts_an_opened_model_answers_as_the_trained_one(
    fitted: Predictor, opened: Predictor, texts: list[str]
):
    assert same(opened.rank(Documents.of(texts), k=7), fitted.rank(Documents.of(texts), k=7))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_threads_and_a_forked_process_answer_alike(name: str, opened: Predictor, planted: Splits):
    texts = list(planted.test.texts)[:12]
    alone = [opened.predict([text], k=3) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: opened.predict([text], k=3), texts)) == alone
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # who waits for a thread that is not there waits forever
        os._exit(int([opened.predict([text], k=3) for text in texts] != alone))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_an_exported_model_answers_nearly_the_same_alone_and_in_a_batch(
    fitted: Predictor, planted: Splits, answer: Ranking, tmp_path: Path, precision: str
):
    fitted.export(tmp_path / "model", precision)
    small = open_model(tmp_path / "model")
    found = small.rank(planted.test.documents, k=10)
    assert (found.labels[:, 0] == answer.labels[:, 0]).mean() >= 0.98
    assert np.abs(found.scores[:, 0] - answer.scores[:, 0]).mean() < 0.01
    alone = small.rank(planted.test.documents[17:18], k=10)
    assert np.array_equal(alone.labels[0], found.labels[17])
    np.testing.assert_allclose(alone.scores[0], found.scores[17], atol=1e-6)


LIGHT = {"decaf", "lightdxml", "linear"}  # what a process that answers with them does not import

ASK = """
import sys, longtail
longtail.open(sys.argv[1]).predict(["fox"])
print([name for name in ("numba", "scipy", "torch", "tokenizers") if name in sys.modules])
"""


def test_the_first_answer_of_a_light_model_needs_neither_numba_nor_scipy(name: str, fitted: Predictor, tmp_path: Path):
    if name not in LIGHT or any(variable in os.environ for variable in PLAIN):
        pytest.skip("what answers of it is more than loops on plain arrays")
    fitted.save(tmp_path / "model")
    command = [sys.executable, "-c", ASK, str(tmp_path / "model")]
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said[1] == "[]\n", "the first process may have compiled what the second one uses"


def test_a_saved_model_holds_no_pickle(fitted: Predictor, tmp_path: Path):
    fitted.save(tmp_path / "model")
    kinds = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert kinds <= {".json", ".jsonl", ".safetensors", ".npy", ".md"}


def test_the_same_seed_gives_the_same_ranking(name: str, planted: Splits, answer: Ranking):
    assert same(trained(name, planted.train).rank(planted.test.documents, k=10), answer)


def test_every_stage_is_told_in_words(fitted: Predictor, heard: list[str]):
    stages = [line for line in heard if line.endswith(" …")]
    nameless = [line for line in stages if len(line.split()) < 3]
    assert len(stages) >= 3 and nameless == [], "train/phrases.py says nothing of these"
    assert len(heard) <= 2 * len(stages) + 5


def test_predictions_come_with_ids_and_names(fitted: Predictor):
    best = fitted.predict([f"{word(7)} {word(501)}"], k=1)[0][0]
    assert (best.index, best.id, best.name) == (7, "L7", word(7))


def test_a_threshold_leaves_out_what_scores_less(fitted: Predictor):
    all_of_them = fitted.predict([word(7)], k=5)[0]
    bar = all_of_them[0].score
    assert [s for s in fitted.predict([word(7)], k=5, threshold=bar)[0]] == [s for s in all_of_them if s.score >= bar]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_learns_a_corpus_of_few_labels(name: str, count: int):
    labels = [[f"kind {at % count}"] for at in range(60)]
    texts = [f"{word(at % count)} {word(500 + at % 7)}" for at in range(60)]
    model = trained(name, Corpus.of(texts, labels))
    best = [row[0].name for row in model.predict([word(at) for at in range(count)], k=1)]
    assert best == [f"kind {at}" for at in range(count)]


def test_labels_without_training_documents_break_nothing(name: str, planted: Splits):
    train = planted.train
    wider = LabelSet.of([*train.label_set, *LabelSet.of(["never seen", "nor this"])])
    labels = sp.csr_array(
        (train.labels.data, train.labels.indices, train.labels.indptr), shape=(len(train), len(wider))
    )
    model = trained(name, dataclasses.replace(train, labels=labels, label_set=wider))
    assert model.rank(Documents.of([word(5)]), k=1).labels[0, 0] == 5


def test_documents_without_labels_break_nothing(name: str):
    model = trained(name, Corpus.of([word(1), word(2), word(3), word(1)], [["one"], ["two"], [], ["one"]]))
    assert model.predict([word(1)], k=1)[0][0].name == "one"


def test_ready_made_features_serve_in_place_of_text_or_are_refused_aloud(name: str, planted: Splits):
    train = planted.train
    given = Documents(features=sp.csr_array(train.labels.astype(np.float32)))
    for array in (given.features.data, given.features.indices, given.features.indptr):
        array.flags.writeable = False  # as those of a loaded corpus, which are mapped from disk
    corpus = dataclasses.replace(train, documents=given).fingerprinted()
    try:
        model = trained(name, corpus)
    except CorpusError as error:
        assert "reads text" in str(error)
        return
    one_feature_each = Documents(features=sp.csr_array(sp.eye_array(N_LABELS, dtype=np.float32)))
    assert (model.rank(one_feature_each, k=1).labels[:, 0] == np.arange(N_LABELS)).mean() > 0.95


def test_training_on_the_test_split_is_refused(name: str, planted: Splits):
    with pytest.raises(CorpusError, match="test split"):
        trained(name, planted.test)


def test_an_unknown_setting_is_refused_by_name(name: str, planted: Splits):
    with pytest.raises(ConfigError, match="no setting baem"):
        trained(name, planted.train, baem=3)


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", "cuda:", "gpu", ""])
def test_a_device_that_is_not_here_is_refused_before_anything_is_computed(
    name: str, device: str, planted: Splits, tmp_path: Path
):
    with pytest.raises(ConfigError, match=f"device '{device}': "):
        fit(method_of(name), planted.train, run=tmp_path / "run", device=device)
    assert not (tmp_path / "run").exists()


class Reached(Exception):
    """A training was about to start."""


def test_a_device_is_where_the_method_trains_or_it_is_refused(
    name: str, planted: Splits, monkeypatch: pytest.MonkeyPatch
):
    """There may be no GPU here, so the machine is said to have two, and the training stops before its first step."""
    from longtail.train.loop import Training

    def stop(self: Training, *inputs: object) -> None:
        raise Reached(str(inputs[-1]))

    monkeypatch.setattr("longtail.train.device.gpus", lambda: 2)
    monkeypatch.setattr("longtail.train.run.free_on", lambda device: 2**40)
    monkeypatch.setattr(Training, "__init__", stop)
    with pytest.raises((Reached, ConfigError)) as told:
        fit(method_of(name), planted.train, device="cuda:1", **SETTINGS.get(name, {}))
    assert str(told.value) == "cuda:1" or "trains on the CPU alone" in str(told.value)


def test_every_setting_says_what_it_means(name: str):
    for line in config.explain(method(method_of(name)).Config()):
        assert line.meaning, f"{name}: {line.name} has no meaning"


def test_the_need_is_announced_and_is_no_fantasy(name: str, planted: Splits):
    chosen = method(method_of(name))
    need = chosen.need(planted.train, config.build(chosen.Config, SETTINGS.get(name, {})))
    assert need.parameters > 0 and 0 < need.memory < 4e9 and 0 < need.disk < 4e9


def test_the_demo_corpus_loads():
    corpus = load("demo")
    assert corpus.train.n_labels == 18_909 and len(corpus.train) == 74_951 and len(corpus.split("tst")) == 18_783


def test_a_model_that_lies_is_refused_or_answers_but_never_crashes(fitted: Predictor, tmp_path: Path):
    fitted.save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(9)) == []
