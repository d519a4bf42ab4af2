"""Settings of ELIAS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import BAG, MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.index.graph import Walk
from longtail.train.settings import Optim, Pace, Steps

Variant = Literal["learned", "fixed", "one-vs-all"]
VARIANTS: dict[str, Variant] = {"fixed": "fixed", "one-vs-all": "one-vs-all"}  # Table 3: Stage 1; Table 2: OvA


@dataclass(frozen=True)
class Stage(Pace):
    """Training settings of one stage."""

    cluster_lr: float = setting(
        1e-3, "peak learning rate of cluster rows and of the block for label texts", "5e-3; stage 2: 1e-4"
    )
    row_batches: int = setting(1, "batches per step of clusters, edges and label rows", "10, section 4")
    shortlist_loss: float = setting(1.0, "weight of the shortlist loss (8), λ", "0.05 on means over 2,000 and 20: 5")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster_lr <= 0 or self.row_batches < 1 or self.shortlist_loss < 0:
            raise ConfigError("a stage's cluster_lr is more than 0, row_batches at least 1, shortlist_loss 0 or more")


@dataclass(frozen=True)
class Ranker:
    """Settings of the label classifiers."""

    classifier: Literal["text", "rows"] | None = setting(
        None,
        "label rows: computed from texts and refined, or free rows; none: text with a bag, rows with a transformer",
        "rows",
    )
    negatives: int | None = setting(
        None,
        "negatives sampled per document and shared by its batch; "
        "0: each document is scored against its whole shortlist; none: 10 with a bag, 0 with a transformer",
        "0",
    )
    loss: Literal["label", "path"] = setting(
        "label", "ranking loss (7) on: the label classifier alone, or its product with the path", "path"
    )
    belief_weight: float | None = setting(
        None,
        "how much clusters count in a label's score: σ(label) · ŷ^belief_weight; none: chosen on validation documents, "
        "0.5 without any",
        "1",
    )

    def __post_init__(self) -> None:
        if min(self.negatives or 0, self.belief_weight or 0) < 0:
            raise ConfigError("ranker.negatives and ranker.belief_weight are 0 or more")


@dataclass(frozen=True)
class Config:
    """Defaults suit a bag encoder on two cores; configs/elias/paper.toml has the paper's settings."""

    encoder: str = setting(BAG, MEANING, "bert-base-uncased; distilbert-base-uncased for titles")
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "TF-IDF words for clustering labels and for a bag")
    bag: BagReading = setting(BagReading(), "bag encoder")
    transformer: TransformerReading = setting(TransformerReading(layers=1), "transformer encoder")
    dropout: float = setting(0.4, "dropout on text vectors", "0.5")
    labels_per_cluster: int = setting(10, "most labels per cluster (of stage 1)", "100")
    edges: int | None = setting(None, "edges per cluster, κ; none: 10 L / C", "10 L / C; authors' code: 1000")
    walk: Walk = setting(Walk(beam=100, shortlist=1000, paths="all"), "search in the graph")
    ranker: Ranker = setting(Ranker(), "label classifiers")
    recluster: int = setting(
        0, "epochs of a warm-up after which labels are clustered again by words and vectors; 0: none", "authors': 5"
    )
    stage_1: Stage = setting(Stage(epochs=2), "training with every label in one cluster")
    stage_2: Stage = setting(Stage(epochs=8), "training with learned edges")
    optim: Steps = setting(
        Steps(batch_size=128, warmup=0.1, weight_decay=0.01, average_from=4),
        "training of both stages; only stage 2 averages weights",
        "authors' code",
    )
    keep: str = setting("last", "final weights of a stage: last, or a metric such as nDCG@5 for the best on validation")
    valid_documents: int = setting(
        1000,
        "documents of the validation split, or held out of train: for choosing belief_weight and, with keep, weights",
    )
    seed: int = setting(0, "random seed; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if self.labels_per_cluster < 1 or (self.edges is not None and self.edges < 1):
            raise ConfigError("labels_per_cluster and edges are at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout}: it is a share, from 0 to below 1")
        Optim(keep=self.keep)  # refuses what is no metric, before anything is computed

    @property
    def encoding(self) -> Encoding:
        """The encoder and its settings."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)

    @property
    def hands_on_encoder(self) -> bool:
        """Whether stage 2 starts from the encoder of stage 1; a bag is cheap to train again from scratch."""
        return self.encoder != BAG


def with_encoder(config: Config) -> Config:
    """Fill in the settings whose default depends on the encoder."""
    bag, ranker = config.encoder == BAG, config.ranker
    negatives = 10 * bag if ranker.negatives is None else ranker.negatives
    classifier = ranker.classifier or ("text" if bag else "rows")
    return replace(config, ranker=replace(ranker, negatives=negatives, classifier=classifier))


UNCHOSEN = 0.5  # belief_weight in training, and without validation documents
