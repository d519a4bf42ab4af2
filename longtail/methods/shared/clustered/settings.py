"""Settings of an encoder with cluster heads: those that LightXML and GUDN share."""

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
    """How texts are read, which labels are looked at, and how all of it learns."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2", MEANING, "bert-base-uncased, roberta-base, xlnet-base-cased"
    )
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "the words by which labels are clustered, a bag's too")
    bag: BagReading = setting(BagReading(), "how a bag reads")
    transformer: TransformerReading = setting(TransformerReading(), "how a transformer reads")
    dropout: float = setting(0.1, "share of a text's vector dropped while learning", "0.5")
    one_vs_all_up_to: int = setting(31_000, "label sets up to this size have no clusters: all are scored", "31,000")
    labels_per_cluster: int = setting(100, "labels in a cluster at most", "authors' code; Table 1: 60 or 80 on average")
    beam: int = setting(75, "clusters opened for a document, b", "authors' code: 75 or 32")
    label_dim: int = setting(400, "length of a label's vector, behind the bottleneck", "Table 1: 400 or 500")
    label_start: Literal["texts", "random"] = setting(
        "random", "label and cluster vectors before they learn: where the labels' texts point, or random", "random"
    )
    eps: float = setting(
        3e-5, "Adam's ε for heads that score all labels: labels with smaller gradients hardly move", "1e-8"
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
        "how encoder and heads learn",
        "LightXML: Table 1; GUDN: section 4.2",
    )
    valid_documents: int = setting(1000, "documents of the validation split, or of train: they choose the weights kept")
    seed: int = setting(
        0, "draws all that is random: clusters, first weights, order and dropout; members of an ensemble differ in it"
    )

    def __post_init__(self) -> None:
        if min(self.labels_per_cluster, self.beam, self.label_dim) < 1:
            raise ConfigError("labels_per_cluster, beam and label_dim are at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")
        if self.eps < 0:
            raise ConfigError(f"eps = {self.eps:g}: it is 0 or more")

    @property
    def encoding(self) -> Encoding:
        """Which encoder reads, and how."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)
