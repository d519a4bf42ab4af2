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

Predicting with a bag encoder needs no torch; what learns is in learn/.
"""

from __future__ import annotations

from longtail.corpus import Corpus
from longtail.encoders.pretrained import size_of
from longtail.encoders.text import BAG
from longtail.features.bags import features_expected
from longtail.features.reading import tokens_expected
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import Config, with_encoder
from longtail.methods.elias.stages import prepare, weighed
from longtail.methods.shared.transformer_reading import vector_length
from longtail.train.run import WITH_TORCH, Need, Run


def fit(corpus: Corpus, config: Config, run: Run) -> Elias:
    """Words and clusters; stage 1; the graph; stage 2."""
    from longtail.methods.elias.learn.stages import learn, learn_one_vs_all

    config = with_encoder(config)
    data = prepare(corpus, config, run)
    if config.index == "none":
        return learn_one_vs_all(data, config, run)
    model = learn(data, config, run)
    return weighed(model, data.valid) if config.ranker.belief_weight is None else model


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
        dim, encoder = vector_length(size, reading), size.parameters
        read = size.layers * config.stage_1.optim.batch_size * reading.max_tokens
        kept = read * (20 * size.hidden + 12 * reading.max_tokens)
    edges = n_clusters * min(n_labels, config.edges or 10 * config.labels_per_cluster)
    parameters = encoder + dim * (n_labels + n_clusters) + edges
    found = 8 * config.stage_1.optim.batch_size * min(config.walk.shortlist, n_labels) * 20
    vectors = 4 * dim * len(corpus)
    # Weights have a gradient, two moments and an average; a run keeps two stages, a checkpoint and the model.
    memory = WITH_TORCH + 20 * parameters + 4 * kept + found + 24 * entries + vectors
    return Need(parameters, memory=memory, disk=40 * parameters + 24 * entries + 2 * vectors)
