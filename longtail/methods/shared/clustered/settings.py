"""Settings of an encoder with cluster heads, shared by LightXML and GUDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.train.settings import Optim


@dataclass(frozen=True)
class ClusteredConfig:
    """Settings of encoder, clusters and training."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2", MEANING, "bert-base-uncased, roberta-base, xlnet-base-cased"
    )
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "TF-IDF words for clustering labels and for a bag")
    bag: BagReading = setting(BagReading(), "bag encoder")
    transformer: TransformerReading = setting(TransformerReading(), "transformer encoder")
    dropout: float = setting(0.1, "dropout on text vectors", "0.5")
    one_vs_all_up_to: int = setting(
        31_000, "label sets up to this size have no clusters: all labels are scored", "31,000"
    )
    labels_per_cluster: int = setting(100, "most labels per cluster", "authors' code; Table 1: 60 or 80 on average")
    beam: int = setting(75, "clusters opened per document, b", "authors' code: 75 or 32")
    label_dim: int = setting(400, "dimension of label vectors, after the bottleneck", "Table 1: 400 or 500")
    label_start: Literal["texts", "random"] = setting(
        "random", "initial label and cluster vectors: from label texts, or random", "random"
    )
    eps: float = setting(
        3e-5, "Adam's ε for heads that score all labels: damps steps of labels with smaller gradients", "1e-8"
    )
    optim: Optim = setting(
        Optim(
            lr=1e-4,
            row_lr=5e-3,
            epochs=5,
            batch_size=32,
            schedule="linear",
            warmup=0.05,
            weight_decay=0.01,
            keep="nDCG@5",
        ),
        "training of encoder and heads",
        "LightXML: Table 1; GUDN: section 4.2",
    )
    valid_documents: int = setting(
        1000, "documents of the validation split, or held out of train: for choosing weights"
    )
    seed: int = setting(0, "random seed; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if min(self.labels_per_cluster, self.beam, self.label_dim) < 1:
            raise ConfigError("labels_per_cluster, beam and label_dim are at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")
        if self.eps < 0:
            raise ConfigError(f"eps = {self.eps:g}: it is 0 or more")

    @property
    def encoding(self) -> Encoding:
        """The encoder and its settings."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)
