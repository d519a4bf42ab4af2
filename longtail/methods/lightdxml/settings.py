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


@dataclass(frozen=True)
class LabelEncoding:
    """How the label encoder learns (step 2)."""

    epochs: int = setting(1, "times every document is read, each time the encoder is trained", "Table V: 4 to 8")
    lr: float = setting(1e-3, "peak learning rate", "released configs: 2e-4 to 3e-3")
    batch_size: int = setting(256, "documents in a batch", "released configs: 256 or 512 pairs")
    hidden: int | None = setting(None, "width between the two layers, D̂; none: as wide as vectors", "600 to 2400")
    start: Literal["identity", "random"] = setting("identity", "layers before they learn: identity is the mean itself")
    relu: bool = setting(False, "label vectors are cut off at zero", "Eq. 4 does, the authors' code does not")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/lightdxml/paper.toml has the paper's."""

    encoder: str = setting(BAG, MEANING, BAG)
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become words with weights")
    bag: BagReading = setting(BagReading(), "how a bag reads", "released configs: 300 long")
    transformer: TransformerReading = setting(TransformerReading(max_tokens=32, layers=1), "how a transformer reads")
    label_text: Literal["none", "labels", "all"] = setting(
        "labels", "a label's own text is read as one of its documents: nowhere, by the label encoder, or by all", "none"
    )
    shortlist: int = setting(200, "labels proposed for a document, k", "Table V: 500 to 650")
    reindex: int = setting(5, "epochs of the classifiers between two trainings of the label encoder", "Table V: 4 to 9")
    label_encoder: LabelEncoding = setting(LabelEncoding(), "label encoder")
    dropout: float = setting(
        0.3, "share of a text's vector dropped while learning; of a bag, inside its block too", "released configs: 0.5"
    )
    negatives: int = setting(
        40, "labels each document brings to its batch, where all meet them; 0: each meets its own whole shortlist", "0"
    )
    optim: Learning = setting(
        Learning(epochs=10, row_lr=0.01, batch_size=128, warmup=0.02, average_from=6),
        "how document encoder and classifiers learn",
        "Table V: 16 or 21 epochs, 0.006 to 0.009",
    )
    search: Search = setting(Search(), "how the nearest labels are found")
    beta: float | None = setting(None, "share of the classifier in a score; none: chosen on validation", "Table V")
    valid_documents: int = setting(1000, "documents of the validation split, or of train: they choose β")
    seed: int = setting(0, "draws all that is random: first weights, order, negatives and dropout")

    def __post_init__(self) -> None:
        if self.shortlist < 1 or self.reindex < 1:
            raise ConfigError("shortlist and reindex are at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")
        hidden = self.label_encoder.hidden
        if self.encoder == BAG and self.label_encoder.start == "identity" and (hidden or self.bag.dim) < self.bag.dim:
            raise ConfigError(f"label_encoder.hidden = {hidden}: nothing narrower than dim can start as the identity")
        if self.beta is not None and not 0 <= self.beta <= 1:
            raise ConfigError(f"beta = {self.beta}: it is a share, from 0 (shortlist alone) to 1 (classifier alone)")

    @property
    def encoding(self) -> Encoding:
        """Which encoder reads, and how."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)
