"""LightXML: score clusters of labels, then the labels inside them; encoder and both heads trained as one network.

Jiang et al., AAAI 2021, arXiv:2101.03305.  Differences and their reasons: docs/methods/lightxml.md.

    text ──transformer──► e ──G──► clusters ──their labels──► candidates ──D──► σ(label)·σ(cluster)
                                      └── in training, the current mistakes of G are D's negatives

    paper    here             meaning
    e        Encoder          text vector from the last layers (encoders/transformer.py), or a bag of tokens
    C, g_c   Clusters         clusters of labels (index/clusters.py)
    G        generator        belief in every cluster (rankers/clustered.py)
    b        beam             clusters opened per document
    S_g      candidates       labels of the opened clusters; in training, the true labels too
    E, D     discriminator    one vector per label, after a bottleneck

The network is methods/shared/clustered, also used by GUDN.  `encoder = "bag"` is a bag of tokens, which needs no torch
for inference.  Training is in learn.py, the paper's static negatives (Table 5) in ablations.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longtail.corpus import Corpus
from longtail.methods.lightxml.settings import VARIANTS, Config, Variant
from longtail.methods.shared.clustered.model import ClusteredEncoder

if TYPE_CHECKING:
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["OVER_RANKS", "VARIANTS", "Config", "fit", "need"]

OVER_RANKS = True  # can train on several ranks (ranks.py)


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "dynamic") -> ClusteredEncoder:
    """Tokenize, cluster labels, then train encoder and heads together."""
    from longtail.methods.shared.clustered.stages import prepare

    data = prepare(corpus, config, run)
    if variant == "dynamic":
        from longtail.methods.lightxml.learn import learn

        return learn(data, config, run)
    from longtail.methods.lightxml.ablations import learn_in_turn

    return learn_in_turn(data, config, run, variant)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimate resources from encoder size and text lengths."""
    from longtail.methods.shared.clustered import stages

    return stages.need(corpus, config)
