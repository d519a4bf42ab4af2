"""Settings of GUDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.encoder import BAG
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.methods.shared.clustered.settings import ClusteredConfig

Variant = Literal["names", "one-hot"]
VARIANTS: dict[str, Variant] = {"one-hot": "one-hot"}  # Table 4


@dataclass(frozen=True)
class Config(ClusteredConfig):
    """Defaults suit two cores; configs/gudn/paper.toml has the paper's settings."""

    transformer: TransformerReading = setting(TransformerReading(layers=10), "transformer encoder")
    label_start: Literal["texts", "random"] = setting(
        "texts", "initial label and cluster vectors: from label texts, or random", "random"
    )
    label_tokens: int = setting(64, "most tokens of a document's joined label names", "512")
    feature_guide: float = setting(1.0, "weight of L_feature; 0: off", "1; Table 3: GUD-F")
    guide_by: Literal["distance", "contrast", "pooler"] = setting(
        "contrast",
        "L_feature: squared distance, contrastive within a batch, or distance of pooler outputs (see docs); "
        "use a weight of 0.02 with distance",
        "distance; authors' code: pooler",
    )
    guide_centred: bool = setting(
        True, "subtract the batch means of texts and of label names before L_feature", "false"
    )
    link_guide: float = setting(1.0, "weight of L_link; 0: off", "1; Table 3: GUD-L")
    guide_until: float | None = setting(
        None, "share of the training over which both guides decay to 0; none: constant", "none"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.feature_guide, self.link_guide) < 0:
            raise ConfigError("feature_guide and link_guide are weights: 0 or more")
        if self.guide_until is not None and not 0 < self.guide_until <= 1:
            raise ConfigError("guide_until is a share of the training, as 0.5 for its first half; none: guides stay")
        if self.guide_by == "pooler" and (
            self.encoder == BAG or self.transformer.pool != "cls" or self.transformer.centred
        ):
            raise ConfigError(
                "guide_by = pooler reads the last [CLS] of a transformer; set transformer.pool = cls and "
                "transformer.centred = false"
            )

    @property
    def guided(self) -> bool:
        """Whether any guide is on."""
        return self.feature_guide > 0 or self.link_guide > 0
