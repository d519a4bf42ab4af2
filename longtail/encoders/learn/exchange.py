"""What the ranks of a training exchange in a step (see ranks.py): document vectors, gradients, the best clusters.

Every rank encodes its part of a batch and has its part of the label rows.  The vectors of all documents meet the rows
of each rank there, so that a rank's loss is the sum over its own labels, and the loss is the sum over ranks:

    own documents ──encoder──► own vectors ══gathered══► all vectors ──own rows──► loss of own labels
    gradient of own vectors ◄══summed over ranks, own part══ gradient of all vectors

Gradients of label rows are complete where they are; those of all other parameters are summed over ranks before a step.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from longtail.ranks import here


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


def divided_layer(dim: int, outputs: int) -> nn.Linear:
    """nn.Linear, of whose outputs this rank has its part; whole at first, so that ranks change no initial weight."""
    layer = nn.Linear(dim, outputs)
    layer.weight, layer.bias = own_rows(layer.weight.detach(), outputs), own_rows(layer.bias.detach(), outputs)
    return layer


def rows_in_all(parameter: Tensor) -> int | None:
    """How many rows a divided table has on all ranks; None if every rank has the whole parameter."""
    return getattr(parameter, "rows_in_all", None)


# -- document vectors --------------------------------------------------------------------------------------------------


def gathered(own: Tensor, documents: int) -> Tensor:
    """The vectors of all documents of a batch, of which this rank has `own`; the gradient is summed over ranks."""
    return own if here().count == 1 else _Gathered.apply(own, documents)


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, own: Tensor, documents: int) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.part, ctx.kind = here().part(documents), own.dtype
        return joined(own, documents)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        return here().add_up(gradient.contiguous().clone())[ctx.part], None


def joined(own: Tensor, n_items: int) -> Tensor:
    """The parts of all ranks as one tensor."""
    ranks = here()
    sizes = [n_items * (rank + 1) // ranks.count - n_items * rank // ranks.count for rank in range(ranks.count)]
    room = own.new_zeros(max(sizes), *own.shape[1:])
    room[: len(own)] = own
    return torch.cat([part[:size] for part, size in zip(ranks.collect(room), sizes)])


# -- gradients ---------------------------------------------------------------------------------------------------------


def sum_gradients(parameters: Iterable[nn.Parameter], sparse: bool) -> None:
    """Sum over ranks the gradients of parameters that all ranks have."""
    if here().count == 1:
        return
    common = [parameter for parameter in parameters if rows_in_all(parameter) is None]
    if sparse:
        for table in common:
            table.grad = summed_rows(table)
    elif common:
        _sum_dense(common)


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


# -- columns of divided rows -------------------------------------------------------------------------------------------


def top_columns(logits: Tensor, k: int, columns: int) -> Tensor:
    """The k columns with the largest logits, (documents, k), of which this rank has its part."""
    if here().count == 1:
        return logits.topk(k).indices
    ranks = here()
    first = ranks.part(columns).start
    room = min(k, max(1, -(-columns // ranks.count)))  # as many as any rank can have
    best = logits.topk(min(k, room, logits.shape[1]))
    values, places = logits.new_full((len(logits), room), -torch.inf), best.indices.new_zeros(len(logits), room)
    values[:, : best.values.shape[1]], places[:, : best.values.shape[1]] = best.values, best.indices + first
    values, places = (torch.cat(ranks.collect(part), dim=1) for part in (values, places))
    return places.gather(1, values.topk(k).indices)


def log_softmax_at(logits: Tensor, places: Tensor, columns: int) -> Tensor:
    """log_softmax(logits) over all columns at `places` (documents, any); this rank has its part of the columns."""
    if here().count == 1:
        return logits.log_softmax(1).gather(1, places)
    return _LogSoftmaxAt.apply(logits, places, here().part(columns))


class _LogSoftmaxAt(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits: Tensor, places: Tensor, own: slice) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        most = _largest(logits)
        total = here().add_up((logits - most).exp().sum(1, keepdim=True)).log() + most
        inside = (places >= own.start) & (places < own.stop)
        at = (places - own.start).clamp(0, max(logits.shape[1] - 1, 0))
        found = (
            logits.gather(1, at).masked_fill(~inside, 0.0)
            if logits.shape[1]
            else torch.zeros_like(places, dtype=logits.dtype)
        )
        ctx.save_for_backward(logits - total, at, inside)
        return here().add_up(found) - total

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        log_shares, at, inside = ctx.saved_tensors
        gradient = here().add_up(gradient.contiguous().clone())
        result = -log_shares.exp() * gradient.sum(1, keepdim=True)
        if result.shape[1]:
            result.scatter_add_(1, at, gradient.masked_fill(~inside, 0.0))
        return result, None, None


def _largest(logits: Tensor) -> Tensor:
    """The largest logit of each document over all ranks, (documents, 1)."""
    own = logits.amax(1, keepdim=True) if logits.shape[1] else logits.new_full((len(logits), 1), -torch.inf)
    return torch.stack(here().collect(own)).amax(0)
