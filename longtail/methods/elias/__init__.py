"""ELIAS: an index that learns with the classifier: clusters lead to labels by edges whose weights are trained.

Gupta et al., NeurIPS 2022, arXiv:2210.08410.  Where we differ on purpose, docs/methods/elias.md says why.

    text ──encoder──► φ ──Ŵ_C──► clusters ──A──► K labels with the best paths ──W_L──► σ(label)·belief

    paper        here           meaning
    φ            Encoder        document vector: a bag of tokens or a transformer (encoders/encoder.py)
    Ŵ_C, A       GraphIndex     which clusters a document opens, and which labels these lead to (index/graph.py)
    b, α, β, K   Walk           clusters opened, how many are sure at once, edges likewise, labels ranked
    κ            edges          edges of a cluster
    ŷ            belief         in a label: the best path to it
    W_L          Graphed        a classifier a label (rankers/graphed.py)
    λ            shortlist_loss weight of (8)
    stage 1, 2   Stage          every label on its one cluster; then A, grown from what stage 1 opens, learns too

Predicting with a bag needs no torch; what learns is in learn/, the paper's one-vs-all (Table 2) in ablations.py.
"""

from __future__ import annotations

from longtail.corpus import Corpus
from longtail.encoders.encoder import expected
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import VARIANTS, Config, Variant, with_encoder
from longtail.methods.elias.stages import prepare, weighed
from longtail.train.run import WITH_TORCH, Need, Run

__all__ = ["VARIANTS", "Config", "fit", "need"]


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "learned") -> Elias:
    """Words and clusters; stage 1; the graph; stage 2."""
    config = with_encoder(config)
    data = prepare(corpus, config, run)
    if variant == "one-vs-all":
        from longtail.methods.elias.ablations import learn_one_vs_all

        return learn_one_vs_all(data, config, run)
    from longtail.methods.elias.learn.stages import learn

    model = learn(data, config, run, variant)
    return weighed(model, data.valid) if config.ranker.belief_weight is None else model


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the encoder's size and the lengths of the texts."""
    takes = expected(corpus.documents, config.encoding, config.optim.batch_size)
    n_labels, n_clusters = corpus.n_labels, max(1, 2 * corpus.n_labels // config.labels_per_cluster)
    edges = n_clusters * min(n_labels, config.edges or 10 * config.labels_per_cluster)
    parameters = takes.parameters + takes.dim * (n_labels + n_clusters) + edges
    found = 8 * config.optim.batch_size * min(config.walk.shortlist, n_labels) * 20
    vectors = 4 * takes.dim * len(corpus)
    # Weights have a gradient, two moments and an average; a run keeps two stages, a checkpoint and the model.
    memory = WITH_TORCH + 20 * parameters + 4 * takes.kept + found + takes.stored + vectors
    return Need(parameters, memory=memory, disk=40 * parameters + takes.stored + 2 * vectors)
