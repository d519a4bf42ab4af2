"""LightXML: recall clusters of labels, then rank the labels inside them, an encoder and both heads as one network.

Jiang et al., AAAI 2021, arXiv:2101.03305.  Where we differ on purpose, docs/methods/lightxml.md says why.

    text ──transformer──► e ──G──► clusters ──their labels──► candidates ──D──► σ(label)·σ(cluster)
                                      └── while learning, this moment's mistakes are D's negatives

    paper    here             meaning
    e        Encoder          what the last layers say of the text (encoders/transformer.py), or a bag of tokens
    C, g_c   Clusters         which labels lie together (index/clusters.py)
    G        generator        belief in every cluster (rankers/clustered.py)
    b        beam             clusters opened for a document
    S_g      candidates       labels of the opened clusters; while learning, the true ones too
    E, D     discriminator    a vector a label, behind a bottleneck

The network is methods/shared/clustered, which GUDN trains too.  `encoder = "bag"` reads with a bag
of tokens, which needs no torch to predict.  What learns is in learn.py, the paper's static negatives (Table 5) in
ablations.py.
"""

from __future__ import annotations

from longtail.corpus import Corpus
from longtail.methods.lightxml.settings import VARIANTS, Config, Variant
from longtail.methods.shared.clustered import stages
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.train.run import Need, Run

__all__ = ["VARIANTS", "Config", "fit", "need"]


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "dynamic") -> ClusteredEncoder:
    """Tokens, clusters, then encoder and heads together."""
    data = stages.prepare(corpus, config, run)
    if variant == "dynamic":
        from longtail.methods.lightxml.learn import learn

        return learn(data, config, run)
    from longtail.methods.lightxml.ablations import learn_in_turn

    return learn_in_turn(data, config, run, variant)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the encoder's size and the lengths of the texts."""
    return stages.need(corpus, config)
