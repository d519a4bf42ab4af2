"""Settings of LightXML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.encoders.transformer import Reading
from longtail.methods.shared.clustered_transformer.settings import Recall, check_rates
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Config:
    """Defaults are for two cores; configs/lightxml/paper.toml has the paper's."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        "transformer to start from: a hub name, a local directory, or package:NAME of an installed package",
        "bert-base-uncased, roberta-base, xlnet-base-cased",
    )
    reading: Reading = setting(Reading(), "how it reads")
    recall: Recall = setting(Recall(), "which labels are looked at")
    negatives: Literal["dynamic", "static", "static-twice"] = setting(
        "dynamic",
        "what D learns on: clusters that G opens at the moment; or, in a second training, those it opens in the end, "
        "with its text vectors frozen (static) or with a transformer of D's own (static-twice)",
        "Table 5: D, S, BS",
    )
    head_lr: float = setting(5e-3, "peak learning rate of generator, bottleneck and label vectors", "1e-4")
    head_eps: float = setting(1e-8, "Adam's ε for heads that score all labels: smaller gradients hardly move them")
    optim: Optim = setting(
        Optim(lr=1e-4, epochs=5, batch_size=32, schedule="linear", warmup=0.05, weight_decay=0.01),
        "how the transformer learns; rates of heads follow its schedule",
        "Table 1",
    )
    valid_documents: int = setting(1000, "documents of the validation split, or of train, that choose the weights kept")
    seed: int = setting(0, "draws clusters, first weights, order and dropout; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        check_rates(self.head_lr, self.head_eps)
