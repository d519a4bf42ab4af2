"""Settings of a transformer with cluster heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions


@dataclass(frozen=True)
class Recall:
    """Which labels are looked at for a document."""

    one_vs_all_up_to: int = setting(31_000, "label sets up to this size have no clusters: all are scored", "31,000")
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "the words by which labels are clustered")
    labels_per_cluster: int = setting(100, "labels in a cluster at most", "authors' code; Table 1: 60 or 80 on average")
    beam: int = setting(75, "clusters opened for a document, b", "authors' code: 75 or 32")
    label_dim: int = setting(400, "length of a label's vector, behind the bottleneck", "Table 1: 400 or 500")
    start: Literal["texts", "random"] = setting(
        "random", "label and cluster vectors before they learn: where the labels' texts point, or random", "random"
    )

    def __post_init__(self) -> None:
        if min(self.labels_per_cluster, self.beam, self.label_dim) < 1:
            raise ConfigError("recall.labels_per_cluster, recall.beam and recall.label_dim are at least 1")


def check_rates(head_lr: float, head_eps: float) -> None:
    """Validate `head_lr` and `head_eps`."""
    if head_lr <= 0 or head_eps < 0:
        raise ConfigError(
            f"head_lr = {head_lr:g}, head_eps = {head_eps:g}: the first is more than 0, the second 0 or more"
        )
