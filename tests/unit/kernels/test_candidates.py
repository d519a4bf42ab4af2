"""The k best candidates of a row, against sorting in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.kernels.candidates import top_of_candidates


def plainly(labels: list[int], scores: list[float], k: int) -> list[tuple[int, float]]:
    known = [(label, score) for label, score in zip(labels, scores) if label != PAD]
    return sorted(known, key=lambda pair: (-pair[1], pair[0]))[:k]


rows = st.lists(st.tuples(st.integers(-1, 30), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=12)


@settings(deadline=None)  # the first call compiles
@given(rows, st.integers(1, 15))
def test_equals_sorting_by_score_then_by_label(row: list[tuple[int, float]], k: int):
    # A label stands in a row once, whatever was drawn.
    row = list({label: (label, score) for label, score in row}.values())
    labels, scores = [label for label, _ in row], [score for _, score in row]
    found, best = top_of_candidates(np.array([labels], np.int32), np.array([scores], np.float32), k)
    wanted = plainly(labels, scores, k)
    assert [(int(at), float(score)) for at, score in zip(found[0], best[0]) if at != PAD] == wanted
    assert (found[0][len(wanted) :] == PAD).all() and (best[0][len(wanted) :] == 0).all()


def test_rows_without_candidates_and_no_rows_at_all():
    found, best = top_of_candidates(np.full((2, 3), PAD, np.int32), np.zeros((2, 3), np.float32), 2)
    assert (found == PAD).all() and (best == 0).all()
    assert top_of_candidates(np.empty((0, 3), np.int32), np.empty((0, 3), np.float32), 2)[0].shape == (0, 2)
    assert top_of_candidates(np.empty((2, 0), np.int32), np.empty((2, 0), np.float32), 2)[0].tolist() == [[PAD] * 2] * 2


def test_threads_do_not_matter():
    rng = np.random.default_rng(0)
    labels, scores = (
        rng.permuted(np.tile(np.arange(500, dtype=np.int32), (400, 1)), axis=1),
        rng.random((400, 500), np.float32),
    )
    one, two = (top_of_candidates(labels, scores, 10, threads) for threads in (1, 2))
    assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="scores of candidates"):
        top_of_candidates(np.zeros((1, 2), np.int32), np.zeros((1, 3), np.float32), 1)
