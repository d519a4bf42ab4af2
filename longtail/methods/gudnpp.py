"""GUDN++: a transformer finds a hundred labels (GUDN), sparse classifiers on all words of the text rank them.

Our own, after ELIAS++ (Gupta et al., NeurIPS 2022, section 3.5); docs/methods/gudnpp.md.

    text ──GUDN──► 100 labels ──sparse ranker on TF-IDF──► scores ──tree, by label frequency──► score

How they are ranked is in shared/reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.methods import gudn
from longtail.methods.shared import reranked
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.reranked import Reranked, Reranking
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Config(Reranking):
    """GUDN, and what ranks its proposals."""

    gudn: gudn.Config = setting(gudn.Config(), "what proposes labels; its seed is this method's")


@dataclass(frozen=True)
class GudnPlusPlus(Reranked):
    """An encoder with its heads, and a ranker of what they propose."""

    proposer: ClusteredEncoder


def fit(corpus: Corpus, config: Config, run: Run) -> GudnPlusPlus:
    """GUDN, then the ranker."""

    def learn(train: Corpus, run: Run) -> ClusteredEncoder:
        return gudn.fit(train, replace(config.gudn, seed=config.seed), run)

    return reranked.rerank(GudnPlusPlus, corpus, config, config.gudn.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimated memory and disk of both parts."""
    return reranked.need(gudn.need(corpus, config.gudn), corpus, config, config.gudn.encoding)
