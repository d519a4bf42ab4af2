"""Settings of DECAF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import BAG, MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.train.settings import Pace, Steps

Parts = Literal["both", "no-init", "text", "refinement"]  # of a label's row


@dataclass(frozen=True)
class Variant:
    """What Table 6 of the paper compares with the whole method (ablations.py)."""

    parts: Parts = "both"  # a label's row: text and refinement (no-init: which starts at random), or one alone
    lite: bool = False  # token vectors stay as module I left them


VARIANTS = {
    "no-init": Variant("no-init"), "text": Variant("text"), "refinement": Variant("refinement"),
    "lite": Variant(lite=True),
}  # fmt: skip


@dataclass(frozen=True)
class Module(Pace):
    """How one module learns."""

    dropout: float = setting(0.2, "share of a layer's output dropped while learning", "section 3.1: 0.5, 0.2, 0.2")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/decaf/paper.toml has the paper's."""

    encoder: str = setting(BAG, MEANING, BAG)
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become words with weights")
    bag: BagReading = setting(BagReading(), "how a bag reads; words are dropped in module IV", "300 or 512 long")
    transformer: TransformerReading = setting(TransformerReading(max_tokens=32, layers=1), "how a transformer reads")
    labels_per_cluster: int = setting(4, "labels in a cluster at most: the fan-out", "131,000 / 2^15")
    recall: float = setting(
        1.0,
        "share of training labels the clusters opened must hold; 1 opens 200",
        "0.85, section 4; the code opens 100-200",
    )
    belief_weight: float = setting(0.25, "score = σ(label) · σ(cluster)^this", "1")
    negatives: int = setting(
        5,
        "labels each document brings to its batch, where all meet them; 0: each meets its own whole shortlist",
        "0",
    )
    instances: int = setting(1, "models that share module I and are averaged", "3, section 3.1")
    surrogate: Module = setting(Module(epochs=4, row_lr=0.015, precision="auto"), "module I", "20 epochs, 0.01")
    shortlister: Module = setting(Module(epochs=3, row_lr=0.015, precision="auto"), "module II", "10 epochs, 0.008")
    ranker: Module = setting(Module(epochs=12, row_lr=0.015, dropout=0.4), "module IV", "10 epochs, 0.008")
    afresh: bool = setting(True, "module IV starts from the first token vectors, not from those of module II", "false")
    optim: Steps = setting(
        Steps(batch_size=256, warmup=0.02, average_from=6), "steps of all modules; module IV alone is averaged", "255"
    )
    seed: int = setting(0, "draws all that is random: clusters, first weights, order, negatives and dropout")

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ConfigError(f"recall = {self.recall}: it is a share, above 0 and at most 1")
        if self.labels_per_cluster < 1 or self.instances < 1:
            raise ConfigError("labels_per_cluster and instances are at least 1")

    @property
    def encoding(self) -> Encoding:
        """Which encoder reads, and how."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)
