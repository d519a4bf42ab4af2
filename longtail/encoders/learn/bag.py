"""Training of a bag encoder (formulas in ../bag.py): in torch, with compiled bags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from longtail.encoders.bag import GatedBlock, ResidualBlock, TokenBag
from longtail.encoders.learn.batches import BagInput
from longtail.kernels.bag import bag_gradients, bag_sums
from longtail.kernels.dropout import dropped
from longtail.kernels.gates import mixed, mixed_gradients
from longtail.sparse import Rows, take


def bag(vectors: Tensor, starts: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """Σ weight · vector over the tokens of each text: (texts, dim), with a sparse gradient for `vectors`."""
    if vectors.device.type == "cpu":
        return _CompiledBag.apply(vectors, starts, tokens, weights)
    return bag_plainly(vectors, starts, tokens, weights)


def bag_plainly(vectors: Tensor, starts: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """`bag` in plain torch: the reference, and the implementation for other devices."""
    return F.embedding_bag(tokens, vectors, starts[:-1], mode="sum", sparse=True, per_sample_weights=weights)


class _CompiledBag(torch.autograd.Function):
    @staticmethod
    def forward(ctx, vectors: Tensor, starts: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.save_for_backward(starts, tokens, weights)
        ctx.shape = vectors.shape
        return torch.from_numpy(bag_sums((starts.numpy(), tokens.numpy(), weights.numpy()), vectors.detach().numpy()))

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        bags = tuple(tensor.numpy() for tensor in ctx.saved_tensors)
        touched, gradients = bag_gradients(bags, gradient.contiguous().numpy())
        places = torch.from_numpy(touched.astype(np.int64))[None]
        values = torch.from_numpy(gradients)
        return (
            torch.sparse_coo_tensor(places, values, ctx.shape, is_coalesced=True, check_invariants=False),
            None,
            None,
            None,
        )


class Dropout(nn.Module):
    """torch's Dropout, compiled on a CPU, where sampling its mask took a tenth of a training step."""

    def __init__(self, share: float):
        super().__init__()
        self.p = share  # the name in torch

    def forward(self, values: Tensor) -> Tensor:
        """The values, with dropout in training."""
        if not self.training or self.p == 0:
            return values
        if values.device.type != "cpu" or values.dtype != torch.float32:
            return F.dropout(values, self.p)
        before = _before * values.shape[1:].numel()
        return _CompiledDropout.apply(values, self.p, int(torch.randint(2**32, ())), before)


_before = 0  # rows of a batch that other ranks have, before those of this one


@contextmanager
def rows_before(number: int) -> Iterator[None]:
    """Drop entries inside the block as if so many rows came before: one rank drops what a single process would."""
    global _before
    _before = number
    try:
        yield
    finally:
        _before = 0


class _CompiledDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values: Tensor, share: float, *place: int) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.how = share, *place  # seed, and entries before
        return torch.from_numpy(dropped(values.detach().contiguous().numpy(), share, *place))

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[no-untyped-def] # noqa: ANN001
        return torch.from_numpy(dropped(gradient.contiguous().numpy(), *ctx.how)), None, None, None


class Gates(nn.Module):
    """Combination block: σ(α) ⊙ one + σ(β) ⊙ other, initially half of each."""

    def __init__(self, dim: int):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """Combine two (texts, dim) tensors."""
        a, b = self.alpha.sigmoid(), self.beta.sigmoid()
        if one.device.type != "cpu":
            return a * one + b * other
        # A layer may return bfloat16, which NumPy does not support.
        return _CompiledMixture.apply(one.float(), other.float(), a, b)


class _CompiledMixture(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.save_for_backward(*tensors)
        return torch.from_numpy(mixed(*(tensor.detach().contiguous().numpy() for tensor in tensors)))

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:  # type: ignore[no-untyped-def] # noqa: ANN001
        arrays = (tensor.detach().contiguous().numpy() for tensor in (gradient, *ctx.saved_tensors))
        return tuple(map(torch.from_numpy, mixed_gradients(*arrays)))


class Block(nn.Module):
    """ℰ of DECAF: a bag combined with a residual layer of spectral norm at most 1."""

    def __init__(self, dim: int, dropout: float):
        super().__init__()
        self.residual, self.gates, self.dropout = of_norm_one(dim), Gates(dim), Dropout(dropout)

    def forward(self, sums: Tensor) -> Tensor:
        """ℰ of bags, (texts, dim)."""
        return self.gates(sums, self.residual(self.dropout(sums.relu())))

    def documents(self, sums: Tensor) -> Tensor:
        """x̂ of documents, with one more ReLU than label texts."""
        return self(sums).relu()

    def export(self) -> GatedBlock:
        """Export to NumPy for inference."""
        gate = self.gates.beta.sigmoid()
        residual, offset = gate[:, None] * self.residual.weight, gate * self.residual.bias
        return GatedBlock(*map(array, (residual, offset, self.gates.alpha.sigmoid())))


class Residual(nn.Module):
    """LightDXML's block: h + ReLU(R h + r) with h = ReLU(E x)."""

    def __init__(self, dim: int, dropout: float):
        super().__init__()
        self.residual, self.dropout = of_norm_one(dim), Dropout(dropout)

    def documents(self, sums: Tensor) -> Tensor:
        """x̂ of documents."""
        positive = self.dropout(sums.relu())
        return positive + self.dropout(self.residual(positive).relu())

    def export(self) -> ResidualBlock:
        """Export to NumPy for inference."""
        return ResidualBlock(array(self.residual.weight), array(self.residual.bias))


def of_norm_one(dim: int) -> nn.Linear:
    """A linear layer initialised to the identity, with spectral norm 1."""
    linear = nn.Linear(dim, dim)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(dim))
        linear.bias.zero_()
    return spectral_norm(linear)  # type: ignore[return-value]


def array(tensor: Tensor) -> np.ndarray:
    """A detached copy as NumPy array."""
    return np.array(tensor.detach().cpu().numpy(), np.float32)


LEARNING_BLOCKS: dict[type, type[Block | Residual]] = {GatedBlock: Block, ResidualBlock: Residual}


class LearningBag(nn.Module):
    """Token vectors initialised from `start`, and a new block.

    `label_texts` are the bags of label texts, if label or cluster rows are computed from them.
    """

    def __init__(self, start: TokenBag, dropout: float, words_dropped: float = 0.0, label_texts: Rows | None = None):
        super().__init__()
        self.reader, self.dim, self.label_texts = start.reader, start.dim, label_texts
        self.vectors = nn.Parameter(torch.from_numpy(np.array(start.vectors)))
        kind = LEARNING_BLOCKS[type(start.block)]
        self.block: Block | Residual = kind(self.dim, dropout)
        self.words = Dropout(words_dropped)
        self.drop = Dropout(dropout) if kind is Block else nn.Identity()  # Residual applies its own dropout

    def forward(self, texts: BagInput) -> Tensor:
        """x̂ of each document, (documents, dim); the caller applies `drop`."""
        return self.with_labels(texts)[0]

    def with_labels(self, texts: BagInput) -> tuple[Tensor, Tensor]:
        """x̂ of each document of the batch, and E z of each label text after the documents."""
        sums = bag(self.vectors, texts.starts, texts.tokens, self._words_dropped(texts))
        return self.block.documents(sums[: texts.documents]), sums[texts.documents :]

    def _words_dropped(self, texts: BagInput) -> Tensor:
        """Token weights with dropout on documents, not on label texts."""
        own = int(texts.starts[texts.documents])
        dropped = self.words(texts.weights[:own])
        return dropped if own == len(texts.weights) else torch.cat([dropped, texts.weights[own:]])

    def of_labels(self, labels: Tensor) -> Tensor:
        """E z of these labels' texts, (labels, dim)."""
        assert self.label_texts is not None
        bags = take(self.label_texts, labels.detach().cpu().numpy())
        return bag(self.vectors, *(torch.from_numpy(part).to(self.vectors.device) for part in bags))

    def start_epoch(self, epoch: int) -> None:
        """Do nothing: label texts are encoded in every batch."""

    def rates(self, lr: float | None, row_lr: float) -> tuple[float, float]:
        """Learning rates of the block and of token vectors; every batch updates the block, but few tokens."""
        return (BLOCK_SHARE * row_lr if lr is None else lr), row_lr

    @property
    def tables(self) -> list[nn.Parameter]:
        """Parameters of which a batch touches few rows: token vectors."""
        return [self.vectors] if self.vectors.requires_grad else []

    @property
    def dense(self) -> list[nn.Parameter]:
        """Parameters of the block."""
        return list(self.block.parameters())

    def export(self, as_view: bool = False) -> TokenBag:
        """Export to NumPy for inference; `as_view` shares the memory of the token vectors, and changes with them."""
        learning = self.training
        self.eval()
        vectors = self.vectors.detach().cpu().numpy() if as_view else array(self.vectors)
        with torch.no_grad():
            exported = TokenBag(self.reader, vectors, self.block.export())
        self.train(learning)
        return exported


BLOCK_SHARE = 0.1  # of row_lr
