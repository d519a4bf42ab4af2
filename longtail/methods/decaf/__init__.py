"""DECAF: label classifiers computed from label texts, on a shortlist of label clusters and a small encoder.

Mittal et al., WSDM 2021, arXiv:2108.00368.  Differences and their reasons: docs/methods/decaf.md.

    text ──bag, block──► x̂ ──⟨h_m, x̂⟩──► clusters ──their labels──► ⟨w_l, x̂⟩ ──► σ(label)·σ(cluster)

    paper      here              meaning
    E          vectors           token vectors, shared by documents and label texts (encoders/bag.py)
    ℰ_D, ℰ_L   Block             embedding blocks of documents and of label texts (encoders/learn/bag.py)
    x̂          encode(...)       document vectors
    C, H       Shortlister       clusters of labels and a classifier of each
    ẑ¹, ẑ²     LearningRows      vector of a label's text, and its refinement vector (rankers/learn/label_rows.py)
    W          Ranker            one classifier per label
    Module I   surrogate         train the token vectors on clusters, h_m = ℰ_L(u_m)
    Module II  shortlister       cluster again in the learned space; h_m with refinement
    III, IV    ranker            refinement starts at E z; train on the shortlister's candidates

Inference with a bag needs no torch; training is in learn.py.  `encoder` may be a transformer instead of the paper's
bag of tokens.  Ablations are in ablations.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from longtail.corpus import Corpus, Documents
from longtail.methods.decaf.model import Decaf, Instance
from longtail.methods.decaf.settings import VARIANTS, Config, Variant

if TYPE_CHECKING:
    from longtail.encoders.encoder import Encoder
    from longtail.methods.decaf.learn import Data
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["OVER_RANKS", "VARIANTS", "Config", "fit", "need"]

OVER_RANKS = True  # can train on several ranks (ranks.py)


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = Variant()) -> Decaf:  # noqa: B008 - frozen
    """Learn the vocabulary, train module I, and for every instance modules II to IV."""
    from longtail.encoders.learn.encoder import source_of
    from longtail.methods.decaf.learn import Data, cluster_by_words, learn_surrogate
    from longtail.methods.shared.preparation import reader_of, refuse_unlabelled

    refuse_unlabelled(corpus)
    reader = reader_of(Documents(corpus.texts), corpus.label_set, config.encoding, run)
    source = source_of(
        corpus, corpus.none_of("valid"), config.encoding, config.seed, run.stage, reader, label_texts=True
    )
    clusters = run.stage("clusters", cluster_by_words, corpus, source, config.labels_per_cluster, config.seed)
    data = Data(source, corpus.labels)
    surrogate = learn_surrogate(data, clusters, config, run)
    return Decaf([grow(data, surrogate, config, run, number, variant) for number in range(config.instances)])


def grow(data: Data, surrogate: Encoder, config: Config, run: Run, number: int, variant: Variant) -> Instance:
    """Train modules II to IV of one instance, from the encoder of module I."""
    from longtail.methods.decaf.learn import cluster_by_vectors, learn_ranker, learn_shortlister, rest
    from longtail.methods.decaf.stages import shortlists

    source, labels, size, seed = data.source, data.labels, config.labels_per_cluster, config.seed + number
    clusters = run.stage(f"clusters-{number}", cluster_by_vectors, labels, source, surrogate, size, seed)
    shortlister = learn_shortlister(data, clusters, surrogate, variant, config, run, number)
    read = source.read_train()
    opened = run.stage(f"shortlists-{number}", shortlists, read, labels, clusters, shortlister, config.recall)
    rest(shortlister.encoder)
    start = source.first if config.afresh and not variant.lite else shortlister.encoder
    ranker = learn_ranker(data, clusters, opened, start, variant, config, run, number)
    in_order = replace(ranker, rows=replace(ranker.rows, clusters=clusters))
    return Instance(shortlister, in_order, opened.shape[1], config.belief_weight)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimate resources from encoder size and text lengths; checked against measured runs."""
    from longtail.encoders.cost import expected
    from longtail.train.need import WITH_TORCH, Need

    takes = expected(corpus.documents, config.encoding, config.optim.batch_size)
    n_rows = min(corpus.n_labels, 50_000) + corpus.n_labels + corpus.n_labels // config.labels_per_cluster
    parameters = 2 * takes.parameters + takes.dim * (n_rows + 2 * takes.dim)
    # Per weight of a table: gradient, two moments and a checkpoint; per instance: two encoders; per document: its
    # opened clusters and its pool of negatives.
    memory = WITH_TORCH + 24 * parameters + 4 * takes.kept + takes.stored + 4000 * len(corpus)
    return Need(parameters, memory, disk=16 * parameters * config.instances + takes.stored + 4000 * len(corpus))
