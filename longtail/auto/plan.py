"""The plan of `train auto`: steps in order, with estimated time, memory and size.

Seconds of processor time were fitted to trainings with default settings on two cores (benchmarks/auto.py); what a
machine needs for a product of matrices, compared with the one they were fitted on, scales them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from longtail import config as settings_of
from longtail.auto.settings import Config
from longtail.corpus import Corpus
from longtail.kernels.threads import available_cores
from longtail.methods import method
from longtail.train.machine import size
from longtail.train.need import Need


@dataclass(frozen=True)
class Step:
    """One model to train, and what that takes."""

    method: str
    settings: dict[str, Any]
    seconds: float
    need: Need
    name: str  # of the run of this member
    processor: float = 0.0  # seconds of all cores together

    @property
    def model_bytes(self) -> int:
        """Bytes of the model: four for each parameter."""
        return 4 * self.need.parameters

    @property
    def expected(self) -> dict[str, Any]:
        """What will be compared with what was taken (spent.py)."""
        return {"seconds": round(self.seconds, 1), "processor": round(self.processor, 1), "peak": self.need.memory}

    def __str__(self) -> str:
        what = f"{duration(self.seconds)}, {size(self.need.memory)} of memory, {size(self.need.disk)} of disk"
        return f"{self.name}: about {what}, a model of at most {size(self.model_bytes)}"


@dataclass(frozen=True)
class Size:
    """Corpus statistics that determine training time."""

    documents: int
    kilobytes: float  # of a document's text; of features, 10 bytes for each

    @classmethod
    def of(cls, corpus: Corpus) -> Size:
        """Measure all documents."""
        given = corpus.documents
        count = max(len(corpus), 1)
        if given.texts is not None:
            return cls(count, float((given.texts.stops - given.texts.starts).sum()) / 1000 / count)
        assert given.features is not None
        return cls(count, given.features.nnz / 100 / count)


# Processor seconds of each kind on the machine that they were measured on.
PROCESSOR_SECONDS: dict[str, Callable[[Size], float]] = {
    "centroid": lambda of: of.documents * (1e-5 + 1e-4 * of.kilobytes),
    "linear-3": lambda of: of.documents * (1.5e-4 * (of.documents / 34_000) ** (1 / 3) + 2e-4 * of.kilobytes),
    "linear": lambda of: of.documents * (1e-4 * (of.documents / 34_000) ** (1 / 3) + 1.4e-4 * of.kilobytes),
    "decaf": lambda of: 10 + of.documents * (4.7e-3 + 5.4e-4 * of.kilobytes),
    "elias++": lambda of: 15 + of.documents * (7.2e-3 + 8e-4 * of.kilobytes),
    "lightxml": lambda of: 60 + of.documents * 0.1,  # MiniLM, 32 tokens, three epochs
}
PRODUCT_SECONDS = 0.036  # of processor time, for the product of two matrices of 1,024 × 1,024, on that machine
START_SECONDS = 2  # reading, compiled code, saving


@dataclass(frozen=True)
class Kind:
    """A kind of model to try: default settings or others, and cheaper ones where time is short."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    quicker: dict[str, Any] = field(default_factory=dict)
    share: float = 0.5  # what the quicker one takes
    called: str = ""  # where there are several kinds of one method

    @property
    def name(self) -> str:
        """Of its run."""
        return self.called or self.method


KINDS = (
    Kind("linear"),
    Kind("centroid"),  # finds rare labels, by one document
    # Three trees without negatives from other clusters, as Bonsai: better where labels are incomplete.
    Kind("linear", {"trees": 3, "negatives": 0, "belief_weight": 1.0}, called="linear-3"),
    Kind("decaf", quicker={"optim.epochs": (2, 2, 6), "optim.average_from": 3}),
    Kind("elias++", quicker={"elias.optim.epochs": (1, 4), "elias.optim.average_from": 2}),
)


def planned(corpus: Corpus, config: Config) -> list[tuple[Step, Step | None]]:
    """Models to train, cheap ones first, each with a quicker version where there is one."""
    of, slower = Size.of(corpus), slowness()
    kinds = list(KINDS)
    if config.encoder is not None:
        kinds.append(
            Kind("lightxml", {"encoder": config.encoder, "label_start": "texts", "transformer.max_tokens": 32})
        )
    return [(_step(kind, of, slower, corpus, config), _quicker(kind, of, slower, corpus, config)) for kind in kinds]


def _step(kind: Kind, of: Size, slower: float, corpus: Corpus, config: Config) -> Step:
    given = kind.settings | {"seed": config.seed}
    processor = START_SECONDS + PROCESSOR_SECONDS[kind.name](of) * slower
    known = method(kind.method)
    need = known.need(corpus, settings_of.build(known.Config, settings_of.nested(given)))
    return Step(
        kind.method, given, START_SECONDS + (processor - START_SECONDS) / working_cores(), need, kind.name, processor
    )


def _quicker(kind: Kind, of: Size, slower: float, corpus: Corpus, config: Config) -> Step | None:
    if not kind.quicker:
        return None
    whole = _step(kind, of, slower, corpus, config)
    settings = whole.settings | kind.quicker
    seconds, processor = whole.seconds * kind.share, whole.processor * kind.share
    return Step(kind.method, settings, seconds, whole.need, f"{kind.name}-quick", processor)


def working_cores() -> float:
    """Cores that a training keeps busy; two do the work of 1.8, more help less."""
    return available_cores() ** 0.85


def slowness() -> float:
    """Processor time of this machine for the same work, as a share of that of the measured one; the best of five."""
    rows = np.ones((1024, 1024), np.float32)
    taken = []
    for _ in range(5):
        started = time.process_time()
        rows @ rows
        taken.append(time.process_time() - started)
    return min(max(min(taken) / PRODUCT_SECONDS, 0.2), 20.0)


def duration(seconds: float) -> str:
    """Format a duration for people.

    >>> duration(42), duration(100), duration(4000)
    ('42 s', '1 min 40 s', '1 h 6 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
