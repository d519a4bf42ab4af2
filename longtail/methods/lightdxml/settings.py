"""Settings of LightDXML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.index.nearest import Search
from longtail.judge.gains import METRICS


@dataclass(frozen=True)
class Labels:
    """How the label encoder learns (step 2)."""

    epochs: int = setting(1, "times every document is read, each time the encoder is trained", "Table V: 4 to 8")
    lr: float = setting(1e-3, "peak learning rate", "released configs: 2e-4 to 3e-3")
    batch_size: int = setting(256, "documents in a batch", "released configs: 256 or 512 pairs")
    hidden: int | None = setting(None, "width between the two layers, D̂; none: as wide as vectors", "600 to 2400")
    start: Literal["identity", "random"] = setting("identity", "layers before they learn: identity is the mean itself")
    relu: bool = setting(False, "label vectors are cut off at zero", "Eq. 4 does, the authors' code does not")


@dataclass(frozen=True)
class Classifiers:
    """How document encoder and classifiers learn (step 4)."""

    epochs: int = setting(10, "times every document is read", "Table V: 16 or 21")
    lr: float = setting(0.01, "peak learning rate", "Table V: 0.006 to 0.009")
    batch_size: int = setting(128, "documents in a batch", "released configs: 255")
    dropout: float = setting(0.3, "share of a layer's output dropped while learning", "released configs: 0.5")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning", "0")
    negatives: int = setting(
        40, "labels of its shortlist each document brings to its batch, where all meet them; 0: each its whole own", "0"
    )
    start: Literal["labels", "random"] = setting("random", "rows before they learn: label vectors, or random", "random")
    averaged: int = setting(5, "last epochs after which weights are taken and averaged; 0 keeps the last alone", "0")

    def __post_init__(self) -> None:
        if not (0 <= self.dropout < 1 and 0 <= self.words_dropped < 1):
            raise ConfigError("classifiers.dropout and classifiers.words_dropped are shares: from 0 to below 1")
        if self.epochs < 1:
            raise ConfigError(f"classifiers.epochs = {self.epochs}: it must be at least 1")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/lightdxml/paper.toml has the paper's."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become tokens with weights")
    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    label_text: Literal["none", "labels", "all"] = setting(
        "labels", "a label's own text is read as one of its documents: nowhere, by the label encoder, or by all", "none"
    )
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "length of token, document and label vectors", "released configs: 300")
    shortlist: int = setting(200, "labels proposed for a document, k", "Table V: 500 to 650")
    reindex: int = setting(5, "epochs of the classifiers between two trainings of the label encoder", "Table V: 4 to 9")
    labels: Labels = setting(Labels(), "label encoder")
    classifiers: Classifiers = setting(Classifiers(), "document encoder and classifiers")
    search: Search = setting(Search(), "how the nearest labels are found")
    beta: float | None = setting(None, "share of the classifier in a score; none: chosen on validation", "Table V")
    metric: str = setting("nDCG@5", "what β is chosen by, as PSP@5")
    valid_documents: int = setting(1000, "documents held out of training to choose β by, a tenth of all at most")
    seed: int = setting(0, "draws first weights, order, negatives and dropout")

    def __post_init__(self) -> None:
        if self.shortlist < 1 or self.reindex < 1 or self.dim < 1:
            raise ConfigError("shortlist, reindex and dim are at least 1")
        if self.labels.start == "identity" and (self.labels.hidden or self.dim) < self.dim:
            raise ConfigError(
                f"labels.hidden = {self.labels.hidden}: nothing narrower than dim can start as the identity"
            )
        if self.beta is not None and not 0 <= self.beta <= 1:
            raise ConfigError(f"beta = {self.beta}: it is a share, from 0 (shortlist alone) to 1 (classifier alone)")
        if self.metric not in (known := [f"{name}@{k}" for name in METRICS for k in (1, 3, 5)]):
            raise ConfigError(f"metric = {self.metric!r}: it must be one of {', '.join(known)}")
