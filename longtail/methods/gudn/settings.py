"""Settings of GUDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.transformer import Reading
from longtail.errors import ConfigError
from longtail.methods.shared.clustered_transformer.settings import Recall, check_rates
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Config:
    """Defaults are for two cores; configs/gudn/paper.toml has the paper's."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        "transformer to start from: a hub name, a local directory, or package:NAME of an installed package",
        "bert-base-uncased",
    )
    reading: Reading = setting(Reading(layers=10), "how it reads")
    labels: Literal["names", "one-hot"] = setting(
        "names", "what the guide reads: label names, or a vector for each label that says nothing at first", "Table 4"
    )
    label_tokens: int = setting(64, "tokens of a document's joined label names that are read", "512")
    feature_guide: float = setting(1.0, "weight of L_feature; 0 switches it off", "1; Table 3: GUD-F")
    guide_by: Literal["distance", "contrast"] = setting(
        "contrast",
        "L_feature: both vectors should be one, or find each other in a batch; distances want a weight of 0.02",
        "distance",
    )
    guide_centred: bool = setting(
        True, "L_feature compares what is left of texts and label names without the mean of each in a batch", "false"
    )
    link_guide: float = setting(1.0, "weight of L_link; 0 switches it off", "1; Table 3: GUD-L")
    guide_until: float | None = setting(
        None, "share of the training over which both guides fade away, and are no longer read; none: they stay", "none"
    )
    recall: Recall = setting(Recall(start="texts"), "which labels are looked at")
    head_lr: float = setting(5e-3, "peak learning rate of classifier and label vectors", "authors' code: 5e-5")
    head_eps: float = setting(1e-8, "Adam's ε for heads that score all labels: smaller gradients hardly move them")
    optim: Optim = setting(
        Optim(lr=1e-4, epochs=5, batch_size=32, schedule="linear", warmup=0.05, weight_decay=0.01),
        "how the transformer learns; rates of heads follow its schedule",
        "section 4.2",
    )
    valid_documents: int = setting(1000, "documents of the validation split, or of train, that choose the weights kept")
    seed: int = setting(0, "draws clusters, first weights, order and dropout; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if min(self.feature_guide, self.link_guide) < 0:
            raise ConfigError("feature_guide and link_guide are weights: 0 or more")
        check_rates(self.head_lr, self.head_eps)
        if self.guide_until is not None and not 0 < self.guide_until <= 1:
            raise ConfigError("guide_until is a share of the training, as 0.5 for its first half; none: guides stay")

    @property
    def guided(self) -> bool:
        """Whether any guide is switched on."""
        return self.feature_guide > 0 or self.link_guide > 0
