"""Label frequencies in train, and deciles and propensities computed from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from longtail.errors import ConfigError, CorpusError
from longtail.sparse import sp

N_DECILES = 10


@dataclass(frozen=True)
class Frequencies:
    """Number of training documents of each label."""

    counts: np.ndarray  # (labels,) training documents with the label
    documents: int  # training documents, including those without labels

    @classmethod
    def of(cls, train_labels: sp.csr_array) -> Frequencies:
        """From the label matrix of the training documents; any nonzero value counts."""
        binary = binary_of(train_labels)
        return cls(np.bincount(binary.indices, minlength=binary.shape[1]), binary.shape[0])

    def deciles(self) -> np.ndarray:
        """Decile of each label: 0 for the most frequent tenth … 9 for the rarest; ties by index."""
        n_labels, decile = len(self.counts), np.empty(len(self.counts), np.int64)
        falling = np.argsort(-self.counts.astype(np.int64), kind="stable")
        decile[falling] = np.arange(n_labels) * N_DECILES // max(n_labels, 1)
        return decile


def inverse_propensity(train: Frequencies, a: float, b: float) -> np.ndarray:
    """w_l = 1 + C (n_l + b)^-a with C = (ln N - 1)(b + 1)^a: weight that compensates for missing labels.

    Jain et al., KDD 2016: n_l of N training documents have label l.  The constants depend on the
    data: 0.55 and 1.5 for most, 0.6 and 2.6 for Amazon's, 0.5 and 0.4 for Wikipedia-500K's (docs/metrics.md).
    With N < e, as in toy data, C is negative and rare labels weigh less.
    """
    if not all(isinstance(one, Real) for one in (a, b)) or not (0 <= a <= 10 and 1e-6 <= b <= 1e6):
        raise ConfigError(f"propensity constants a = {a!r:.30}, b = {b!r:.30}: a lies from 0 to 10, b from 1e-6 to 1e6")
    if train.documents < 1:
        raise CorpusError("propensities come from training documents, and there are none")
    scale = (math.log(train.documents) - 1) * (b + 1) ** a
    return 1 + scale * (train.counts + b) ** -a


def binary_of(matrix: sp.csr_array) -> sp.csr_array:
    """A copy with value 1 for every nonzero entry, without duplicates or stored zeros."""
    binary = sp.csr_array(matrix).astype(bool, copy=True)
    binary.sum_duplicates()
    binary.eliminate_zeros()
    return binary
