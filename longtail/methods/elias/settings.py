"""Settings of ELIAS."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from longtail.config import setting
from longtail.encoders.bag import BagReading
from longtail.encoders.encoder import BAG, MEANING, Encoding
from longtail.encoders.transformer import TransformerReading
from longtail.errors import ConfigError
from longtail.features.tfidf import TfidfOptions
from longtail.index.graph import Walk
from longtail.train.settings import Optim, StagedLearning, check_kept, check_number, of_stage

Variant = Literal["learned", "fixed", "one-vs-all"]
VARIANTS: dict[str, Variant] = {"fixed": "fixed", "one-vs-all": "one-vs-all"}  # Table 3: Stage 1; Table 2: OvA
STAGES = 2


@dataclass(frozen=True)
class Stage:
    """Training of one stage."""

    optim: Optim = field(default_factory=Optim)
    cluster_lr: float = 1e-3
    row_batches: int = 1
    shortlist_loss: float = 1.0


@dataclass(frozen=True)
class Learning(StagedLearning):
    """Training of both stages."""

    cluster_lr: tuple[float, ...] = setting(
        (1e-3,),
        "peak learning rate of cluster rows and of the block for label texts; one value, or one for each stage",
        "5e-3; stage 2: 1e-4",
    )
    row_batches: tuple[int, ...] = setting(
        (1,), "batches per step of clusters, edges and label rows; one value, or one for each stage", "10, section 4"
    )
    keep: str = setting("last", "final weights: last, or a metric such as nDCG@5 for the best on validation documents")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_stages(STAGES)
        check_kept(self.keep)  # before anything is computed
        if min(self.cluster_lr) <= 0 or min(self.row_batches) < 1:
            raise ConfigError("optim.cluster_lr is more than 0, optim.row_batches at least 1")


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
    negatives: int | None = setting(
        None,
        "negatives sampled per document and shared by its batch; "
        "0: each document is scored against its whole shortlist; none: 10 with a bag, 0 with a transformer",
        "0",
    )
    belief_weight: float | None = setting(
        None,
        "how much clusters count in a label's score: σ(label) · ŷ^belief_weight; none: chosen on validation documents, "
        "0.5 without any",
        "1",
    )
    shortlist_loss: tuple[float, ...] = setting(
        (1.0,),
        "weight of the shortlist loss (8), λ; one value, or one for each stage",
        "0.05 on means over 2,000 and 20: 5",
    )
    recluster: int = setting(
        0, "epochs of a warm-up after which labels are clustered again by words and vectors; 0: none", "authors': 5"
    )
    optim: Learning = setting(
        Learning(epochs=(2, 8), batch_size=128, warmup=0.1, weight_decay=0.01, average_from=4),
        "training of both stages: every label in one cluster, then learned edges; only stage 2 averages weights",
        "authors' code",
    )
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
        if min(self.negatives or 0, self.belief_weight or 0) < 0:
            raise ConfigError("negatives and belief_weight are 0 or more")
        check_number("shortlist_loss", self.shortlist_loss, STAGES)
        if min(self.shortlist_loss) < 0:
            raise ConfigError("shortlist_loss is 0 or more")

    @property
    def encoding(self) -> Encoding:
        """The encoder and its settings."""
        return Encoding(self.encoder, self.words, self.bag, self.transformer)

    @property
    def hands_on_encoder(self) -> bool:
        """Whether stage 2 starts from the encoder of stage 1; a bag is cheap to train again from scratch."""
        return self.encoder != BAG

    @property
    def reads_label_texts(self) -> bool:
        """Whether label rows are computed from texts and refined, or free; a transformer has free ones."""
        return self.encoder == BAG

    @property
    def sampled(self) -> int:
        """Negatives per document; 0: all candidates of its shortlist."""
        return SAMPLED * (self.encoder == BAG) if self.negatives is None else self.negatives

    def stage(self, number: int) -> Stage:
        """Training of a stage, 1 or 2; only the second averages weights."""
        at, optim = number - 1, self.optim
        own = optim.stage(at, optim.keep)
        own = replace(own, average_from=own.average_from if number == STAGES else None)
        rates = of_stage(optim.cluster_lr, at), of_stage(optim.row_batches, at)
        return Stage(own, *rates, of_stage(self.shortlist_loss, at))


SAMPLED = 10  # negatives per document with a bag: rows need many steps, and these are cheap
UNCHOSEN = 0.5  # belief_weight in training, and without validation documents
