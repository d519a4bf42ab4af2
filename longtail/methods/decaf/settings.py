"""Settings of DECAF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.train.settings import Precision

Parts = Literal["both", "no-init", "text", "refinement"]  # of a label's row


@dataclass(frozen=True)
class Learning:
    """How one module learns."""

    epochs: int = setting(10, "times every document is read", "released configs: 20, 10, 10")
    lr: float = setting(0.015, "peak learning rate", "released configs: 0.01, 0.008, 0.008")
    batch_size: int = setting(256, "documents in a batch", "released configs: 255")
    dropout: float = setting(0.2, "share of a layer's output dropped while learning", "section 3.1: 0.5, 0.2, 0.2")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning", "0")
    averaged: int = setting(0, "last epochs after which weights are taken and averaged; 0 keeps the last alone", "0")
    afresh: bool = setting(False, "token vectors start as they did at first, not as the module before left them", "no")
    precision: Precision = setting("fp32", "of matrix products: bf16, or auto, which is bf16 where it is fast", "fp32")

    def __post_init__(self) -> None:
        if not (0 <= self.dropout < 1 and 0 <= self.words_dropped < 1):
            raise ConfigError("dropout and words_dropped are shares: from 0 to below 1")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/decaf/paper.toml has the paper's."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become tokens with weights")
    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "length of token, document and label vectors", "released configs: 300 or 512")
    labels_per_cluster: int = setting(4, "labels in a cluster at most: the fan-out", "131,000 / 2^15")
    recall: float = setting(
        1.0,
        "share of training labels the clusters opened must hold; 1 opens 200",
        "0.85, section 4; the code opens 100-200",
    )
    cluster_weight: float = setting(0.25, "score = σ(label) · σ(cluster)^this", "1")
    negatives: int = setting(
        5,
        "negatives each document brings to its batch, where all meet them; 0: each meets its own whole shortlist",
        "0",
    )
    classifier: Parts = setting(
        "both", "a label's row: text and refinement (no-init: which starts at random), or one alone", "both; Table 6"
    )
    lite: bool = setting(False, "token vectors stay as module I left them, afresh or not", "Table 6: DECAF-lite")
    instances: int = setting(1, "models that share module I and are averaged", "3, section 3.1")
    surrogate: Learning = setting(Learning(epochs=4, precision="auto"), "module I")
    shortlister: Learning = setting(Learning(epochs=3, precision="auto"), "module II")
    ranker: Learning = setting(Learning(epochs=12, dropout=0.4, averaged=7, afresh=True), "module IV")
    seed: int = setting(0, "draws clusters, first weights, order and dropout")

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ConfigError(f"recall = {self.recall}: it is a share, above 0 and at most 1")
        if self.dim < 1 or self.labels_per_cluster < 1:
            raise ConfigError(f"dim = {self.dim}, labels_per_cluster = {self.labels_per_cluster}: both are at least 1")
