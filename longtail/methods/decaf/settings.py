"""Settings of DECAF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import BAG, MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.train.settings import Optim, StagedLearning, check_number, of_stage

Parts = Literal["both", "no-init", "text", "refinement"]  # parts of a label row


@dataclass(frozen=True)
class Variant:
    """Ablations of Table 6 of the paper (ablations.py)."""

    parts: Parts = "both"  # label row: text and refinement (no-init: random initial refinement), or only one
    lite: bool = False  # token vectors of module I are frozen


VARIANTS = {
    "no-init": Variant("no-init"), "text": Variant("text"), "refinement": Variant("refinement"),
    "lite": Variant(lite=True),
}  # fmt: skip


MODULES = SURROGATE, SHORTLISTER, RANKER = range(3)  # those that train: I, II and IV


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/decaf/paper.toml has the paper's settings."""

    encoder: str = setting(BAG, MEANING, BAG)
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "TF-IDF words and their weights")
    bag: BagReading = setting(BagReading(), "bag encoder; token dropout only in module IV", "300 or 512 long")
    transformer: TransformerReading = setting(TransformerReading(max_tokens=32, layers=1), "transformer encoder")
    labels_per_cluster: int = setting(4, "most labels per cluster (fan-out)", "131,000 / 2^15")
    recall: float = setting(
        1.0,
        "recall of true training labels that the opened clusters must reach; 1: opens 200 clusters",
        "0.85, section 4; the code opens 100-200",
    )
    belief_weight: float = setting(
        0.25, "how much clusters count in a label's score: σ(label) · σ(cluster)^belief_weight", "1"
    )
    negatives: int = setting(
        5,
        "negatives sampled per document and shared by its batch; 0: each is scored against its whole shortlist",
        "0",
    )
    instances: int = setting(1, "number of averaged models that share module I", "3, section 3.1")
    dropout: tuple[float, ...] = setting(
        (0.2, 0.2, 0.4),
        "dropout on text vectors; in a bag, also inside its block; one value, or one for each of modules I, II and IV",
        "section 3.1: 0.5, 0.2, 0.2",
    )
    afresh: bool = setting(
        True, "module IV starts from the initial token vectors, not from those of module II", "false"
    )
    optim: StagedLearning = setting(
        StagedLearning(
            epochs=(4, 3, 12),
            row_lr=(0.015,),
            precision=("auto", "auto", "fp32"),
            batch_size=256,
            warmup=0.02,
            average_from=6,
        ),
        "training of modules I, II and IV; only module IV averages weights",
        "20, 10 and 10 epochs, 0.01 and 0.008, batches of 255",
    )
    seed: int = setting(0, "random seed")

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ConfigError(f"recall = {self.recall}: it is a share, above 0 and at most 1")
        if self.labels_per_cluster < 1 or self.instances < 1:
            raise ConfigError("labels_per_cluster and instances are at least 1")
        self.optim.check_stages(len(MODULES))
        check_number("dropout", self.dropout, len(MODULES))
        if not all(0 <= share < 1 for share in self.dropout):
            raise ConfigError(f"dropout = {self.dropout}: shares, from 0 to below 1")

    @property
    def encoding(self) -> Encoding:
        """The encoder and its settings."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)

    def dropout_of(self, module: int) -> float:
        """Dropout of a module."""
        return of_stage(self.dropout, module)

    def optim_of(self, module: int) -> Optim:
        """Training of a module; only the ranker's averages weights."""
        optim = self.optim.stage(module)
        return optim if module == RANKER else replace(optim, average_from=None)
