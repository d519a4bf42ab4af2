"""The half of a bag encoder that learns (see bag.py for the formulas): in torch, its bags compiled."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from longtail.encoders.bag import BagEncoder
from longtail.kernels.bag import bag_gradients, bag_sums
from longtail.kernels.dropout import dropped
from longtail.kernels.gates import mixed, mixed_gradients


def bag(vectors: Tensor, starts: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """Σ weight · vector over the tokens of each text: (texts, dim), with a sparse gradient for `vectors`."""
    if vectors.device.type == "cpu":
        return _CompiledBag.apply(vectors, starts, tokens, weights)
    return bag_plainly(vectors, starts, tokens, weights)


def bag_plainly(vectors: Tensor, starts: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """The same in torch's own words: the reference, and the way on other devices."""
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
    """torch's Dropout, compiled on a CPU, where drawing its random numbers took a tenth of a training step."""

    def __init__(self, share: float):
        super().__init__()
        self.p = share  # what torch calls it, for layers that ask

    def forward(self, values: Tensor) -> Tensor:
        """The values; while learning, some of them 0."""
        if not self.training or self.p == 0:
            return values
        if values.device.type != "cpu" or values.dtype != torch.float32:
            return F.dropout(values, self.p)
        return _CompiledDropout.apply(values, self.p, int(torch.randint(2**32, ())))


class _CompiledDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values: Tensor, share: float, seed: int) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.how = share, seed
        return torch.from_numpy(dropped(values.detach().contiguous().numpy(), share, seed))

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        return torch.from_numpy(dropped(gradient.contiguous().numpy(), *ctx.how)), None, None


class Gates(nn.Module):
    """A combination block: σ(α) ⊙ one + σ(β) ⊙ other, half of each at first."""

    def __init__(self, dim: int):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """(texts, dim) from two of that shape."""
        a, b = self.alpha.sigmoid(), self.beta.sigmoid()
        if one.device.type != "cpu":
            return a * one + b * other
        # A layer may answer in bfloat16, which NumPy does not know.
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
    """ℰ: what a bag says, and what a residual layer of norm at most 1 makes of it."""

    def __init__(self, dim: int, dropout: float):
        super().__init__()
        linear = nn.Linear(dim, dim)
        with torch.no_grad():
            linear.weight.copy_(torch.eye(dim))
            linear.bias.zero_()
        self.residual = spectral_norm(linear)
        self.gates, self.dropout = Gates(dim), Dropout(dropout)

    def forward(self, sums: Tensor) -> Tensor:
        """(texts, dim) from the texts' bags."""
        return self.gates(sums, self.residual(self.dropout(sums.relu())))


def exported(vectors: Tensor, block: Block) -> BagEncoder:
    """Export token vectors and a trained block to NumPy for inference."""
    block.eval()
    with torch.no_grad():
        gate = block.gates.beta.sigmoid()
        residual, offset = gate[:, None] * block.residual.weight, gate * block.residual.bias  # type: ignore[operator]
        parts = vectors, residual, offset, block.gates.alpha.sigmoid()
        return BagEncoder(*(np.array(part.detach().cpu().numpy(), np.float32) for part in parts))
