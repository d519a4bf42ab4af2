"""LightDXML: labels embedded beside documents, the nearest of them ranked by one-vs-all classifiers, in a cycle.

Mishra et al., IJCNN 2023, arXiv:2304.11045.  Where we differ on purpose, docs/methods/lightdxml.md says why.

    text ──bag, residual──► x̂ ──cosine──► nearest labels ──⟨w_l, x̂⟩──► β·σ(classifier) + (1 − β)·σ(cosine)
                             ▲                 ▲
             step 4 moves it │          step 2 │ label vectors from the mean of their documents' x̂

    paper      here            meaning
    Ẑ_x, x̂     Encoder         document vectors: a bag of token vectors and a residual layer
    μ_l        centroids       the mean of the vectors of a label's documents
    Z_l, ŷ     LabelEncoder    two linear layers from centroids to label vectors, in the space of documents
    S_k        Nearest         the k labels with the largest cosine (index/nearest.py)
    Z, W       Fusion          one classifier a label, and β (rankers/fusion.py)
    ê_label    reindex         epochs of the classifier after which steps 2 and 3 are taken again

Predicting needs no torch; what learns is in lightdxml/learn.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import Corpus, Documents, LabelSet, Texts
from longtail.errors import ConfigError, CorpusError
from longtail.features.bags import features_expected
from longtail.features.reading import Reader, tokens_expected
from longtail.features.tfidf import TfidfOptions
from longtail.features.vectors import first_vectors
from longtail.index.nearest import Search
from longtail.judge.frequencies import Frequencies
from longtail.judge.gains import METRICS
from longtail.judge.metrics import evaluate_ranking
from longtail.methods.lightdxml.model import LightDXML
from longtail.train.run import WITH_TORCH, Need, Run


@dataclass(frozen=True)
class Labels:
    """How the label encoder learns (step 2)."""

    epochs: int = setting(1, "times every document is read, each time the encoder is trained", "Table V: 4 to 8")
    lr: float = setting(1e-3, "peak learning rate", "released configs: 2e-4 to 3e-3")
    batch_size: int = setting(256, "documents in a batch", "released configs: 256 or 512 pairs")
    hidden: int | None = setting(None, "width between the two layers, D̂; none: as wide as vectors", "600 to 2400")
    start: Literal["identity", "random"] = setting("identity", "layers before they learn: identity is the mean itself")
    relu: bool = setting(False, "label vectors are cut off at zero", "Eq. 4 does, the authors' code does not")


@dataclass(frozen=True)
class Classifiers:
    """How document encoder and classifiers learn (step 4)."""

    epochs: int = setting(10, "times every document is read", "Table V: 16 or 21")
    lr: float = setting(0.01, "peak learning rate", "Table V: 0.006 to 0.009")
    batch_size: int = setting(128, "documents in a batch", "released configs: 255")
    dropout: float = setting(0.3, "share of a layer's output dropped while learning", "released configs: 0.5")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning", "0")
    negatives: int = setting(
        40, "labels of its shortlist each document brings to its batch, where all meet them; 0: each its whole own", "0"
    )
    start: Literal["labels", "random"] = setting("random", "rows before they learn: label vectors, or random", "random")
    averaged: int = setting(5, "last epochs after which weights are taken and averaged; 0 keeps the last alone", "0")

    def __post_init__(self) -> None:
        if not (0 <= self.dropout < 1 and 0 <= self.words_dropped < 1):
            raise ConfigError("classifiers.dropout and classifiers.words_dropped are shares: from 0 to below 1")
        if self.epochs < 1:
            raise ConfigError(f"classifiers.epochs = {self.epochs}: it must be at least 1")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/lightdxml/paper.toml has the paper's."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become tokens with weights")
    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    label_text: Literal["none", "labels", "all"] = setting(
        "labels", "a label's own text is read as one of its documents: nowhere, by the label encoder, or by all", "none"
    )
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "length of token, document and label vectors", "released configs: 300")
    shortlist: int = setting(200, "labels proposed for a document, k", "Table V: 500 to 650")
    reindex: int = setting(5, "epochs of the classifiers between two trainings of the label encoder", "Table V: 4 to 9")
    labels: Labels = setting(Labels(), "label encoder")
    classifiers: Classifiers = setting(Classifiers(), "document encoder and classifiers")
    search: Search = setting(Search(), "how the nearest labels are found")
    beta: float | None = setting(None, "share of the classifier in a score; none: chosen on validation", "Table V")
    metric: str = setting("nDCG@5", "what β is chosen by, as PSP@5")
    valid_documents: int = setting(1000, "documents held out of training to choose β by, a tenth of all at most")
    seed: int = setting(0, "draws first weights, order, negatives and dropout")

    def __post_init__(self) -> None:
        if self.shortlist < 1 or self.reindex < 1 or self.dim < 1:
            raise ConfigError("shortlist, reindex and dim are at least 1")
        if self.labels.start == "identity" and (self.labels.hidden or self.dim) < self.dim:
            raise ConfigError(
                f"labels.hidden = {self.labels.hidden}: nothing narrower than dim can start as the identity"
            )
        if self.beta is not None and not 0 <= self.beta <= 1:
            raise ConfigError(f"beta = {self.beta}: it is a share, from 0 (shortlist alone) to 1 (classifier alone)")
        if self.metric not in (known := [f"{name}@{k}" for name in METRICS for k in (1, 3, 5)]):
            raise ConfigError(f"metric = {self.metric!r}: it must be one of {', '.join(known)}")


# -- the six steps -----------------------------------------------------------------------------------------------------


def fit(corpus: Corpus, config: Config, run: Run) -> LightDXML:
    """Words; then label vectors, shortlists and classifiers in turn; then β."""
    from longtail.methods.lightdxml.learn import learn

    train, valid = corpus.hold_out(config.valid_documents if config.beta is None else 0, config.seed)
    if train.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")
    everything = with_label_texts(train, wanted=config.label_text != "none")
    reader = run.stage("words", learn_words, everything.documents, config.words, config.subwords)
    data = Data(run.stage("documents", read, reader, everything.documents), everything.labels)
    vectors = run.stage("vectors", first_vectors, reader.vocabulary, config.vectors, config.dim, config.seed)
    classified = data if config.label_text == "all" else data.first(len(train))
    encoder, nearest, fusion = learn(data, classified, vectors, config, run)
    model = LightDXML(reader, encoder, nearest, fusion, config.shortlist)
    if config.beta is None and valid.labels.nnz:
        model = replace(model, fusion=replace(fusion, beta=choose_beta(model, train, valid, config, run)))
    return model


# -- stages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """What every step learns from."""

    documents: sp.csr_array  # x: (documents, tokens)
    labels: sp.csr_array  # y: (documents, labels)

    def __len__(self) -> int:
        return self.documents.shape[0]

    def first(self, count: int) -> Data:
        """Without the label texts, which stand behind the documents."""
        return Data(self.documents[:count], self.labels[:count])


def learn_words(documents: Documents, options: TfidfOptions, subwords: int) -> Reader:
    """Which tokens there are and what they weigh."""
    return Reader.fit(documents, options, subwords)


def read(reader: Reader, documents: Documents) -> sp.csr_array:
    """Documents as bags of weighed tokens."""
    return reader.bags(documents)


def with_label_texts(corpus: Corpus, wanted: bool) -> Corpus:
    """With each label's text as one more document, which carries that label alone."""
    if not wanted or corpus.documents.texts is None:
        return corpus
    texts = Texts.of(chain(corpus.documents.texts, corpus.label_set.words()))
    own = sp.eye_array(corpus.n_labels, dtype=corpus.labels.dtype, format="csr")
    return Corpus(Documents(texts), sp.csr_array(sp.vstack([corpus.labels, own])), corpus.label_set, corpus.name)


# -- step 6: what to trust ---------------------------------------------------------------------------------------------

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def choose_beta(model: LightDXML, train: Corpus, valid: Corpus, config: Config, run: Run) -> float:
    """The β that ranks the held-out documents best."""
    x = model.encoder.documents(model.reader.rows(valid.documents))
    shortlist = model.nearest.find(x, model.shortlist)
    hidden, seen = (
        own_labels(valid.documents, valid.label_set, config.label_text != "none"),
        Frequencies.of(train.labels),
    )
    judged = {}
    for beta in GRID:
        ranking = replace(model.fusion, beta=beta).rank(x, shortlist, 5 + 1)
        judged[beta] = evaluate_ranking(ranking, valid.labels, train=seen, filtered=hidden).metrics
        run.log("beta", beta=beta, **judged[beta])
    best = max(GRID, key=lambda beta: judged[beta][config.metric])
    run.validation = judged[best]
    return best


def own_labels(documents: Documents, label_set: LabelSet, read: bool) -> sp.csr_array | None:
    """Documents whose text is the very text of a label, which the model has read as a document of that label."""
    if not read or documents.texts is None:
        return None
    label_of = {text: label for label, text in enumerate(label_set.words())}
    found = [label_of.get(text) for text in documents.texts]
    rows = [row for row, label in enumerate(found) if label is not None]
    columns = [label for label in found if label is not None]
    entries = np.ones(len(rows), np.float32), (rows, columns)
    return sp.csr_array(entries, shape=(len(found), len(label_set)))


# -- what it takes -----------------------------------------------------------------------------------------------------


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the lengths of the texts, checked against measured runs."""
    entries = features_expected(corpus.documents, config.words)
    tokens = tokens_expected(corpus.documents, config.words, config.subwords) + min(corpus.n_labels, 50_000)
    parameters = config.dim * (tokens + 2 * corpus.n_labels + 3 * config.dim)
    documents = len(corpus) + corpus.n_labels * (config.label_text == "all")
    turns = -(-config.classifiers.epochs // config.reindex)
    shortlists = 4 * documents * min(config.shortlist, corpus.n_labels)
    # A table that learns has a gradient, two moments and, at times, a checkpoint beside it; a turn keeps shortlists.
    memory = WITH_TORCH + 24 * parameters + 24 * entries + 8 * documents * config.dim + shortlists
    return Need(parameters, memory=memory, disk=16 * parameters + 24 * entries + turns * shortlists)
