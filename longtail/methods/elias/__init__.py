"""ELIAS: an index trained with the classifiers, a graph from clusters to labels with learned edge weights.

Gupta et al., NeurIPS 2022, arXiv:2210.08410.  Differences and their reasons: docs/methods/elias.md.

    text ──encoder──► φ ──Ŵ_C──► clusters ──A──► K labels with the best paths ──W_L──► σ(label)·belief

    paper        here           meaning
    φ            Encoder        document vector: a bag of tokens or a transformer (encoders/encoder.py)
    Ŵ_C, A       GraphIndex     clusters opened by a document, and edges to labels (index/graph.py)
    b, β, K      Walk           clusters opened, scale of edge scores, candidates
    α            ALPHA          scale of cluster beliefs, 10 (learn/stages.py)
    κ            edges          edges per cluster
    ŷ            belief         belief in a label: its best path
    W_L          Graphed        one classifier per label (rankers/graphed.py)
    λ            shortlist_loss weight of (8)
    stage 1, 2   Stage          every label in one cluster; then A, built from the opened clusters, is trained too

Inference with a bag needs no torch; training is in learn/, the paper's one-vs-all (Table 2) in ablations.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longtail.corpus import Corpus
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import VARIANTS, Config, Variant

if TYPE_CHECKING:
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["OVER_RANKS", "VARIANTS", "Config", "fit", "need"]

OVER_RANKS = True  # can train on several ranks (ranks.py)


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "learned") -> Elias:
    """Learn vocabulary and clusters, train stage 1, build the graph, train stage 2."""
    from longtail.methods.elias.stages import prepare, weighed

    data = prepare(corpus, config, run)
    if variant == "one-vs-all":
        from longtail.methods.elias.ablations import learn_one_vs_all

        return learn_one_vs_all(data, config, run)
    from longtail.methods.elias.learn.stages import learn

    model = learn(data, config, run, variant)
    return weighed(model, data.valid) if config.belief_weight is None else model


def need(corpus: Corpus, config: Config) -> Need:
    """Estimate resources from encoder size and text lengths."""
    from longtail.encoders.cost import expected
    from longtail.train.need import WITH_TORCH, Need

    takes = expected(corpus.documents, config.encoding, config.optim.batch_size)
    n_labels, n_clusters = corpus.n_labels, max(1, 2 * corpus.n_labels // config.labels_per_cluster)
    edges = n_clusters * min(n_labels, config.edges or 10 * config.labels_per_cluster)
    parameters = takes.parameters + takes.dim * (n_labels + n_clusters) + edges
    found = 8 * config.optim.batch_size * min(config.walk.shortlist, n_labels) * 20
    vectors = 4 * takes.dim * len(corpus)
    # Per weight: gradient, two moments and average; on disk: two stages, a checkpoint and the model.
    memory = WITH_TORCH + 20 * parameters + 4 * takes.kept + found + takes.stored + vectors
    return Need(parameters, memory=memory, disk=40 * parameters + takes.stored + 2 * vectors)
