"""DECAF++: DECAF finds a hundred labels by their texts, sparse classifiers on all words of the text rank them.

Our own, after ELIAS++ (Gupta et al., NeurIPS 2022, section 3.5); docs/methods/decafpp.md.

    text ──DECAF──► 100 labels ──sparse ranker on TF-IDF──► scores ──tree, by label frequency──► score

How they are ranked is in shared/reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.methods import decaf
from longtail.methods.decaf.model import Decaf
from longtail.methods.shared import reranked
from longtail.methods.shared.reranked import Reranked, Reranking
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Config(Reranking):
    """DECAF, and what ranks its proposals."""

    decaf: decaf.Config = setting(decaf.Config(), "what proposes labels; its seed is this method's")


@dataclass(frozen=True)
class DecafPlusPlus(Reranked):
    """DECAF, and a ranker of what it proposes."""

    proposer: Decaf


def fit(corpus: Corpus, config: Config, run: Run) -> DecafPlusPlus:
    """DECAF, then the ranker."""

    def learn(train: Corpus, run: Run) -> Decaf:
        return decaf.fit(train, replace(config.decaf, seed=config.seed), run)

    return reranked.rerank(DecafPlusPlus, corpus, config, config.decaf.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """What both take."""
    return reranked.need(decaf.need(corpus, config.decaf), corpus, config, config.decaf.encoding)
