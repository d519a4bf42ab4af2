"""Settings of `train auto`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from longtail.config import setting
from longtail.encoders.encoder import MEANING
from longtail.errors import ConfigError
from longtail.judge.gains import cut_off
from longtail.judge.joining import SHARES


class Preferred(NamedTuple):
    """What counts where no metric is named."""

    metrics: tuple[str, ...]  # a mix is chosen by their mean
    shares: tuple[float, ...]  # of a true label's weight that follows its propensity; the best of these is taken
    floor: str | None = None  # no mix is worse by this than one of its members


PREFERRED = {
    "balanced": Preferred(("nDCG@5", "PSP@5"), (0.25, 0.0), "P@1"),
    "rare": Preferred(("PSP@5",), (1.0,)),
    "frequent": Preferred(("P@5",), (0.0,), "P@1"),
}


@dataclass(frozen=True)
class Config:
    """What may be spent, and what counts."""

    time_limit: float | None = setting(None, "seconds after which the best so far is the model; none: no limit")
    max_size: int | None = setting(None, "bytes that the model may take on disk; none: any")
    prefer: Literal["balanced", "rare", "frequent"] = setting(
        "balanced", "labels that count most: chooses by nDCG@5 and PSP@5, PSP@5 or P@5 unless there is a metric"
    )
    metric: str | None = setting(None, "metric that members are weighed by, such as nDCG@5; none: by `prefer`")
    encoder: str | None = setting(None, f"a transformer to train as well; none: token bags alone. {MEANING}")
    valid_documents: int = setting(4000, "documents held out of train to weigh and calibrate by, at most a tenth")
    use_all: bool = setting(True, "train members again on all documents, after weights are chosen, where time is left")
    seed: int = setting(0, "random seed")

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise ConfigError("time_limit is more than 0 seconds, or none")
        if self.max_size is not None and self.max_size < 1:
            raise ConfigError("max_size is at least 1 byte, or none")
        if self.valid_documents < 1:
            raise ConfigError("valid_documents is at least 1: members are weighed by them")
        for metric in self.metrics:
            cut_off(metric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics whose mean counts."""
        return PREFERRED[self.prefer].metrics if self.metric is None else (self.metric,)

    @property
    def shares(self) -> tuple[float, ...]:
        """How much rare labels may count when weights are learned; for a metric, whatever is best by it."""
        return PREFERRED[self.prefer].shares if self.metric is None else SHARES

    @property
    def floor(self) -> str | None:
        """The metric by which no mix may be worse than one of its members, beside those it is chosen by."""
        return PREFERRED[self.prefer].floor if self.metric is None else None

    @property
    def chosen_by(self) -> str:
        """The metrics in words."""
        return " and ".join(self.metrics)


_PARTS = re.compile(r"\s*(?:(\d+(?:\.\d+)?)\s*h)?\s*(?:(\d+(?:\.\d+)?)\s*m(?:in)?)?\s*(?:(\d+(?:\.\d+)?)\s*s?)?\s*")


def seconds_of(text: str) -> float:
    """A duration as people write it.

    >>> seconds_of("10m"), seconds_of("1h30m"), seconds_of("90s"), seconds_of("45")
    (600.0, 5400.0, 90.0, 45.0)
    """
    found = _PARTS.fullmatch(text)
    total = sum(float(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60, 1))) if found else 0.0
    if not total > 0:
        raise ConfigError(f"time limit {text!r}: write it as 90s, 10m or 1h30m")
    return total
