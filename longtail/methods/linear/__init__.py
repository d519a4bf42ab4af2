"""Linear: one sparse classifier a label, found by descending a tree of label clusters.

Parabel (Prabhu et al., WWW 2018), Bonsai (Khandagale et al., 2020) and XR-Linear (Yu et al., PECOS, JMLR 2022).
What differs on purpose, and why, is in docs/methods/linear.md.

    document --TF-IDF--> x --level 1--> beam of clusters --level 2--> ... --last level--> labels

    papers       here           meaning
    PIFA         centroids      a label as the normalised sum of its documents
    C            tree           which cluster a label hangs on
    M            shortlist      the documents a classifier is trained on: those that reach its parent
    W            weights        one classifier for every child of every cluster
    l3-hinge     belief         how a margin becomes a number in [0, 1]; beliefs multiply along a path
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longtail.corpus import Corpus
from longtail.methods.linear.model import Linear
from longtail.methods.linear.settings import POWERS, Config

if TYPE_CHECKING:
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["CPU_ONLY", "Config", "fit", "need"]

CPU_ONLY = True  # nothing here learns with torch


def fit(corpus: Corpus, config: Config, run: Run) -> Linear:
    """Words, features, and for every tree its clusters and one set of classifiers a level."""
    from longtail.features.bags import Bags
    from longtail.methods.linear.stages import grow
    from longtail.methods.shared.preparation import refuse_unlabelled
    from longtail.rankers.frequent import label_shares

    refuse_unlabelled(corpus)
    bags = run.stage("words", Bags.fit, corpus.documents, config.words)
    features = run.stage("features", bags.rows, corpus.documents)
    descents = [grow(features, corpus.labels, config, run, number) for number in range(1, config.trees + 1)]
    walk = config.beam, POWERS[config.belief], config.belief_weight
    return Linear(bags, descents, *walk, label_shares(corpus.labels))


def need(corpus: Corpus, config: Config) -> Need:
    """Estimate from counts alone, checked against measured runs."""
    from longtail.methods.linear import stages

    return stages.need(corpus, config)
