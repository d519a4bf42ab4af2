"""ELIAS: an index that learns with the classifier: clusters lead to labels by edges whose weights are trained.

Gupta et al., NeurIPS 2022, arXiv:2210.08410.  Where we differ on purpose, docs/methods/elias.md says why.

    text ──encoder──► φ ──Ŵ_C──► clusters ──A──► K labels with the best paths ──W_L──► σ(label)·belief

    paper        here           meaning
    φ            TextEncoder    document vector: a bag of tokens or a transformer (encoders/text.py)
    Ŵ_C, A       GraphIndex     which clusters a document opens, and which labels these lead to (index/graph.py)
    b, α, β, K   Walk           clusters opened, how many are sure at once, edges likewise, labels ranked
    κ            edges          edges of a cluster
    ŷ            belief         in a label: the best path to it
    W_L          Graphed        a classifier a label (rankers/graphed.py)
    λ            shortlist_loss weight of (8)
    stage 1, 2   Stage          every label on its one cluster; then A, grown from what stage 1 opens, learns too

Predicting with a bag encoder needs no torch; what learns is in elias/learn/stages.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import Corpus, Documents, LabelSet, Texts
from longtail.encoders.pretrained import size_of
from longtail.encoders.text import BAG, BagReading
from longtail.encoders.transformer import Reading
from longtail.errors import ConfigError, CorpusError
from longtail.features.bags import beside_dense, features_expected
from longtail.features.labels import label_centroids, label_features, label_text_bags
from longtail.features.reading import Reader, tokens_expected
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Clusters, balanced_clusters
from longtail.index.graph import Walk
from longtail.judge.metrics import evaluate_ranking
from longtail.methods.elias.model import Elias
from longtail.methods.shared.preparation import held_out
from longtail.train.run import WITH_TORCH, Need, Run
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


# -- the algorithm -----------------------------------------------------------------------------------------------------


def fit(corpus: Corpus, config: Config, run: Run) -> Elias:
    """Words and clusters; stage 1; the graph; stage 2."""
    from longtail.methods.elias.learn.stages import learn, learn_one_vs_all

    config = with_encoder(config)
    data = prepare(corpus, config, run)
    if config.index == "none":
        return learn_one_vs_all(data, config, run)
    model = learn(data, config, run)
    return weighed(model, data.valid) if config.ranker.belief_weight is None else model


# -- stages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """What every stage learns from."""

    train: Corpus
    valid: Corpus
    reader: Reader
    words: sp.csr_array = field(repr=False)  # (training documents, words)

    def cluster(self, vectors: np.ndarray | None, size: int, seed: int) -> Clusters:
        """Balanced clusters by the words of the labels' documents, and by these documents' vectors if there are any.

        A label without documents lies where its text puts it.
        """
        features = self.words if vectors is None else beside_dense(vectors, self.words)
        points = label_centroids(features, self.train.labels)
        if self.reader.words.tfidf is not None:
            texts = label_text_bags(self.reader.words.tfidf, self.train.label_set)
            none = sp.csr_array((texts.shape[0], points.shape[1] - texts.shape[1]), dtype=np.float32)
            points = label_features(points, sp.csr_array(sp.hstack([none, texts], format="csr")))
        return balanced_clusters(points, size, seed)


def prepare(corpus: Corpus, config: Config, run: Run) -> Data:
    """Everything there is before an encoder."""
    train, valid = held_out(corpus, config.valid_documents, config.seed)
    if train.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")
    pieces = config.bag.subwords if config.encoder == BAG else 0
    reader = run.stage("words", learn_words, train.documents, train.label_set, config.words, pieces)
    return Data(train, valid, reader, run.stage("features", word_rows, reader, train.documents))


def learn_words(documents: Documents, label_set: LabelSet, options: TfidfOptions, subwords: int) -> Reader:
    """The tokens of documents and label texts, and what they weigh."""
    if documents.texts is not None:
        documents = Documents(Texts.of(chain(documents.texts, label_set.words())))
    return Reader.fit(documents, options, subwords)


def word_rows(reader: Reader, documents: Documents) -> sp.csr_array:
    """Documents as rows of weighed words."""
    return reader.words.rows(documents)


def weighed(model: Elias, valid: Corpus) -> Elias:
    """With the weight of ŷ that ranks these documents best, by nDCG@5."""
    if valid.labels.nnz == 0 or model.graphed is None:
        return model

    def worth(weight: float) -> float:
        ranking = with_weight(model, weight).rank(valid.documents, RANKED)
        return evaluate_ranking(ranking, valid.labels, ks=(5,), filtered=valid.filtered).metrics["nDCG@5"]

    return with_weight(model, max(GRID, key=worth))


def with_weight(model: Elias, weight: float) -> Elias:
    """A model whose index has more or less of a say."""
    assert model.graphed is not None
    return replace(model, graphed=replace(model.graphed, belief_weight=weight))


GRID = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
RANKED = 20  # labels, of which evaluation may take some out before it looks at the first five
UNCHOSEN = 0.5  # what ŷ weighs while the ranker learns, and where no documents can choose


# -- what it takes -----------------------------------------------------------------------------------------------------


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the encoder's size and the lengths of the texts."""
    entries, n_labels = features_expected(corpus.documents, config.words), corpus.n_labels
    n_clusters = max(1, 2 * n_labels // config.labels_per_cluster)
    if config.encoder == BAG:
        dim = config.bag.dim
        encoder = dim * tokens_expected(corpus.documents, config.words, config.bag.subwords)
        kept = config.stage_1.optim.batch_size * dim
    else:
        size, reading = size_of(config.encoder), config.reading
        dim, encoder = min(reading.layers, size.layers) * size.hidden, size.parameters
        read = size.layers * config.stage_1.optim.batch_size * reading.max_tokens
        kept = read * (20 * size.hidden + 12 * reading.max_tokens)
    edges = n_clusters * min(n_labels, config.edges or 10 * config.labels_per_cluster)
    parameters = encoder + dim * (n_labels + n_clusters) + edges
    found = 8 * config.stage_1.optim.batch_size * min(config.walk.shortlist, n_labels) * 20
    vectors = 4 * dim * len(corpus)
    # Weights have a gradient, two moments and an average; a run keeps two stages, a checkpoint and the model.
    memory = WITH_TORCH + 20 * parameters + 4 * kept + found + 24 * entries + vectors
    return Need(parameters, memory=memory, disk=40 * parameters + 24 * entries + 2 * vectors)
