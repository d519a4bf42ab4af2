from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from longtail.train.row_adam import RowAdam, move_rows_plainly


def steps(seed: int, n: int, width: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(9, rng.integers(1, 9), replace=False)) for _ in range(n)]
    return [(torch.tensor(r), torch.tensor(rng.standard_normal((len(r), width)), dtype=torch.float32)) for r in rows]


def moved(optimiser: torch.optim.Optimizer, table: nn.Parameter, way: list) -> torch.Tensor:
    for rows, gradient in way:
        table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, check_invariants=True)
        optimiser.step()
    return table.detach()


@pytest.mark.parametrize("width", [1, 16, 37])
def test_it_moves_as_torchs_sparse_adam(width: int):
    one, other = (nn.Parameter(torch.ones(9, width)) for _ in range(2))
    way = steps(0, 6, width)
    ours, theirs = moved(RowAdam([one], 0.01), one, way), moved(torch.optim.SparseAdam([other], 0.01), other, way)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert not torch.equal(ours, torch.ones(9, width))


def test_the_plain_version_agrees_with_the_compiled_one():
    table, plain = nn.Parameter(torch.ones(9, 8)), torch.ones(9, 8)
    moments = torch.zeros(9, 8), torch.zeros(9, 8)
    way = steps(1, 5, 8)
    compiled = moved(RowAdam([table], 0.02), table, way)
    for number, (rows, gradient) in enumerate(way, 1):
        move_rows_plainly(plain, moments, rows, gradient, number, 0.02)
    torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)


def test_rows_without_a_gradient_stay_where_they_are():
    table = nn.Parameter(torch.ones(3, 2))
    moved(RowAdam([table], 0.1), table, [(torch.tensor([1]), torch.ones(1, 2))] * 2)
    assert table[[0, 2]].tolist() == [[1, 1], [1, 1]]
    assert table[1, 0].item() == pytest.approx(0.8, abs=1e-6)  # Adam's first steps are lr long


def test_rows_named_twice_add_up():
    once, twice = (nn.Parameter(torch.ones(3, 2)) for _ in range(2))
    moved(
        RowAdam([once], 0.1),
        once,
        [(torch.tensor([1]), torch.full((1, 2), 3.0)), (torch.tensor([1]), -torch.ones(1, 2))],
    )
    halves = torch.tensor([[1.0, 1.0], [2.0, 2.0]])
    moved(RowAdam([twice], 0.1), twice, [(torch.tensor([1, 1]), halves), (torch.tensor([1]), -torch.ones(1, 2))])
    torch.testing.assert_close(once.detach(), twice.detach())
