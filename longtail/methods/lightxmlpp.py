"""LightXML++: a transformer finds a hundred labels (LightXML), sparse classifiers on all words of the text rank them.

Our own, after ELIAS++ (Gupta et al., NeurIPS 2022, section 3.5); docs/methods/lightxmlpp.md.

    text ──LightXML──► 100 labels ──sparse ranker on TF-IDF──► scores ──tree, by label frequency──► score

How they are ranked is in reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.encoders.pretrained import size_of
from longtail.methods import gudn, lightxml, reranked
from longtail.methods.lightxml import LightXML
from longtail.methods.reranked import Reranked, Reranking
from longtail.train.run import Need, Run


@dataclass(frozen=True)
class Config(Reranking):
    """LightXML, and what ranks its proposals."""

    lightxml: lightxml.Config = setting(lightxml.Config(), "what proposes labels; its seed is this method's")


@dataclass(frozen=True)
class LightXMLPlusPlus(Reranked):
    """A transformer with its heads, and a ranker of what they propose."""

    proposer: LightXML


def fit(corpus: Corpus, config: Config, run: Run) -> LightXMLPlusPlus:
    """LightXML, then the ranker."""

    def learn(train: Corpus, run: Run) -> LightXML:
        return lightxml.fit(train, replace(config.lightxml, seed=config.seed), run)

    return reranked.rerank(LightXMLPlusPlus, corpus, config, config.lightxml.recall.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """What both take."""
    return needs(lightxml.need(corpus, config.lightxml), corpus, config, config.lightxml)


def needs(own: Need, corpus: Corpus, config: Reranking, proposer: lightxml.Config | gudn.Config) -> Need:
    """What a transformer that proposes and a ranker take."""
    dim = min(proposer.reading.layers, size_of(proposer.encoder).layers) * size_of(proposer.encoder).hidden
    return reranked.need(own, corpus, config, proposer.recall.words, dim)
