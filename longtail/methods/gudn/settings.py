"""Settings of GUDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.methods.shared.clustered.settings import ClusteredConfig

Variant = Literal["names", "one-hot"]
VARIANTS: dict[str, Variant] = {"one-hot": "one-hot"}  # Table 4


@dataclass(frozen=True)
class Config(ClusteredConfig):
    """Defaults are for two cores; configs/gudn/paper.toml has the paper's."""

    transformer: TransformerReading = setting(TransformerReading(layers=10), "how a transformer reads")
    label_start: Literal["texts", "random"] = setting(
        "texts", "label and cluster vectors before they learn: where the labels' texts point, or random", "random"
    )
    label_tokens: int = setting(64, "tokens of a document's joined label names that a transformer reads", "512")
    feature_guide: float = setting(1.0, "weight of L_feature; 0 switches it off", "1; Table 3: GUD-F")
    guide_by: Literal["distance", "contrast"] = setting(
        "contrast",
        "L_feature: both vectors should be one, or find each other in a batch; distances want a weight of 0.02",
        "distance",
    )
    guide_centred: bool = setting(
        True, "L_feature compares texts and label names after the mean of each in a batch is subtracted", "false"
    )
    link_guide: float = setting(1.0, "weight of L_link; 0 switches it off", "1; Table 3: GUD-L")
    guide_until: float | None = setting(
        None, "share of the training over which both guides fade away, and are no longer read; none: they stay", "none"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.feature_guide, self.link_guide) < 0:
            raise ConfigError("feature_guide and link_guide are weights: 0 or more")
        if self.guide_until is not None and not 0 < self.guide_until <= 1:
            raise ConfigError("guide_until is a share of the training, as 0.5 for its first half; none: guides stay")

    @property
    def guided(self) -> bool:
        """Whether any guide is switched on."""
        return self.feature_guide > 0 or self.link_guide > 0
