"""Settings of GUDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.encoder import BAG
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.methods.shared.clustered.settings import ClusteredConfig


@dataclass(frozen=True)
class Variant:
    """Ablations of Tables 3 and 4 of the paper; with L_link alone: feature_guide = 0."""

    feature: bool = True
    link: bool = True
    names: bool = True  # guides read label names, not one-hot labels


VARIANTS = {
    "no-guide": Variant(feature=False, link=False), "feature": Variant(link=False),
    "one-hot": Variant(link=False, names=False),
}  # fmt: skip


@dataclass(frozen=True)
class Config(ClusteredConfig):
    """Defaults suit two cores; configs/gudn/paper.toml has the paper's settings."""

    transformer: TransformerReading = setting(TransformerReading(layers=10), "transformer encoder")
    label_start: Literal["texts", "random"] = setting(
        "texts", "initial label and cluster vectors: from label texts, or random", "random"
    )
    label_tokens: int = setting(64, "most tokens of a document's joined label names", "512")
    feature_guide: float = setting(1.0, "weight of L_feature; 0: L_link alone", "1; Table 3: GUD-L with 0")
    guide_by: Literal["contrast", "distance", "centred-distance", "pooler"] = setting(
        "contrast",
        "L_feature: contrastive within a batch, squared distance, the same after subtracting the means of a batch, or "
        "distance of pooler outputs (see docs); use a weight of 0.02 with distances",
        "distance; authors' code: pooler",
    )
    guide_until: float | None = setting(
        None, "share of the training over which both guides decay to 0; none: constant", "none"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.feature_guide < 0:
            raise ConfigError("feature_guide is a weight: 0 or more")
        if self.guide_until is not None and not 0 < self.guide_until <= 1:
            raise ConfigError("guide_until is a share of the training, as 0.5 for its first half; none: guides stay")
        if self.guide_by == "pooler" and (self.encoder == BAG or self.transformer.pool != "cls"):
            raise ConfigError("guide_by = pooler reads the last [CLS] of a transformer; set transformer.pool = cls")
