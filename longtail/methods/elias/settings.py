"""Settings of ELIAS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from longtail.config import setting
from longtail.encoders.text import BAG, BagReading
from longtail.encoders.transformer import Reading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.index.graph import Walk
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Stage:
    """How one stage learns."""

    optim: Optim = setting(
        Optim(lr=1e-4, epochs=2, batch_size=128, schedule="linear", warmup=0.1, weight_decay=0.01, keep="last"),
        "epochs, batches, averaging; lr is a transformer's",
        "authors' code",
    )
    label_lr: float = setting(1e-2, "peak learning rate of label rows and a bag's token vectors", "5e-3, 1e-2")
    cluster_lr: float = setting(1e-3, "peak learning rate of cluster rows and a bag's block", "5e-3; stage 2: 1e-4")
    edge_lr: float | None = setting(None, "peak learning rate of edges; none: label_lr", "label_lr")
    accumulate: int = setting(1, "batches between two steps of clusters, edges and label rows", "10, section 4")
    shortlist_loss: float = setting(1.0, "weight of the shortlist loss (8), λ", "0.05 on means over 2,000 and 20: 5")

    def __post_init__(self) -> None:
        if min(self.label_lr, self.cluster_lr, self.label_lr if self.edge_lr is None else self.edge_lr) <= 0:
            raise ConfigError("a stage's label_lr, cluster_lr and edge_lr are more than 0")
        if self.accumulate < 1 or self.shortlist_loss < 0:
            raise ConfigError("a stage's accumulate is at least 1, its shortlist_loss 0 or more")


@dataclass(frozen=True)
class Ranker:
    """How labels are classified."""

    classifier: Literal["text", "rows"] = setting(
        "text",
        "a label's row: read from its text and refined, where a bag encoder reads texts; or learned from nothing",
        "rows",
    )
    negatives: int | None = setting(
        None,
        "labels out of its shortlist that each document brings to its batch, where all meet them; "
        "0: each meets its own whole shortlist; none: 10 with a bag, 0 with a transformer",
        "0",
    )
    loss: Literal["label", "path"] = setting(
        "label", "what learns to rank (7): a label's classifier alone, or together with the path to it", "path"
    )
    belief_weight: float | None = setting(
        None, "score = σ(label) · ŷ^this; none: chosen on validation documents, 0.5 without any", "1"
    )

    def __post_init__(self) -> None:
        if min(self.negatives or 0, self.belief_weight or 0) < 0:
            raise ConfigError("ranker.negatives and ranker.belief_weight are 0 or more")


LONGER = Stage(optim=replace(Stage().optim, epochs=8, average_from=4))


@dataclass(frozen=True)
class Config:
    """Defaults are for a bag encoder on two cores; configs/elias/paper.toml has the paper's."""

    encoder: str = setting(
        BAG,
        "what reads texts: bag, or a transformer by its hub name, its directory, or package:NAME",
        "bert-base-uncased; distilbert-base-uncased for titles",
    )
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "the words by which labels are clustered, a bag's too")
    bag: BagReading = setting(BagReading(dropout=0.4), "how a bag encoder reads")
    reading: Reading = setting(Reading(layers=1), "how a transformer reads")
    labels_per_cluster: int = setting(10, "labels in a cluster of stage 1 at most", "100")
    edges: int | None = setting(None, "edges of a cluster, κ; none: ten times L / C", "10 L / C; authors' code: 1000")
    walk: Walk = setting(Walk(beam=100, shortlist=1000, paths="all"), "how a document walks through the graph")
    ranker: Ranker = setting(Ranker(), "how labels are classified")
    recluster: int = setting(
        0, "epochs of a warm-up, after which labels are clustered again by words and vectors; 0: none", "authors': 5"
    )
    index: Literal["learned", "fixed", "none"] = setting(
        "learned",
        "learned: both stages; fixed: stage 1 alone, every label on one cluster; "
        "none: every label is scored and learned from, as stage_2 says",
        "learned; Table 3: Stage 1; Table 2: OvA",
    )
    handed_on: Literal["graph", "encoder", "all"] | None = setting(
        None,
        "what stage 2 takes from stage 1: the graph, while all else starts anew; encoder and cluster rows too; "
        "or label rows as well; none: the graph with a bag, the encoder with a transformer",
        "encoder",
    )
    stage_1: Stage = setting(Stage(), "every label on its one cluster")
    stage_2: Stage = setting(LONGER, "edges learn too")
    valid_documents: int = setting(
        1000,
        "documents of the validation split, or of train, that choose what ŷ weighs; where keep is best, weights",
    )
    seed: int = setting(0, "draws clusters, first weights, order and dropout; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if self.labels_per_cluster < 1 or (self.edges is not None and self.edges < 1):
            raise ConfigError("labels_per_cluster and edges are at least 1")
        if self.recluster < 0:
            raise ConfigError("recluster is 0 or more")


def with_encoder(config: Config) -> Config:
    """What the config leaves to its encoder: one that starts from nothing learns anew in stage 2, and cheaply."""
    bag = config.encoder == BAG
    negatives, handed_on = config.ranker.negatives, config.handed_on
    return replace(
        config,
        ranker=replace(config.ranker, negatives=10 * bag if negatives is None else negatives),
        handed_on=handed_on or ("graph" if bag else "encoder"),
    )


UNCHOSEN = 0.5  # what ŷ weighs while the ranker learns, and where no documents can choose
