"""LightXML: recall clusters of labels, then rank the labels inside them, a transformer and both heads as one network.

Jiang et al., AAAI 2021, arXiv:2101.03305.  Where we differ on purpose, docs/methods/lightxml.md says why.

    text ──transformer──► e ──G──► clusters ──their labels──► candidates ──D──► σ(label)·σ(cluster)
                                      └── while learning, this moment's mistakes are D's negatives

    paper    here             meaning
    e        Transformer      what the last layers say of the text (encoders/transformer.py)
    C, g_c   Clusters         which labels lie together (index/clusters.py)
    G        generator        belief in every cluster (rankers/clustered.py)
    b        beam             clusters opened for a document
    S_g      candidates       labels of the opened clusters; while learning, the true ones too
    E, D     discriminator    a vector a label, behind a bottleneck

Predicting needs torch for the transformer alone; what learns is in lightxml/learn.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from longtail.config import setting
from longtail.corpus import Corpus, Documents, LabelSet
from longtail.encoders.pretrained import pretrained, size_of
from longtail.encoders.transformer import Reading, Transformer, center_of
from longtail.errors import ConfigError, CorpusError
from longtail.features.bags import features_expected
from longtail.features.labels import label_centroids, label_features, label_text_bags
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Tokens
from longtail.index.clusters import Clusters, balanced_clusters
from longtail.methods.lightxml.model import LightXML
from longtail.rankers.clustered import each_its_own
from longtail.rankers.label_start import LabelStart, start_from_texts
from longtail.train.run import Need, Run
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Recall:
    """Which labels are looked at for a document."""

    one_vs_all_up_to: int = setting(31_000, "label sets up to this size have no clusters: all are scored", "31,000")
    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "the words by which labels are clustered")
    labels_per_cluster: int = setting(100, "labels in a cluster at most", "authors' code; Table 1: 60 or 80 on average")
    beam: int = setting(75, "clusters opened for a document, b", "authors' code: 75 or 32")
    label_dim: int = setting(400, "length of a label's vector, behind the bottleneck", "Table 1: 400 or 500")
    start: Literal["texts", "random"] = setting(
        "random", "label and cluster vectors before they learn: where the labels' texts point, or random", "random"
    )

    def __post_init__(self) -> None:
        if min(self.labels_per_cluster, self.beam, self.label_dim) < 1:
            raise ConfigError("recall.labels_per_cluster, recall.beam and recall.label_dim are at least 1")


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
        refuse_rates(self.head_lr, self.head_eps)


def refuse_rates(head_lr: float, head_eps: float) -> None:
    """Rates of heads that cannot be."""
    if head_lr <= 0 or head_eps < 0:
        raise ConfigError(
            f"head_lr = {head_lr:g}, head_eps = {head_eps:g}: the first is more than 0, the second 0 or more"
        )


# -- the algorithm -----------------------------------------------------------------------------------------------------


def fit(corpus: Corpus, config: Config, run: Run) -> LightXML:
    """Tokens, clusters, then transformer and heads together."""
    from longtail.methods.lightxml.learn import learn, learn_in_turn

    data = prepare(corpus, config.encoder, config.reading, config.recall, config.valid_documents, config.seed, run)
    if config.negatives == "dynamic":
        return learn(data, config, run)
    if data.flat or len(data.clusters) <= config.recall.beam:
        what = "every label is scored" if data.flat else f"all {len(data.clusters)} clusters are opened"
        raise ConfigError(
            f"negatives = {config.negatives!r}, but for {corpus.n_labels:,} labels {what}, so none are chosen; "
            "lower recall.one_vs_all_up_to, recall.labels_per_cluster or recall.beam"
        )
    return learn_in_turn(data, config, run)


# -- stages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """What a transformer with these heads learns from."""

    start: Transformer
    clusters: Clusters
    train: Corpus
    valid: Corpus
    tokens: Tokens  # of the training documents
    valid_tokens: Tokens

    @property
    def flat(self) -> bool:
        """Whether every label is its own cluster."""
        return len(self.clusters) == len(self.clusters.labels)


def prepare(
    corpus: Corpus, encoder: str, reading: Reading, recall: Recall, valid_documents: int, seed: int, run: Run
) -> Data:
    """Everything there is before the first step; each part is made once a run."""
    if corpus.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")
    train, valid = held_out(corpus, valid_documents, seed)
    texts, valid_texts = train.texts, valid.texts
    start = run.stage("encoder", pretrained, encoder, reading.max_tokens)
    if reading.centred:
        start = replace(start, center=run.stage("center", center_of, start, reading, texts, seed))
    tokens = run.stage("tokens", start.pieces.encode, texts)
    valid_tokens = run.stage("valid-tokens", start.pieces.encode, valid_texts)
    clusters = run.stage("clusters", cluster_labels, train, recall, seed)
    return Data(start, clusters, train, valid, tokens, valid_tokens)


def held_out(corpus: Corpus, documents: int, seed: int) -> tuple[Corpus, Corpus]:
    """What to learn from, and at most so many documents to choose weights by."""
    train, valid = corpus.hold_out(documents, seed)
    return train, valid.subset(valid.drawn(documents, seed), "valid")


def read_labels(
    start: Transformer, reading: Reading, label_set: LabelSet, clusters: Clusters, bottleneck: np.ndarray | None
) -> LabelStart:
    """Where labels and clusters start: what the transformer says of the labels' texts before it learns."""
    texts = label_set.words()
    told = np.array([bool(text.strip()) for text in texts])
    reads = replace(start, layers=reading.layers, pool=reading.pool)
    return start_from_texts(reads.batches(Documents(texts)), told, clusters, bottleneck)


def cluster_labels(corpus: Corpus, recall: Recall, seed: int) -> Clusters:
    """C: balanced clusters by the words of the labels' documents; a label without any lies where its text puts it."""
    if corpus.n_labels <= recall.one_vs_all_up_to or recall.labels_per_cluster == 1:
        return each_its_own(corpus.n_labels)
    tfidf = Tfidf.fit(corpus.texts, recall.words)
    centroids = label_centroids(tfidf.transform(corpus.texts), corpus.labels)
    points = label_features(centroids, label_text_bags(tfidf, corpus.label_set))
    return balanced_clusters(points, recall.labels_per_cluster, seed)


# -- what it takes -----------------------------------------------------------------------------------------------------


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the encoder's size and the lengths of the texts."""
    return needs(corpus, config.encoder, config.reading, config.recall, config.optim)


def needs(corpus: Corpus, encoder: str, reading: Reading, recall: Recall, optim: Optim) -> Need:
    """What a transformer with these heads takes."""
    size = size_of(encoder)
    dim, n_labels = min(reading.layers, size.layers) * size.hidden, corpus.n_labels
    if n_labels <= recall.one_vs_all_up_to:
        heads = n_labels * dim
    else:
        heads = 2 * n_labels // recall.labels_per_cluster * dim + recall.label_dim * (dim + n_labels)
    parameters = size.parameters + heads
    # A layer keeps about twenty numbers for every one it reads, and one for every pair of tokens in each of its heads.
    read, one = optim.batch_size * reading.max_tokens, 20 * size.hidden + 12 * reading.max_tokens
    kept = read * (one + size.layers * size.hidden) if reading.recompute else read * size.layers * one
    tokens = 4 * reading.max_tokens * len(corpus) + 24 * features_expected(corpus.documents, recall.words)
    # Weights have a gradient, two moments and an average; a run keeps the start, a checkpoint and the end.
    return Need(parameters, memory=20 * parameters + 4 * kept + tokens, disk=28 * parameters + tokens)
