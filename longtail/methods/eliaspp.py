"""ELIAS++: ELIAS finds a hundred labels, sparse classifiers on words and vectors rank them, a tree weighs both scores.

Gupta et al., NeurIPS 2022, section 3.5.  Where we differ on purpose, docs/methods/eliaspp.md says why.

    text ──ELIAS──► 100 labels ──sparse ranker on TF-IDF, or [φ ; TF-IDF]──► scores ──tree, by label frequency──► score

How they are ranked is in shared/reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.methods import elias
from longtail.methods.elias.model import Elias
from longtail.methods.shared import reranked
from longtail.methods.shared.reranked import Reranked, Reranking
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Config(Reranking):
    """ELIAS, and what ranks its proposals."""

    elias: elias.Config = setting(elias.Config(), "what proposes labels; its seed is this method's")


@dataclass(frozen=True)
class EliasPlusPlus(Reranked):
    """ELIAS, and a ranker of what it proposes."""

    proposer: Elias


def fit(corpus: Corpus, config: Config, run: Run) -> EliasPlusPlus:
    """ELIAS, then the ranker."""

    def learn(train: Corpus, run: Run) -> Elias:
        return elias.fit(train, replace(config.elias, seed=config.seed), run)

    return reranked.rerank(EliasPlusPlus, corpus, config, config.elias.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimated memory and disk of both parts."""
    return reranked.need(elias.need(corpus, config.elias), corpus, config, config.elias.encoding)
