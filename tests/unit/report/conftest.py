from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.judge.calibration import Bin, Reliability
from longtail.judge.frequencies import Frequencies
from longtail.judge.metrics import Evaluation, evaluate_ranking
from longtail.ranking import Ranking

N, N_LABELS = 60, 40


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    rng = np.random.default_rng(0)
    labels = np.array([rng.permutation(N_LABELS)[:20] for _ in range(N)], np.int32)
    truth = sp.random_array((N, N_LABELS), density=0.1, format="lil", rng=rng)
    truth[:, 36:] = 0  # the rarest decile has no true pair
    scored = evaluate_ranking(
        Ranking(labels, np.zeros(labels.shape, np.float32)), truth.tocsr(),
        train=Frequencies(np.arange(12_000, 12_000 - 300 * N_LABELS, -300), 12_000),
    )  # fmt: skip
    judged = Reliability(5, 300, 12.345, [Bin(200, 0.0, 0.25, 0.125, 0.25), Bin(100, 0.25, 1.0, 0.5, 0.75)])
    return dataclasses.replace(scored, reliability=judged, corpus={"name": "toy"}, model={"method": "guess"})
