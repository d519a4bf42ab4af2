"""A trained model as a smaller one: tables in fewer bits, and many rows in two levels.

Nothing here knows a method: every stored class declares which of its arrays may be in fewer bits (precision.py), and
every dense classifier is a LabelRows.
"""

from __future__ import annotations

import dataclasses
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longtail.corpus import PAD, Documents
from longtail.errors import ConfigError
from longtail.invariants import Array, Tables, declared
from longtail.precision import DTYPES, FP16, INT8, all_stored_as, stored_as
from longtail.predict.card import write_card
from longtail.predict.predictor import Predictor, model_of
from longtail.predict.saving import write_model
from longtail.rankers.coarse import FROM, coarsened, ladder
from longtail.rankers.label_rows import LabelRows
from longtail.shortlist import Shortlist
from longtail.train.machine import size, size_on_disk

RECALL = 0.99  # of the labels that an exact scan of the clusters leads to, where there are two levels of them


@dataclass(frozen=True)
class Smaller:
    """A model in fewer bits, and what it and its original take on disk, in bytes."""

    model: Predictor
    precision: str
    before: int
    after: int


def smaller(
    model: Predictor,
    precision: str | None = None,
    max_size: int | None = None,
    sample: Documents | None = None,
    recall: float = RECALL,
) -> Smaller:
    """A model in fewer bits: int8 unless told, and with `max_size` alone in the most bits that fit.

    `sample` are documents like those that will be asked about; without them label texts are taken.  They are read only
    where a model has so many rows that two levels of them may pay, and then find this `recall` of the top labels.
    """
    given = model_of(model)
    if not 0 < recall <= 1:
        raise ConfigError(f"recall {recall}: it is a share of the labels, above 0 and at most 1")
    ready = in_two_levels(given, sample, recall)
    before, sizes = expected_size(given), {wanted: expected_size(ready, wanted) for wanted in DTYPES}
    if precision is None:
        precision = INT8 if max_size is None else next((p for p in DTYPES if sizes[p] <= max_size), INT8)
    stored_as(precision, np.zeros((0, 0), np.float32))  # an unknown precision should not wait for the work
    if max_size is not None and sizes[precision] > max_size:
        least = min(sizes, key=sizes.__getitem__)
        raise ConfigError(
            f"the model takes {size(sizes[precision])} as {precision}, and {size(max_size)} are allowed; "
            f"the smallest it can be is {size(sizes[least])} as {least}"
        )
    return Smaller(in_precision(ready, precision), precision, before, sizes[precision])


def in_precision(value: Any, precision: str) -> Any:  # noqa: ANN401 - any stored value
    """The model with its tables in this precision."""

    def change(part: Any) -> Any:  # noqa: ANN401
        new: dict[str, Any] = {}
        for name, scales in _tables(part):
            new[name], new[scales] = stored_as(precision, getattr(part, name), getattr(part, scales))
        for name, rule in declared(part, Tables):
            fewer = of_layers(precision)
            new[name], new[rule.scales] = all_stored_as(fewer, getattr(part, name), getattr(part, rule.scales))
        return dataclasses.replace(part, **new) if new else part

    return everywhere(value, change)


def of_layers(precision: str) -> str:
    """What the layers of a transformer are stored as: fp16 where rows are int8.

    They are computed as fast in fp16 (kernels/matmul.py), and errors of int8 add up from layer to layer.
    """
    return FP16 if precision == INT8 else precision


def everywhere(value: Any, change: Callable[[Any], Any], made: dict[int, Any] | None = None) -> Any:  # noqa: ANN401
    """A value with `change` applied to each dataclass in it, inner ones first; what does not change stays the same.

    A part that stands in several places is changed once and still stands in all of them, and so it is stored once.
    `made` has what became of the parts so far.
    """
    made = {} if made is None else made
    if isinstance(value, (list, tuple)):
        items = [everywhere(part, change, made) for part in value]
        return value if all(new is old for new, old in zip(items, value)) else type(value)(items)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    if id(value) not in made:
        old = {item.name: getattr(value, item.name) for item in dataclasses.fields(value) if item.init}
        parts = {name: everywhere(part, change, made) for name, part in old.items()}
        changed = {name: part for name, part in parts.items() if part is not old[name]}
        made[id(value)] = change(dataclasses.replace(value, **changed) if changed else value)
    return made[id(value)]


def _tables(part: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """The fields of a dataclass that may be in fewer bits, each with the field of its scales."""
    return ((name, rule.scales) for name, rule in declared(part, Array) if rule.scales is not None)


# -- size --------------------------------------------------------------------------------------------------------------


def expected_size(model: Predictor, precision: str = "fp32") -> int:
    """Bytes that a model takes on disk in a precision, without writing its tables."""
    count = 0

    def emptied(part: Any) -> Any:  # noqa: ANN401
        nonlocal count
        new: dict[str, Any] = {}
        for name, scales in _tables(part):
            rows = getattr(part, name)
            count += _bytes_in(rows, precision)
            new[name], new[scales] = rows[:0], None
        for name, rule in declared(part, Tables):
            arrays = getattr(part, name)
            count += sum(_bytes_in(rows, of_layers(precision)) for rows in arrays.values() if rows.ndim == 2)
            new[name] = {at: rows[:0] if rows.ndim == 2 else rows for at, rows in arrays.items()}
            new[rule.scales] = {at: rows[:0] for at, rows in getattr(part, rule.scales).items()}
        return dataclasses.replace(part, **new) if new else part

    hollow = everywhere(model, emptied)
    with tempfile.TemporaryDirectory() as place:
        write_model(hollow, Path(place) / "model")
        write_card(hollow, Path(place) / "model")
        return count + size_on_disk(Path(place))


def _bytes_in(rows: np.ndarray, precision: str) -> int:
    stored = min(rows.dtype, DTYPES[precision], key=lambda dtype: dtype.itemsize)
    return rows.size * stored.itemsize + 4 * len(rows) * (stored == np.int8)


# -- two levels --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Watched(LabelRows):
    """Rows that remember what they were compared with."""

    asked: list[np.ndarray] = field(default_factory=list)

    def top(self, vectors: np.ndarray, k: int) -> Shortlist:
        self.asked.append(vectors)
        return super().top(vectors, k)

    def choice(self) -> LabelRows | _Choice:
        """The same rows in one level and in two, fitted to every second document that asked; else as they are."""
        plain = LabelRows(self.rows, self.biases, self.clusters, self.scales, self.coarse)
        return _Choice(plain, coarsened(plain, np.concatenate(self.asked)[::2])) if self.asked else plain


@dataclass(frozen=True)
class _Choice:
    """Stands in a model where rows will stand, in one level or in two."""

    exact: LabelRows
    two: LabelRows

    def at(self, rung: int) -> LabelRows:
        """Two levels with so many probes, or behind the last rung one level."""
        assert self.two.coarse is not None
        steps = ladder(self.two)
        if rung >= len(steps):
            return self.exact
        return dataclasses.replace(self.two, coarse=dataclasses.replace(self.two.coarse, probes=steps[rung]))


def in_two_levels(model: Predictor, sample: Documents | None = None, recall: float = RECALL) -> Predictor:
    """The same with two levels wherever a model looks for the top of many rows, and where that pays.

    `recall` is the share of the top 10 labels that the model must still find for documents like the sample.  One half
    of them fits the coarse rows; the other half chooses how many clusters are opened, no more than are needed.  With a
    recall of 1 all rows are compared.
    """
    if recall == 1:
        return model
    watched = everywhere(model, _watched)
    if watched is model or len(documents := _some(model, sample)) < 2:
        return model
    exact = watched.rank(documents, TOP).labels[1::2][:JUDGES]
    choices = everywhere(watched, lambda part: part.choice() if isinstance(part, _Watched) else part)
    judges = documents[np.arange(1, len(documents), 2)[:JUDGES]]

    def enough(rung: int) -> bool:
        return found_of(exact, _chosen(choices, rung).rank(judges, TOP).labels) >= recall

    return _chosen(choices, bisect_left(range(_rungs(choices)), True, key=enough))


TOP, JUDGES = 10, 1000  # labels that must be found, and documents that tell whether they are


def _chosen(choices: Any, rung: int) -> Any:  # noqa: ANN401
    return everywhere(choices, lambda part: part.at(rung) if isinstance(part, _Choice) else part)


def _rungs(choices: Any) -> int:  # noqa: ANN401
    """Number of probe counts to choose from."""
    most = 0

    def see(part: Any) -> Any:  # noqa: ANN401
        nonlocal most
        most = max(most, len(ladder(part.two))) if isinstance(part, _Choice) else most
        return part

    everywhere(choices, see)
    return most


def found_of(exact: np.ndarray, found: np.ndarray) -> float:
    """The share of the exact labels (documents, k) that are among those found, PAD left out.

    >>> found_of(np.array([[1, 2], [3, -1]]), np.array([[2, 5], [3, 4]]))
    0.6666666666666666
    """
    wanted = exact != PAD
    return float((exact[:, :, None] == found[:, None]).any(axis=2)[wanted].mean()) if wanted.any() else 1.0


def _watched(part: Any) -> Any:  # noqa: ANN401
    if type(part) is LabelRows and part.clusters is None and len(part) >= FROM:
        return _Watched(part.rows, part.biases, part.clusters, part.scales, part.coarse)
    return part


def _some(model: Predictor, sample: Documents | None) -> Documents:
    """At most SAMPLE documents, or texts of labels where there are none."""
    if sample is not None:
        return sample[np.sort(np.random.default_rng(0).permutation(len(sample))[:SAMPLE])]
    step = max(1, len(model.labels) // SAMPLE)
    labels = (model.labels[at] for at in range(0, len(model.labels), step))
    return Documents.of(label.text or label.name for label in labels)


SAMPLE = 8000  # documents: a coarse row has a few hundred numbers to fit
