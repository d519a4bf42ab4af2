"""GUDN++: a transformer finds a hundred labels (GUDN), sparse classifiers on all words of the text rank them.

Our own, after ELIAS++ (Gupta et al., NeurIPS 2022, section 3.5); docs/methods/gudnpp.md.

    text ──GUDN──► 100 labels ──sparse ranker on TF-IDF──► scores ──tree, by label frequency──► score

A trained model is LightXML++'s, as GUDN's is LightXML's.  How labels are ranked is in reranked.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from longtail.config import setting
from longtail.corpus import Corpus
from longtail.methods import gudn, reranked
from longtail.methods.lightxml import LightXML
from longtail.methods.lightxmlpp import LightXMLPlusPlus, needs
from longtail.methods.reranked import Reranking
from longtail.train.run import Need, Run


@dataclass(frozen=True)
class Config(Reranking):
    """GUDN, and what ranks its proposals."""

    gudn: gudn.Config = setting(gudn.Config(), "what proposes labels; its seed is this method's")


def fit(corpus: Corpus, config: Config, run: Run) -> LightXMLPlusPlus:
    """GUDN, then the ranker."""

    def learn(train: Corpus, run: Run) -> LightXML:
        return gudn.fit(train, replace(config.gudn, seed=config.seed), run)

    return reranked.rerank(LightXMLPlusPlus, corpus, config, config.gudn.recall.words, learn, run)


def need(corpus: Corpus, config: Config) -> Need:
    """What both take."""
    return needs(gudn.need(corpus, config.gudn), corpus, config, config.gudn)
