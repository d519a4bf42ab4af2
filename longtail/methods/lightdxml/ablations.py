"""Astec, which LightDXML is compared with: a surrogate task first, no cycle, a re-ranker at the end.

Dahiya et al., WSDM 2021 (DeepXML).

module I     surrogate     encoder and classifiers of label clusters, each document against all clusters
module II    shortlists    the nearest labels, each at the mean of its documents' vectors; found once
III and IV   classifiers   one for each label, and the encoder's block, on these shortlists; token vectors stay
re-ranker    re-ranker     another encoder with classifiers of its own, on the labels that the first ranks best
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from longtail.encoders.encoder import Encoder
from longtail.encoders.learn.batches import ReadTexts
from longtail.encoders.learn.encoder import Source
from longtail.index.nearest import Nearest, nearest_over
from longtail.index.partition import cluster_targets
from longtail.methods.lightdxml.learn import EXACT_BELOW, Meetings, centroids, started
from longtail.methods.lightdxml.model import RERANKED, LightDXML, Reranker
from longtail.methods.lightdxml.settings import Config
from longtail.methods.shared.preparation import cluster_labels
from longtail.rankers.learn.candidates import Meeting, meeting, together
from longtail.train.run import Run
from longtail.train.settings import as_optim

SMALLEST, MOST_CLUSTERS = 4, 65_536  # labels of a cluster: 1,024 clusters of EURLex-4K in the authors' configs


def learn_astec(
    source: Source, features: sp.csr_array, labels: sp.csr_array, classified: int, config: Config, run: Run
) -> LightDXML:
    """All modules but the re-ranker; documents from `classified` on are label texts, which only move centroids."""
    middle = learn_surrogate(source, features, labels, config, run)
    shortlists = run.stage("shortlists", find_once, source, labels, middle, classified, config)
    network = started(source, labels.shape[1], config, middle)
    for table in network.encoder.tables:
        table.requires_grad_(False)
    meetings = Meetings(source.train, labels[:classified], shortlists, config.negatives)
    run.train("classifiers", network, meetings, as_optim(config.optim), seed=config.seed)
    encoder = network.encoder.export()
    nearest = run.stage("labels-last", at_centroids, source, labels, encoder, config)
    return LightDXML(encoder, nearest, network.fusion(config.beta), config.shortlist)


def learn_surrogate(source: Source, features: sp.csr_array, labels: sp.csr_array, config: Config, run: Run) -> Encoder:
    """Module I: the encoder learns to tell clusters of labels apart."""
    size = max(SMALLEST, -(-labels.shape[1] // MOST_CLUSTERS))
    clusters = run.stage("clusters", cluster_labels, features, labels, None, size, config.seed)
    network = started(source, len(clusters), config)
    batches = AgainstAll(source.train, cluster_targets(labels, clusters))
    return run.train("surrogate", network, batches, as_optim(config.optim), seed=config.seed).encoder.export()


@dataclass(frozen=True)
class AgainstAll:
    """Batches of documents that are scored against every cluster."""

    texts: ReadTexts
    labels: sp.csr_array  # (documents, clusters)
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Length of each document."""
        return self.texts.lengths

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Meeting:
        """The documents at `rows` with all clusters."""
        return meeting(self.texts, rows, together(self.labels[rows], np.arange(self.labels.shape[1])))


def find_once(source: Source, labels: sp.csr_array, encoder: Encoder, asking: int, config: Config) -> np.ndarray:
    """Module II: the nearest labels of the first `asking` documents."""
    documents = encoder.encode(source.read_train())
    nearest = nearest_over(centroids(documents, labels), config.search, EXACT_BELOW)
    return nearest.find_for_many(documents[:asking], config.shortlist)


def at_centroids(source: Source, labels: sp.csr_array, encoder: Encoder, config: Config) -> Nearest:
    """Labels at the mean of their documents."""
    return nearest_over(centroids(encoder.encode(source.read_train()), labels), config.search)


def learn_reranker(
    first: LightDXML, source: Source, labels: sp.csr_array, classified: int, config: Config, run: Run
) -> Reranker:
    """Another network, from scratch, on the labels that the first ranks best."""
    proposed = run.stage("proposed", propose, first, source, classified)
    network = started(source, labels.shape[1], replace(config, seed=config.seed + 1))
    meetings = Meetings(source.train, labels[:classified], proposed, config.negatives)
    run.train("re-ranker", network, meetings, as_optim(config.optim), seed=config.seed + 1)
    return Reranker(network.encoder.export(), network.labels.export())


def propose(first: LightDXML, source: Source, classified: int) -> np.ndarray:
    """The best labels of the training documents, (documents, RERANKED)."""
    vectors = first.encoder.encode(source.read_train())[:classified]
    return first.fusion.rank(vectors, first.nearest.find(vectors, first.shortlist), RERANKED).labels
