"""Ablation of Table 6: randomly initialised refinement vectors, as in methods without label texts."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def random_refinement(n_labels: int, dim: int) -> Tensor:
    """Replaces module III: random ẑ², (labels, dim)."""
    return nn.init.kaiming_uniform_(torch.empty(n_labels, dim))
