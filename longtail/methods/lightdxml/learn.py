"""Training of LightDXML: label encoder and classifiers in turn.

epoch of the classifiers    0         ê         2ê        ...       the last
step 2: label vectors       train     train     train               train
step 3: shortlists          find      find      find
step 4: classifiers         train ê   train ê   train ê   ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.encoder import Encoder
from longtail.encoders.learn.bag import array
from longtail.encoders.learn.batches import ReadTexts
from longtail.encoders.learn.encoder import LearningEncoder, Source
from longtail.index.nearest import Nearest, nearest_over
from longtail.methods.lightdxml.settings import Config, LabelEncoding
from longtail.methods.shared.learn.groups import encoder_groups, table_group
from longtail.rankers.fusion import Fusion
from longtail.rankers.learn.candidates import (
    Candidates,
    Meeting,
    apart,
    meeting,
    meeting_loss,
    together,
)
from longtail.rankers.learn.label_rows import LearningRows
from longtail.train.health import check_vectors
from longtail.train.loop import seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim, as_optim


@dataclass(frozen=True)
class Layers:
    """Weights of the label encoder, passed from one turn to the next."""

    first: np.ndarray  # W⁽¹⁾: (hidden, dim)
    first_offset: np.ndarray
    second: np.ndarray  # W⁽²⁾: (dim, hidden)
    second_offset: np.ndarray
    relu: bool = False  # Eq. 4 as printed: the variant relu


@dataclass(frozen=True)
class Turn:
    """Results of steps 2 and 3."""

    layers: Layers
    nearest: Nearest
    shortlists: np.ndarray  # (documents, k) int32


def learn(
    source: Source, labels: sp.csr_array, classified: int, config: Config, run: Run, relu: bool = False
) -> tuple[Encoder, Nearest, Fusion]:
    """Steps 2 to 5: train label vectors on all documents, classifiers on the first `classified` of them."""
    encoder, network = source.first, None
    layers = replace(first_layers(encoder.dim, config.label_encoder, config.seed), relu=relu)
    often = classified, EXACT_BELOW
    for turn, epoch in enumerate(range(0, config.optim.epochs, config.reindex)):
        found = run.stage(f"labels-{turn}", embed_labels, source, labels, encoder, layers, config, run, turn, *often)
        layers, network = found.layers, network or started(source, labels.shape[1], config)
        meetings = Meetings(source.train, labels[:classified], found.shortlists, config.negatives)
        optim = as_optim(config.optim)
        run.train("classifiers", network, meetings, optim, seed=config.seed, until=epoch + config.reindex)
        encoder = network.encoder.export()
    assert network is not None
    inputs = source, labels, encoder, layers, config, run, turn + 1, 0, 0
    last = run.stage("labels-last", embed_labels, *inputs)
    return encoder, last.nearest, network.fusion(config.beta)


EXACT_BELOW = 100_000  # labels below which exact search over all documents is faster than a graph


# -- steps 2 and 3: label vectors and shortlists -------------------------------------------------------------------


def embed_labels(
    source: Source, labels: sp.csr_array, encoder: Encoder, layers: Layers, config: Config, run: Run, turn: int,
    asking: int, exact_below: int,
) -> Turn:  # fmt: skip
    """Train the label encoder on current document vectors; find the nearest labels of the first `asking` documents."""
    documents = encoder.encode(source.read_train())
    check_vectors(documents, source.has_words, "document vectors", CLASSIFIER_ADVICE.format(config.optim), run)
    means = centroids(documents, labels)
    learning, pairs = config.label_encoder, Pairs(documents, means, labels)
    moves = Optim(epochs=learning.epochs, lr=learning.lr, batch_size=learning.batch_size)
    network = LabelEncoder(layers)
    network = run.train(f"label-encoder-{turn}", network, pairs, moves, seed=config.seed + turn).cpu()
    vectors, advice = network.vectors(means), LABEL_ADVICE.format(learning, "on" if layers.relu else "off")
    check_vectors(vectors, np.asarray(means.any(axis=1)), "label vectors", advice, run)
    nearest = nearest_over(vectors, config.search, exact_below)
    return Turn(network.layers(), nearest, nearest.find_for_many(documents[:asking], config.shortlist))


LABEL_ADVICE = (
    "The label encoder did this, most likely because label_encoder.hidden = {0.hidden}, label_encoder.lr = {0.lr:g}, "
    "and a ReLU on its vectors is {1}; try the method lightdxml, which has no ReLU, label_encoder.hidden = none, or a "
    "smaller label_encoder.lr."
)
CLASSIFIER_ADVICE = "The document encoder did this; try an optim.row_lr smaller than {0.row_lr:g}."


def centroids(documents: np.ndarray, labels: sp.csr_array) -> np.ndarray:
    """μ_l = 1/|P_l| Σ x_i over the documents of label l (5); 0 for a label without documents."""
    counts = np.bincount(labels.indices, minlength=labels.shape[1])
    means = (labels.T.astype(np.float32) @ documents) / np.maximum(counts, 1)[:, None]
    return means.astype(np.float32)


def first_layers(dim: int, learning: LabelEncoding, seed: int) -> Layers:
    """Two initial layers, identity or random."""
    with seeded(seed):
        hidden = learning.hidden or dim
        first, second = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
    if learning.hidden is None:
        for layer in (first, second):
            nn.init.eye_(layer.weight)
            nn.init.zeros_(layer.bias)
    return layers_of(first, second)


def layers_of(first: nn.Linear, second: nn.Linear, relu: bool = False) -> Layers:
    """Detached copies of the weights."""
    return Layers(array(first.weight), array(first.bias), array(second.weight), array(second.bias), relu)


class LabelEncoder(nn.Module):
    """Z_l = W⁽²⁾(W⁽¹⁾ μ_l + b⁽¹⁾) + b⁽²⁾, optionally with the ReLU of Eq. 4."""

    def __init__(self, layers: Layers):
        super().__init__()
        self.first = _linear(layers.first, layers.first_offset)
        self.second = _linear(layers.second, layers.second_offset)
        self.relu = layers.relu

    def forward(self, means: Tensor) -> Tensor:
        """Label vectors (labels, dim) from centroids of that shape."""
        vectors = self.second(self.first(means))  # (4)
        return vectors.relu() if self.relu else vectors

    def loss(self, batch: Pair) -> Tensor:
        """(2): Σ log(1 + ‖x_i − Z_l‖²) over a document's labels, mean over documents."""
        # F.embedding, not [ ]: the gradient of indexing is not deterministic.
        apart = batch.documents[batch.document] - F.embedding(batch.label, self(batch.means))
        return torch.log1p(apart.square().sum(1)).sum() / len(batch.documents)

    def vectors(self, means: np.ndarray) -> np.ndarray:
        """Label vectors (labels, dim); 0 for labels without documents, which would all be equal to the offset."""
        with torch.no_grad():
            vectors = self(torch.from_numpy(means)).numpy()
        vectors[~means.any(axis=1)] = 0
        return vectors

    def layers(self) -> Layers:
        """Initial weights of the next turn."""
        return layers_of(self.first, self.second, self.relu)


def _linear(weight: np.ndarray, offset: np.ndarray) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.array(weight)))
        layer.bias.copy_(torch.from_numpy(np.array(offset)))
    return layer


@dataclass(frozen=True)
class Pair:
    """Documents of a batch and their labels."""

    documents: Tensor  # (batch, dim) x
    means: Tensor  # (labels, dim) μ of every label in the batch
    document: Tensor  # (pairs,) index into `documents`
    label: Tensor  # (pairs,) index into `means`


@dataclass(frozen=True)
class Pairs:
    """Batches for the label encoder."""

    documents: np.ndarray
    means: np.ndarray
    labels: sp.csr_array
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Equal lengths: vectors need no padding."""
        return np.ones(len(self.documents), np.int64)

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Pair:
        """The documents at `rows` and their labels, each label once."""
        true = self.labels[rows]
        inside, places = np.unique(true.indices, return_inverse=True)
        document = np.repeat(np.arange(len(rows)), np.diff(true.indptr))
        arrays = self.documents[rows], self.means[inside], document, places
        return Pair(*(torch.from_numpy(each) for each in arrays))


# -- step 4: document encoder and classifiers ----------------------------------------------------------------------


class Network(nn.Module):
    """A document encoder, and one classifier per label."""

    def __init__(self, encoder: LearningEncoder, labels: LearningRows):
        super().__init__()
        self.encoder, self.labels = encoder, labels

    def loss(self, batch: Meeting) -> Tensor:
        """(7): binary cross-entropy over positives and shortlist, summed per document, mean over documents."""
        rows, biases = self.labels(batch.candidates)
        return meeting_loss(self.encoder.drop(self.encoder(batch.texts)), rows, biases, batch)

    def groups(self, optim: Optim) -> list[Group]:
        """Sparse updates of tokens and labels, dense ones of the encoder's layers."""
        return [
            *encoder_groups(self.encoder, optim),
            *table_group("labels", self.labels.tables, optim.row_lr, optim),
        ]

    def fusion(self, beta: float | None) -> Fusion:
        """Export to NumPy for inference."""
        return Fusion(self.labels.export(), UNCHOSEN_BETA if beta is None else beta)


UNCHOSEN_BETA = 0.75  # as in most released configs, without validation documents


def started(source: Source, n_labels: int, config: Config, start: Encoder | None = None) -> Network:
    """The initial network, on the first encoder unless another is given."""
    with seeded(config.seed):
        rows = nn.init.kaiming_uniform_(torch.zeros(n_labels, source.first.dim), a=5**0.5)
        labels = LearningRows(n_labels, rows)
        encoder = source.started(start or source.first, config.dropout, words_dropped=config.bag.words_dropped)
        return Network(encoder, labels)


@dataclass(frozen=True)
class Meetings:
    """Batches of documents and the candidate labels they are scored against.

    Without `negatives`, the candidates of a document are its true labels and its whole shortlist.  With, all documents
    of a batch share candidates: their true labels, and this many labels sampled from each shortlist.
    """

    texts: ReadTexts
    labels: sp.csr_array
    shortlists: np.ndarray  # (documents, k)
    negatives: int
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Length of each classified document."""
        return self.texts.lengths[: self.labels.shape[0]]

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Meeting:
        """The documents at `rows` with their candidates."""
        return meeting(self.texts, rows, self._candidates(rows, self.labels[rows], rng))

    def _candidates(self, rows: np.ndarray, true: sp.csr_array, rng: np.random.Generator) -> Candidates:
        shortlists, width = self.shortlists[rows], self.shortlists.shape[1]
        if self.negatives:
            places = rng.integers(width, size=(len(rows), min(self.negatives, width)))
            return together(true, np.take_along_axis(shortlists, places, axis=1))
        found = shortlists != PAD
        return apart(true, np.append(0, np.cumsum(found.sum(axis=1))), shortlists[found], with_true=True)  # P_i ∪ S_k
