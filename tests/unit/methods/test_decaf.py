"""What DECAF promises beyond the contract: resuming, labels known by their text alone, predicting without torch."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Splits
from longtail.index.clusters import Clusters
from longtail.kernels.csr import rows_of
from longtail.methods.decaf.learn import Meetings, Network, first_pool, started, trained
from longtail.methods.decaf.settings import Config, Learning
from longtail.train.loop import train
from longtail.train.optim import Optim
from longtail.train.run import open_run
from tests.planted import N_LABELS, word

# Tokens frozen after module I, where words of one cluster have become alike: the ranker needs longer to part them.
FROZEN = {"lite": True, "ranker.averaged": 0, "ranker.epochs": 12}
QUICK = {"dim": 32, "subwords": 0, "surrogate.epochs": 2, "shortlister.epochs": 2, "ranker.epochs": 5}


def ranker(planted: Splits) -> Network:
    """A ranker before its first step, with pools that will sharpen; labels are bags of their own word."""
    rng = np.random.default_rng(0)
    clusters = Clusters(np.arange(N_LABELS, dtype=np.int32), np.arange(0, N_LABELS + 1, 4))
    opened = np.stack([rng.permutation(len(clusters))[:6] for _ in range(len(planted.train))]).astype(np.int32)
    truth, texts = planted.train.labels, sp.csr_array(sp.eye_array(N_LABELS, dtype=np.float32))
    pool = first_pool(clusters.starts, opened, rng)
    meetings = Meetings(rows_of(truth), truth, rows_of(texts), 2, clusters.starts, opened, pool)
    vectors = rng.standard_normal((N_LABELS, 8)).astype(np.float32)
    return started(vectors, meetings, Config(dim=8), Learning(), "both", frozen=False)


def test_a_ranker_stopped_between_epochs_goes_on_with_the_pools_it_had(planted: Splits, tmp_path: Path):
    optim = Optim(lr=0.01, epochs=4, batch_size=64, keep="last")
    whole, part, rest = (ranker(planted) for _ in range(3))
    with open_run(tmp_path / "whole", "decaf", {}, planted.train) as run:
        train(run, "ranker", whole, whole.meetings, optim, seed=1)
    with open_run(tmp_path / "parts", "decaf", {}, planted.train) as run:
        train(run, "ranker", part, part.meetings, optim, seed=1, until=2)
        train(run, "ranker", rest, rest.meetings, optim, seed=1)
    assert np.array_equal(rest.meetings.pool, whole.meetings.pool)
    assert np.array_equal(rest.vectors.detach(), whole.vectors.detach())


def test_on_another_device_the_pools_stay_where_batches_are_made(planted: Splits):
    network = ranker(planted)
    network.to("meta")  # the one other device that every machine has; it can hold but not compute
    assert network.vectors.device.type == "meta" and network.pool.device.type == "cpu"
    network.pool[0, 0] = 7  # as a resume does
    assert network.meetings.pool[0, 0] == 7


def test_pools_come_to_hold_the_labels_of_opened_clusters_that_score_best(planted: Splits, tmp_path: Path):
    network = ranker(planted)
    with open_run(tmp_path, "decaf", {}, planted.train) as run:
        trained(network, "ranker", network.meetings, Learning(epochs=2, batch_size=64), 0, run)
    meetings, scorer = network.meetings, network.scorer(network.meetings.texts)
    meetings.sharpen(scorer)
    scores = scorer.encoder.documents(meetings.documents) @ scorer.rows.rows.T + scorer.rows.biases
    for row in (0, 100, 599):
        members = [label for cluster in meetings.opened[row] for label in range(4 * cluster, 4 * cluster + 4)]
        best = max(members, key=lambda label: scores[row, label])
        assert meetings.pool[row, 0] == best and set(meetings.pool[row].tolist()) <= {*members, -1}


BFLOAT16 = {f"{module}.precision": "bf16" for module in ("surrogate", "shortlister", "ranker")}


@pytest.mark.parametrize(
    "settings", [{}, {"negatives": 0}, {"instances": 2}, FROZEN, {"classifier": "text"}, BFLOAT16], ids=str
)
def test_every_variant_learns_the_planted_words(planted: Splits, settings: dict):
    model = fit("decaf", planted.train, **(QUICK | settings))
    first = model.rank(Documents.of([word(label) for label in range(N_LABELS)]), k=1).labels[:, 0]
    assert (first == np.arange(N_LABELS)).mean() >= 0.9


def test_a_label_without_documents_is_found_by_its_text(planted: Splits):
    """The new label's name is two words that documents use for labels 3 and 4 but that no document has together."""
    train = planted.train
    wider = LabelSet.of([*train.label_set, Label("new", f"{word(3)} {word(4)}")])
    labels = sp.csr_array((train.labels.data, train.labels.indices, train.labels.indptr), shape=(len(train), 61))
    model = fit("decaf", dataclasses.replace(train, labels=labels, label_set=wider), **QUICK)
    assert N_LABELS in model.rank(Documents.of([f"{word(3)} {word(4)}"]), k=10).labels[0]


def test_predicting_needs_no_torch(planted: Splits, tmp_path: Path):
    fit("decaf", Corpus.of([word(1), word(2)] * 20, [["one"], ["two"]] * 20), run=tmp_path / "run", **QUICK)
    code = (
        f"import sys, longtail; model = longtail.open({str(tmp_path / 'run' / 'model')!r});"
        f"print(model.predict([{word(2)!r}], k=1)[0][0].name, 'torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.split() == ["two", "False"]


def test_an_empty_cluster_puts_no_label_into_the_pool():
    starts, opened = np.array([0, 2, 2, 3, 3]), np.array([[0, 1], [1, 3]])
    pool = first_pool(starts, opened, np.random.default_rng(0))
    assert set(pool[0]) == {0, 1, PAD} and set(pool[1]) == {PAD}
