"""What Table 6 compares with: a refinement vector that starts at random, as in methods that do not read label texts."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def random_refinement(n_labels: int, dim: int) -> Tensor:
    """In place of module III: ẑ² drawn at random, (labels, dim)."""
    return nn.init.kaiming_uniform_(torch.empty(n_labels, dim))
