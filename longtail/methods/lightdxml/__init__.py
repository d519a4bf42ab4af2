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

Predicting needs no torch; what learns is in learn.py.
"""

from __future__ import annotations

from dataclasses import replace

from longtail.corpus import Corpus
from longtail.features.bags import features_expected
from longtail.features.reading import Reader, tokens_expected
from longtail.features.vectors import first_vectors
from longtail.methods.lightdxml.model import LightDXML
from longtail.methods.lightdxml.settings import Config
from longtail.methods.lightdxml.stages import Data, choose_beta, with_labels_as_documents
from longtail.methods.shared.preparation import refuse_unlabelled
from longtail.train.run import WITH_TORCH, Need, Run


def fit(corpus: Corpus, config: Config, run: Run) -> LightDXML:
    """Words; then label vectors, shortlists and classifiers in turn; then β."""
    from longtail.methods.lightdxml.learn import learn

    train, valid = corpus.hold_out(config.valid_documents if config.beta is None else 0, config.seed)
    refuse_unlabelled(train)
    everything = with_labels_as_documents(train, wanted=config.label_text != "none")
    reader = run.stage("words", Reader.fit, everything.documents, config.words, config.subwords)
    data = Data(run.stage("documents", reader.bags, everything.documents), everything.labels)
    vectors = run.stage("vectors", first_vectors, reader.vocabulary, config.vectors, config.dim, config.seed)
    classified = data if config.label_text == "all" else data.first(len(train))
    encoder, nearest, fusion = learn(data, classified, vectors, config, run)
    model = LightDXML(reader, encoder, nearest, fusion, config.shortlist)
    if config.beta is None and valid.labels.nnz:
        model = replace(model, fusion=replace(fusion, beta=choose_beta(model, train, valid, config, run)))
    return model


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
