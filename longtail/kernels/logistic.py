"""The logistic loss of a table of logits and its gradient in one pass, in vector registers.

    loss = softplus(z) − y z,   gradient = σ(z) − y      with z = logit + bias of its column, y the target

A matrix product in bfloat16 gives bfloat16 logits, and takes bfloat16 gradients: arrays of uint16 hold their bits.
"""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import Later, compiled
from longtail.kernels.threads import in_threads

_CODE = "longtail.kernels.vector_code"
of_bits, widened, narrowed = (Later(_CODE, name) for name in ("of_bits", "widened", "narrowed"))

# Divisions by numpy's rules: Python's would look for zeros, which keeps a loop out of vector registers.
FAST = {"fastmath": {"reassoc", "contract", "nsz", "arcp"}, "error_model": "numpy"}
BLOCK = 32  # rows that a thread takes at once; column sums are added block by block, on any number of threads


def logistic(
    logits: np.ndarray, biases: np.ndarray, targets: np.ndarray, threads: int | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """The loss summed over a table (rows, columns), the gradient of the logits in their type, and that of the biases.

    Logits are float32, or uint16 bits of bfloat16; biases and targets are float32.
    """
    check(logits.dtype in (np.float32, np.uint16), f"logits are {logits.dtype}: float32, or the bits of bfloat16")
    check_shape(biases, (logits.shape[1],), "biases")
    check_shape(targets, logits.shape, "targets")
    n_blocks = -(-len(logits) // BLOCK)
    gradient, losses = np.empty_like(logits), np.zeros(len(logits), np.float64)
    sums = np.zeros((n_blocks, logits.shape[1]), np.float32)
    in_threads(
        lambda start, stop: _logistic(logits, biases, targets, start, stop, gradient, losses, sums),
        n_blocks, threads, numbers=8 * BLOCK * logits.shape[1],
    )  # fmt: skip
    return float(losses.sum()), gradient, sums.sum(axis=0)


@compiled(**FAST)
def _logistic(logits, biases, targets, start, stop, gradient, losses, sums):
    for block in range(start, stop):
        for row in range(block * BLOCK, min(block * BLOCK + BLOCK, len(logits))):
            losses[row] = _row(logits[row], biases, targets[row], gradient[row], sums[block])


@compiled(**FAST)
def _row(logits, biases, targets, gradient, sums):
    """The loss of one row; the gradient is written, and added to the sums of the columns."""
    one, total = np.float32(1), np.float32(0)
    for at in range(len(logits)):
        z = widened(logits[at]) + biases[at]
        small = _exp(-abs(z))  # e^−|z|
        share = one / (one + small)
        g = (share if z >= 0 else small * share) - targets[at]
        total += max(z, np.float32(0)) + _log_of_one_and(small) - targets[at] * z
        gradient[at] = narrowed(g, logits[at])
        sums[at] += g
    return total


@compiled(**FAST)
def _exp(x):
    """e^x of a float32 from −87 to 0, less counts as −87: by the polynomial of the Cephes library (expf)."""
    x = max(x, np.float32(-87))
    whole = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    rest = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
    y = np.float32(1.9875691500e-4)
    y = y * rest + np.float32(1.3981999507e-3)
    y = y * rest + np.float32(8.3334519073e-3)
    y = y * rest + np.float32(4.1665795894e-2)
    y = y * rest + np.float32(1.6666665459e-1)
    y = y * rest + np.float32(5.0000001201e-1)
    power = of_bits((np.int32(whole) + np.int32(127)) << np.int32(23))
    return (y * rest * rest + rest + np.float32(1)) * power


@compiled(**FAST)
def _log_of_one_and(x):
    """log(1 + x) of a float32 from 0 to 1: 2 artanh(s) with s = x / (2 + x), which is at most a third."""
    s = x / (np.float32(2) + x)
    q = s * s
    y = np.float32(1 / 15)
    y = y * q + np.float32(1 / 13)
    y = y * q + np.float32(1 / 11)
    y = y * q + np.float32(1 / 9)
    y = y * q + np.float32(1 / 7)
    y = y * q + np.float32(1 / 5)
    y = y * q + np.float32(1 / 3)
    return np.float32(2) * s * (y * q + np.float32(1))
