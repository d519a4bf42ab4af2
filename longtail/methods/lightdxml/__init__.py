"""LightDXML: labels embedded in the space of documents; the nearest are scored by one-vs-all classifiers.

Mishra et al., IJCNN 2023, arXiv:2304.11045.  Differences and their reasons: docs/methods/lightdxml.md.

    text ──bag, residual──► x̂ ──cosine──► nearest labels ──⟨w_l, x̂⟩──► β·σ(classifier) + (1 − β)·σ(cosine)
                             ▲                 ▲
             step 4 trains it│          step 2 │ label vectors from the mean of their documents' x̂

    paper      here            meaning
    Ẑ_x, x̂     TokenBag        document vectors: token vectors and a residual block (encoders/bag.py)
    μ_l        centroids       the mean of the vectors of a label's documents
    Z_l, ŷ     LabelEncoder    two linear layers from centroids to label vectors, in the space of documents
    S_k        Nearest         the k labels with the largest cosine (index/nearest.py)
    Z, W       Fusion          one classifier per label, and β (rankers/fusion.py)
    ê_label    reindex         epochs of the classifiers between repetitions of steps 2 and 3

Inference with a bag needs no torch; training is in learn.py.  `encoder` may be a transformer instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from longtail.corpus import Corpus
from longtail.methods.lightdxml.model import LightDXML
from longtail.methods.lightdxml.settings import VARIANTS, Config, Variant

if TYPE_CHECKING:
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["VARIANTS", "Config", "fit", "need"]


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "cycle") -> LightDXML:
    """Learn the vocabulary; train label vectors, shortlists and classifiers in turn; choose β."""
    from longtail.encoders.encoder import BAG
    from longtail.encoders.learn.encoder import source_of
    from longtail.features.bags import Reader
    from longtail.methods.lightdxml.learn import learn
    from longtail.methods.lightdxml.stages import choose_beta, with_labels_as_documents
    from longtail.methods.shared.preparation import refuse_unlabelled

    train, valid = corpus.hold_out(config.valid_documents if config.beta is None else 0, config.seed)
    refuse_unlabelled(train)
    everything = with_labels_as_documents(train, wanted=config.label_text != "none")
    reader = None
    if config.encoder == BAG:
        reader = run.stage("words", Reader.fit, everything.documents, config.words, config.bag.subwords)
    nobody = everything.none_of("valid")
    source = source_of(everything, nobody, config.encoding, config.seed, run.stage, reader, block="residual")
    classified = len(everything) if config.label_text == "all" else len(train)
    if variant == "astec":
        from longtail.methods.lightdxml.ablations import learn_astec, learn_reranker

        features, _ = source.features(everything)
        model = learn_astec(source, features, everything.labels, classified, config, run)
    else:
        parts = learn(source, everything.labels, classified, config, run, relu=variant == "relu")
        model = LightDXML(*parts, config.shortlist)
    if config.beta is None and valid.labels.nnz:
        model = replace(model, fusion=replace(model.fusion, beta=choose_beta(model, train, valid, config, run)))
    if variant == "astec":
        again = learn_reranker(model, source, everything.labels, classified, config, run)
        model = replace(model, reranker=again)
    return model


def need(corpus: Corpus, config: Config) -> Need:
    """Estimate resources from encoder size and text lengths; checked against measured runs."""
    from longtail.encoders.cost import expected
    from longtail.train.need import WITH_TORCH, Need

    takes = expected(corpus.documents, config.encoding, config.optim.batch_size)
    parameters = takes.parameters + takes.dim * (min(corpus.n_labels, 50_000) + 2 * corpus.n_labels + takes.dim)
    documents = len(corpus) + corpus.n_labels * (config.label_text == "all")
    turns = -(-config.optim.epochs // config.reindex)
    shortlists = 4 * documents * min(config.shortlist, corpus.n_labels)
    # Per weight of a table: gradient, two moments and a checkpoint; per turn: shortlists.
    memory = WITH_TORCH + 24 * parameters + 4 * takes.kept + takes.stored + 8 * documents * takes.dim + shortlists
    return Need(parameters, memory=memory, disk=16 * parameters + takes.stored + turns * shortlists)
