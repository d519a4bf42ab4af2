"""Settings of LightDXML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import BAG, MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.index.nearest import Search
from longtail.train.settings import Learning

Variant = Literal["cycle", "relu", "astec"]
VARIANTS: dict[str, Variant] = {"relu": "relu", "astec": "astec"}  # Eq. 4 as printed; Table II


@dataclass(frozen=True)
class LabelEncoding:
    """Training settings of the label encoder (step 2)."""

    epochs: int = setting(1, "passes over the documents per training of the encoder", "Table V: 4 to 8")
    lr: float = setting(1e-3, "peak learning rate", "released configs: 2e-4 to 3e-3")
    batch_size: int = setting(256, "documents per batch", "released configs: 256 or 512 pairs")
    hidden: int | None = setting(
        None,
        "width between the two layers, D̂, which start at random; none: that of vectors, and label vectors start as "
        "centroids",
        "600 to 2400",
    )


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/lightdxml/paper.toml has the paper's settings."""

    encoder: str = setting(BAG, MEANING, BAG)
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "TF-IDF words and their weights")
    bag: BagReading = setting(BagReading(), "bag encoder", "released configs: 300 long")
    transformer: TransformerReading = setting(TransformerReading(max_tokens=32, layers=1), "transformer encoder")
    label_text: Literal["none", "labels", "all"] = setting(
        "labels", "use label texts as documents of their label: never, for the label encoder, or for all parts", "none"
    )
    shortlist: int = setting(200, "candidates per document, k", "Table V: 500 to 650")
    reindex: int = setting(5, "epochs of the classifiers between two trainings of the label encoder", "Table V: 4 to 9")
    label_encoder: LabelEncoding = setting(LabelEncoding(), "label encoder")
    dropout: float = setting(0.3, "dropout on text vectors; in a bag, also inside its block", "released configs: 0.5")
    negatives: int = setting(
        40, "negatives sampled per document and shared by its batch; 0: each is scored against its whole shortlist", "0"
    )
    optim: Learning = setting(
        Learning(epochs=10, row_lr=0.01, batch_size=128, warmup=0.02, average_from=6),
        "training of document encoder and classifiers",
        "Table V: 16 or 21 epochs, 0.006 to 0.009",
    )
    search: Search = setting(Search(), "nearest-neighbour search")
    beta: float | None = setting(None, "weight of the classifier in a score; none: chosen on validation", "Table V")
    valid_documents: int = setting(1000, "documents of the validation split, or held out of train: for choosing β")
    seed: int = setting(0, "random seed")

    def __post_init__(self) -> None:
        if self.shortlist < 1 or self.reindex < 1:
            raise ConfigError("shortlist and reindex are at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")
        if self.beta is not None and not 0 <= self.beta <= 1:
            raise ConfigError(f"beta = {self.beta}: it is a share, from 0 (shortlist alone) to 1 (classifier alone)")

    @property
    def encoding(self) -> Encoding:
        """The encoder and its settings."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)
