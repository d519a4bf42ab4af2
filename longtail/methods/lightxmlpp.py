"""LightXML++: a transformer finds a hundred labels (LightXML), sparse classifiers on all words of the text rank them.

Our own, after ELIAS++ (Gupta et al., NeurIPS 2022, section 3.5); docs/methods/lightxmlpp.md.

    text ──LightXML──► 100 labels ──sparse ranker on TF-IDF──► scores ──tree, by label frequency──► score

How they are ranked is in shared/reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.methods import lightxml
from longtail.methods.shared import reranked
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.reranked import Reranked, Reranking
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Config(Reranking):
    """LightXML, and what ranks its proposals."""

    lightxml: lightxml.Config = setting(lightxml.Config(), "what proposes labels; its seed is this method's")


@dataclass(frozen=True)
class LightXMLPlusPlus(Reranked):
    """An encoder with its heads, and a ranker of what they propose."""

    proposer: ClusteredEncoder


def fit(corpus: Corpus, config: Config, run: Run) -> LightXMLPlusPlus:
    """LightXML, then the ranker."""

    def learn(train: Corpus, run: Run) -> ClusteredEncoder:
        return lightxml.fit(train, replace(config.lightxml, seed=config.seed), run)

    return reranked.rerank(LightXMLPlusPlus, corpus, config, config.lightxml.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """Estimated memory and disk of both parts."""
    return reranked.need(lightxml.need(corpus, config.lightxml), corpus, config, config.lightxml.encoding)
