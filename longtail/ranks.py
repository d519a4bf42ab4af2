"""The processes of one training, started by `torchrun`: who this one is, and what it does for all of them.

    torchrun --nproc-per-node 4 -m longtail train decaf CORPUS --run DIR

Every process, a rank, runs the same program.  Rank 0 leads: it alone writes stages, the log and the model into the run
directory, which all ranks see.  Of n label rows, rank r of R has rows n·r/R to n·(r + 1)/R, as in `LabelRows.part`.
All of this does nothing in a single process, and torch is imported only where there are several.  Tensors with
gradients are exchanged in encoders/learn/exchange.py.  The reasons: docs/decisions/0022-label-rows-over-ranks.md.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longtail.errors import MissingExtraError, RunError

if TYPE_CHECKING:
    from torch import Tensor

MEETING = timedelta(minutes=10)  # until all ranks have started
PATIENCE = timedelta(days=7)  # of a rank that waits; the end of another is noticed at once, by its closed connection


class Ranks:
    """All ranks of this training, seen from this one."""

    def __init__(self, number: int, count: int):
        self.number, self.count = number, count
        self.scratch: Path | None = None  # directory that all ranks see
        self._joined = 0  # arrays joined so far, the same on all ranks

    @property
    def leads(self) -> bool:
        """Whether this rank writes for all."""
        return self.number == 0

    def part(self, n_items: int, number: int | None = None) -> slice:
        """The share of this rank, or of another, in so many items.

        >>> Ranks(1, 3).part(10)
        slice(3, 6, None)
        """
        rank = self.number if number is None else number
        return slice(n_items * rank // self.count, n_items * (rank + 1) // self.count)

    def bounds(self, n_items: int) -> list[int]:
        """Where the parts of all ranks begin, and the end."""
        return [self.part(n_items, rank).start for rank in range(self.count)] + [n_items]

    # -- exchange, by all ranks at the same place of the program -------------------------------------------------------

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all ranks, in its place; the same to the last bit on every rank."""
        if self.count > 1:
            import torch.distributed as dist

            with noticing_the_end():
                dist.all_reduce(tensor)
        return tensor

    def collect(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all ranks, of one shape and type."""
        if self.count == 1:
            return [tensor]
        import torch
        import torch.distributed as dist

        found = [torch.empty_like(tensor) for _ in range(self.count)]
        with noticing_the_end():
            dist.all_gather(found, tensor.contiguous())
        return found

    def filled(self, own: Tensor, bounds: Sequence[int]) -> Tensor:
        """All rows, of which rank r has those from bounds[r] to bounds[r + 1]."""
        if self.count == 1:
            return own
        import torch.distributed as dist

        whole = own.new_empty(bounds[-1], *own.shape[1:])
        whole[bounds[self.number] : bounds[self.number + 1]] = own
        with noticing_the_end():
            parts = [(whole[start:stop], rank) for rank, (start, stop) in enumerate(pairwise(bounds)) if start < stop]
            for sent in [dist.broadcast(part, rank, async_op=True) for part, rank in parts]:
                sent.wait()
        return whole

    def totals(self, *numbers: float) -> tuple[float, ...]:
        """The sum of each number over all ranks."""
        if self.count == 1:
            return numbers
        import torch

        return tuple(self.add_up(torch.tensor(numbers, dtype=torch.float64)).tolist())

    def any_of(self, *conditions: bool) -> tuple[bool, ...]:
        """Whether each condition holds on any rank."""
        return conditions if self.count == 1 else tuple(total > 0 for total in self.totals(*map(float, conditions)))

    def any(self, condition: bool) -> bool:
        """Whether a condition holds on any rank."""
        return self.any_of(condition)[0]

    def wait(self) -> None:
        """Wait until all ranks are here."""
        self.totals(0.0)

    def leaders_tensor(self, tensor: Tensor) -> Tensor:
        """The leader's tensor, in the place of this rank's."""
        if self.count > 1:
            import torch.distributed as dist

            with noticing_the_end():
                dist.broadcast(tensor, 0)
        return tensor

    def leaders(self, numbers: dict[str, float]) -> dict[str, float]:
        """The leader's numbers; all ranks have the same names."""
        if self.count == 1:
            return numbers
        own = (value if self.leads else 0.0 for value in numbers.values())
        return dict(zip(numbers, self.totals(*own)))

    def check_alike(self, what: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Raise unless all ranks have the same value."""
        if self.count == 1:
            return
        digest = hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).digest()
        own = float(int.from_bytes(digest[:6], "big"))
        mine = [own if rank == self.number else 0.0 for rank in range(self.count)]
        if len(set(self.totals(*mine))) > 1:
            raise RunError(f"the ranks of this training differ in {what}; start all with the same command and corpus")

    # -- arrays --------------------------------------------------------------------------------------------------------

    def joined(self, part: np.ndarray, n_items: int) -> np.ndarray:
        """The parts of all ranks as one array, mapped from a file: only what a rank reads of it takes memory."""
        if self.count == 1:
            return part
        shape, row = (n_items, *part.shape[1:]), part.dtype.itemsize * int(np.prod(part.shape[1:]))
        if n_items * row == 0:
            return np.empty(shape, part.dtype)
        assert self.scratch is not None
        file, self._joined = self.scratch / f"joined-{self._joined}", self._joined + 1
        if self.leads:
            self.scratch.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as new:
                new.truncate(n_items * row)
        self.wait()
        with file.open("r+b") as open_file:
            open_file.seek(self.part(n_items).start * row)
            open_file.write(np.ascontiguousarray(part).data)
        self.wait()
        whole = np.memmap(file, part.dtype, mode="c", shape=shape)
        self.wait()
        if self.leads:
            file.unlink()  # what is mapped lives on
        return np.asarray(whole)

    def divided(self, n_items: int, work: Callable[[slice], np.ndarray]) -> np.ndarray:
        """`work` of all items, each rank doing its part of them."""
        return self.joined(work(self.part(n_items)), n_items)


ALONE = Ranks(0, 1)
_here = ALONE


def here() -> Ranks:
    """The ranks of this training; a single one outside of `together`."""
    return _here


@contextmanager
def seen_as(ranks: Ranks) -> Iterator[Ranks]:
    """`here()` inside the block; with ALONE, the leader does something that the others wait for."""
    global _here
    before, _here = _here, ranks
    try:
        yield ranks
    finally:
        _here = before


def started() -> int:
    """Number of ranks that torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def leads() -> bool:
    """Whether this process is the one that speaks to the user."""
    return os.environ.get("RANK", "0") == "0" or started() == 1


@contextmanager
def together(device: str, scratch: Path) -> Iterator[Ranks]:
    """Meet the other ranks, if torchrun started any; `scratch` is a directory that all see."""
    if started() == 1 or _here.count > 1:
        yield _here
        return
    try:
        import torch.distributed as dist
    except ImportError:
        raise MissingExtraError("training on several ranks", "train") from None
    if not dist.is_initialized():  # once a process: a second meeting would find the addresses of the first
        with noticing_the_end():
            store, number, count = next(dist.rendezvous("env://", timeout=MEETING))
            # torchrun keeps the store when it starts ranks again, and with it the addresses of those that died.
            store = dist.PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
            backend = "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl"
            dist.init_process_group(backend, store=store, rank=number, world_size=count, timeout=PATIENCE)
        atexit.register(dist.destroy_process_group)
    ranks = Ranks(dist.get_rank(), dist.get_world_size())
    ranks.scratch = scratch
    with seen_as(ranks):
        yield ranks


@contextmanager
def noticing_the_end() -> Iterator[None]:
    """Turn what a backend raises when another rank has ended into a sentence."""
    try:
        yield
    except RuntimeError as error:
        first = str(error).strip().split("\n")[0]
        raise RunError(
            f"rank {os.environ.get('RANK')} lost the connection to the other ranks ({first:.120}). "
            "The same torchrun command goes on from the last checkpoint."
        ) from error
