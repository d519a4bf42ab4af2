"""What the ranks of a training exchange in a step (see ranks.py): rows, vectors, logits of clusters, gradients.

A single process adds numbers in some order, and n ranks must add them in the same one: a training turns a difference in
the last bit into another model (docs/decisions/0022-label-rows-over-ranks.md).  So every rank gets the rows of all
candidates, computes the whole step as a single process would, and keeps the gradient of its own rows:

    own rows of candidates ══gathered══► rows of candidates ──► loss, gradients of all ──► gradient of own rows

The rows of wide layers are too many to be gathered.  One process, too, takes them in SLICES equal parts.  What each
gives to the gradient of the documents is added up in pairs, then pairs of pairs: alike for 1, 2, 4 and 8 ranks.
Documents of a transformer are divided, and the gradients of its layers are summed over ranks before a step.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor, nn

from longtail.ranks import Ranks, here


def own_rows(table: Tensor, rows: int) -> nn.Parameter:
    """This rank's part of a table of so many rows, as a parameter; `table` is all of it, or that part."""
    part = here().part(rows)
    parameter = nn.Parameter(table if len(table) == part.stop - part.start else table[part].clone())
    parameter.rows_in_all = rows  # type: ignore[attr-defined]
    return parameter


def drawn_rows(rows: int, dim: int, bound: float) -> Tensor:
    """This rank's part of a table of numbers between −bound and bound: those that a single process would draw."""
    own = here().part(rows)
    table = torch.empty(own.stop - own.start, dim)
    if here().count == 1:
        return table.uniform_(-bound, bound)
    for start in range(0, rows, DRAWN):
        drawn = torch.empty(min(DRAWN, rows - start), dim).uniform_(-bound, bound)
        first, stop = max(own.start, start), min(own.stop, start + len(drawn))
        if first < stop:
            table[first - own.start : stop - own.start] = drawn[first - start : stop - start]
    return table


DRAWN = 16_384  # rows at once


def rows_in_all(parameter: Tensor) -> int | None:
    """How many rows a divided table has on all ranks; None if every rank has the whole parameter."""
    return getattr(parameter, "rows_in_all", None)


# -- forward, with gradients -------------------------------------------------------------------------------------------


def gathered(own: Tensor, bounds: list[int]) -> Tensor:
    """The rows of all ranks (`Ranks.filled`), of which every rank then computes the same gradient."""
    return own if here().count == 1 else _Gathered.apply(own, bounds)


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, own: Tensor, bounds: list[int]) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.own = slice(*bounds[here().number : here().number + 2])
        return here().filled(own, bounds)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        return gradient[ctx.own], None


def columns_of_all(own: Tensor, columns: int) -> Tensor:
    """The columns of all ranks, (documents, columns)."""
    return own if here().count == 1 else gathered(own.T, here().bounds(columns)).T.contiguous()


SLICES = 8  # of divided rows


def own_slices(rows: int) -> list[slice]:
    """The SLICES equal parts of so many divided rows that this rank has; the same parts on 1, 2, 4 and 8 ranks.

    Matrix libraries choose their order of sums by the shape, so a product of other rows may be rounded otherwise.
    """
    ranks = here()
    each = max(SLICES // ranks.count, 1)
    bounds = Ranks(0, each * ranks.count).bounds(rows)[each * ranks.number :][: each + 1]
    return [slice(start - bounds[0], stop - bounds[0]) for start, stop in pairwise(bounds)]


def sum_over_rows(of_outputs: Tensor, weight: Tensor, rows: int) -> Tensor:
    """of_outputs · weight over the rows of all ranks, added up in an order that does not depend on their number."""
    own = in_pairs([of_outputs[:, part].contiguous() @ weight[part] for part in own_slices(rows)])
    return in_pairs(here().collect(own))


def in_pairs(parts: list[Tensor]) -> Tensor:
    """The sum of neighbours, of neighbouring sums, and so on."""
    while len(parts) > 1:
        parts = [sum(parts[at + 1 : at + 2], parts[at]) for at in range(0, len(parts), 2)]
    return parts[0]


def summed_back(x: Tensor) -> Tensor:
    """x, whose gradient is summed over ranks in any order."""
    return x if here().count == 1 else _SummedBack.apply(x)


class _SummedBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        return here().add_up(gradient.contiguous().clone())


# -- gradients of parameters that all ranks have -----------------------------------------------------------------------


def of_own_documents(parameters: Iterable[nn.Parameter]) -> None:
    """Mark parameters whose gradient on a rank is that of its documents alone."""
    for parameter in parameters:
        parameter.of_own_documents = True  # type: ignore[attr-defined]


def agree(parameters: Iterable[nn.Parameter], sparse: bool) -> None:
    """Give every rank the same gradients of parameters that all have: those of own documents are summed.

    Others are the same already, except on a GPU, which may add them up in any order.
    """
    if here().count == 1:
        return
    common = [parameter for parameter in parameters if rows_in_all(parameter) is None]
    divided = [parameter for parameter in common if getattr(parameter, "of_own_documents", False)]
    if sparse:
        for table in divided:
            table.grad = summed_rows(table)
    elif divided:
        _sum_dense(divided)
    for gradient in (each.grad for each in common if each.grad is not None and each.device.type != "cpu"):
        here().leaders_tensor(gradient._values() if gradient.is_sparse else gradient)


def _sum_dense(parameters: list[nn.Parameter]) -> None:
    """In one exchange; a parameter that no rank has a gradient of keeps none."""
    given = torch.tensor([float(each.grad is not None) for each in parameters], device=parameters[0].device)
    flat = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
    together = here().add_up(torch.cat([given, *(each.reshape(-1) for each in flat)]))
    sizes = [each.numel() for each in parameters]
    found = together[: len(given)] > 0
    for parameter, total, some in zip(parameters, together[len(given) :].split(sizes), found.tolist()):
        if some:
            parameter.grad = torch.empty_like(parameter).copy_(total.view(parameter.shape))


def summed_rows(table: nn.Parameter) -> Tensor:
    """The sparse gradient of a table, summed over ranks: rows and values of each, padded to the longest."""
    ranks, width = here(), table.shape[1:]
    if table.grad is None:
        rows, values = table.new_zeros(0, dtype=torch.int64), table.new_zeros(0, *width)
    else:
        rows, values = table.grad._indices()[0], table.grad._values()
    counts = [int(count) for count in ranks.collect(torch.tensor([len(rows)], device=rows.device))]
    longest = max(counts)
    room = rows.new_zeros(longest), values.new_zeros(longest, *width)
    room[0][: len(rows)], room[1][: len(rows)] = rows, values
    parts = [torch.cat([part[:count] for part, count in zip(ranks.collect(padded), counts)]) for padded in room]
    return torch.sparse_coo_tensor(parts[0][None], parts[1], table.shape, check_invariants=False).coalesce()
