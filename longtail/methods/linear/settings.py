"""Settings of the linear method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions


@dataclass(frozen=True)
class Config:
    """Defaults: PECOS' where its papers and ours agree; chosen on validation elsewhere."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become features")
    trees: int = setting(1, "trees of different clusterings, whose beliefs are averaged", "Parabel uses 3")
    labels_per_cluster: int = setting(100, "labels a last cluster holds at most", "Parabel, PECOS")
    branching: int = setting(256, "smaller clusters in one larger cluster at most", "validation; Bonsai 100, PECOS 16")
    beam: int = setting(20, "clusters of a level that are opened", "PECOS")
    negatives: int = setting(
        10,
        "most believed clusters whose labels a training document counts against; 0: those of its labels",
        "validation",
    )
    belief_weight: float = setting(
        0.4,
        "how much clusters count in a label's score: f(label) · f(path)^belief_weight; 0: not at all",
        "validation; PECOS 1",
    )
    belief: Literal["l3-hinge", "l2-hinge", "l1-hinge", "sigmoid"] = setting(
        "l3-hinge", "how a margin z becomes a belief: exp(-max(0, 1 - z)^p) or 1 / (1 + exp(-z))", "PECOS"
    )
    cost: float = setting(1.0, "weight of the loss against the squared weights", "Parabel, PECOS")
    tolerance: float = setting(0.3, "how exactly classifiers are solved; smaller is slower", "validation; PECOS 0.1")
    smallest_weight: float = setting(0.1, "smaller weights are dropped", "Parabel, PECOS")
    seed: int = setting(0, "draws the clusterings")

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if not getattr(self, name) >= least:
                raise ConfigError(f"{name} = {getattr(self, name)}: it must be at least {least}")
        if self.trees > MOST_TREES:
            raise ConfigError(f"trees = {self.trees}: at most {MOST_TREES}; after the first ten, more change little")
        if not (self.cost > 0 and self.tolerance > 0):
            raise ConfigError(f"cost = {self.cost}, tolerance = {self.tolerance}: both must be above 0")


LEAST = {"trees": 1, "labels_per_cluster": 1, "branching": 2, "beam": 1, "negatives": 0, "belief_weight": 0,
         "smallest_weight": 0, "seed": 0}  # fmt: skip
MOST_TREES = 100  # every level of every tree keeps a file open, and a process may have about a thousand
POWERS = {"l3-hinge": 3.0, "l2-hinge": 2.0, "l1-hinge": 1.0, "sigmoid": 0.0}
