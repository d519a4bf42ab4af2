"""Adam that moves only the rows a batch touched."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_places, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.threads import in_threads

BETA_1, BETA_2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)  # Kingma & Ba, ICLR 2015


def move_rows(
    table: np.ndarray, moments: tuple[np.ndarray, np.ndarray], rows: np.ndarray, gradients: np.ndarray,
    step: int, lr: float, threads: int | None = None,
) -> None:  # fmt: skip
    """Step number `step` (from 1) of Adam on table[rows], none named twice; other rows and their moments stay.

    m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,  w ← w − lr · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε)
    """
    check(step >= 1, f"step {step} of Adam: the first is 1")
    check_places(rows, len(table), "rows to move")
    check_shape(gradients, (len(rows), table.shape[1]), "gradients of rows")
    for moment in moments:
        check_shape(moment, table.shape, "moments of Adam")
    # The corrections are numbers of the step: taken out of the loop over entries.
    rate = np.float32(lr / (1 - float(BETA_1) ** step))
    correct = np.float32(1 / (1 - float(BETA_2) ** step))
    in_threads(
        lambda start, stop: _move_rows(table, *moments, rows, gradients, start, stop, rate, correct),
        len(rows), threads, numbers=4 * table.shape[1],
    )  # fmt: skip


# numpy's division: Python's would look for zeros, which keeps the loop out of vector registers (2.8 times as long).
@compiled(error_model="numpy")
def _move_rows(table, first, second, rows, gradients, start, stop, rate, correct):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    one = np.float32(1)
    for at in range(start, stop):
        w, m, v, g = table[rows[at]], first[rows[at]], second[rows[at]], gradients[at]
        for d in range(len(w)):
            m[d] = BETA_1 * m[d] + (one - BETA_1) * g[d]
            v[d] = BETA_2 * v[d] + (one - BETA_2) * g[d] * g[d]
            w[d] -= rate * m[d] / (np.sqrt(v[d] * correct) + EPSILON)
