"""Ablation of Table 2: the encoder of ELIAS with one-vs-all classifiers."""

from __future__ import annotations

from longtail.methods.elias.learn.network import Network
from longtail.methods.elias.learn.stages import classifiers_on, read, trained
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import Config
from longtail.methods.elias.stages import Data
from longtail.rankers.learn.graphed import OneVsAll
from longtail.train.loop import seeded
from longtail.train.run import Run


def learn_one_vs_all(data: Data, config: Config, run: Run) -> Elias:
    """Train as long as stage 2, without an index."""
    texts = read(data, config, run)
    with seeded(config.seed):
        encoder = texts.started(config)
        heads = OneVsAll(data.train.n_labels, classifiers_on(encoder, texts, config))
        network = Network(encoder, heads, config.stage(2))
    trained("one-vs-all", network, texts, config, run)
    return Elias(network.encoder.export(), one_vs_all=network.heads.export())
