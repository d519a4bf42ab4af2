"""Constants of labels added without training, compared on documents held out of train; test is not looked at.

A fifth of the training documents is held out.  In the rest labels are hidden, a model is trained, and the labels are
added with every combination of values of the method's constants.  Of those that lose at most ALLOWED of P@1 and P@5 on
documents without hidden labels, on every corpus and with every number of examples, the one with the largest mean R@10
is chosen.

`python -m benchmarks.new_labels --choose` runs it and writes results/new_labels_choice.{json,md}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.families import without_families
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.new_labels import EXAMPLES, FALL, Judge, described, hidden_labels, without_labels
from benchmarks.side_by_side import corpus_path
from longtail.corpus import Corpus, Splits
from longtail.data.divide import divide
from longtail.methods.linear import model as linear
from longtail.predict.predictor import Predictor
from longtail.rankers import unseen

SHARE, SEED, HIDDEN = 0.2, 1, 1000
JUDGED = 4000  # held-out documents at most
ALLOWED = {"P@1 of the others": 0.2, "P@5 of the others": 0.5}
FEW = {"optim.epochs": (2, 2, 7), "optim.average_from": 4}


@dataclass(frozen=True)
class Choice:
    """Values of constants of a module, and what they are compared on."""

    method: str
    module: ModuleType
    values: dict[str, tuple[float, ...]]
    corpora: dict[str, int | None]  # training documents at most
    settings: dict[str, int] = field(default_factory=dict)
    finer: dict[str, tuple[float, ...]] = field(default_factory=dict)  # around the best of these values


CHOICES = (
    Choice(
        "linear",
        linear,
        {"LENGTH": (1.3, 0.9, 0.65, 0.4), "BIAS": (-1.0, -0.9, -0.8)},
        {"debian-related": None, "wordnet-related": None},
        finer={"LENGTH": (0.6, 0.55, 0.5), "BIAS": (-0.9,)},
    ),
    Choice(
        "decaf",
        unseen,
        {"FLATTER": (1.0, 0.7, 0.5), "LOWERED": (0.0, 1.0, 1.5), "OF_MANY": (0.6, 0.5)},
        {"debian-related": None, "wordnet-glosses": 20_000},
        FEW,
    ),
)


# -- held-out documents ------------------------------------------------------------------------------------------------


def held_out(train: Corpus, documents: int | None) -> Splits:
    """A part of train, and other documents of train in the place of test."""
    parts = _divided(train)
    rest, held = parts.train, parts.split("test")
    if documents is not None:
        rest = rest.subset(rest.drawn(documents, 3), "train")
    return Splits(rest, held)


def _divided(train: Corpus) -> Splits:
    if train.name == "debian-related":
        return Splits(*without_families(train, SHARE, SEED))
    parts = divide(Splits(replace(train, official_valid=None)), SHARE, seed=SEED)
    held = parts.split("test")
    # As in the test splits, a label whose text is the document is neither right nor wrong.
    label_of = {words: label for label, words in enumerate(train.label_set.words())}
    pairs = [(row, label_of[text]) for row, text in enumerate(held.texts) if text in label_of]
    rows, labels = np.array(pairs, np.int64).reshape(-1, 2).T
    own = sp.csr_array((np.ones(len(rows), np.float32), (rows, labels)), shape=held.labels.shape)
    return Splits(parts.train, replace(held, filtered=own))


# -- comparing ---------------------------------------------------------------------------------------------------------


@contextmanager
def constants(module: ModuleType, values: dict[str, float]) -> Iterator[None]:
    """The module with other constants, for a while."""
    usual = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, np.float32(value))
        yield
    finally:
        for name, value in usual.items():
            setattr(module, name, value)


def compared(choice: Choice, corpus: str, known: dict[str, dict]) -> dict[str, dict]:
    """Metrics of all combinations on one corpus, by number of examples; `known` are those of an earlier call."""
    wanted = combinations(choice.values) | combinations(choice.finer)
    if wanted.keys() <= known.keys():
        return known
    splits = held_out(longtail.load(corpus_path(corpus)).train, choice.corpora[corpus])
    hidden = hidden_labels(splits, HIDDEN, SEED)
    place = Path("runs") / "new_labels" / f"{corpus}-{choice.method}-choose" / "hidden"
    longtail.fit(choice.method, without_labels(splits.train, hidden), run=place, say=print, **choice.settings)
    held = splits.split("test")
    judged = Splits(splits.train, held.subset(held.drawn(JUDGED, 5), "test"))
    model, judge = longtail.open(place / "model"), Judge.of(judged, hidden)
    given = {examples: described(splits.train, hidden, examples, SEED) for examples in EXAMPLES}

    def metrics(ranker: Predictor) -> dict[str, float]:
        return judge.metrics(ranker.rank(judged.split("test").documents, judge.depth))

    found: dict[str, dict] = {FALL: metrics(model)}
    for name, values in wanted.items():
        if name in known:
            found[name] = known[name]
            continue
        with constants(choice.module, values):
            found[name] = {str(examples): metrics(model.add_labels(labels)) for examples, labels in given.items()}
        print(corpus, choice.method, name, summary(found)[name], flush=True)
    return found


def combinations(values: dict[str, tuple[float, ...]]) -> dict[str, dict[str, float]]:
    """All combinations of values of constants, by what they are called."""
    each = [dict(zip(values, combination)) for combination in product(*values.values())] if values else []
    return {", ".join(f"{name} {value:g}" for name, value in one.items()): one for one in each}


def summary(found: dict[str, dict]) -> dict[str, tuple[float, ...]]:
    """R@10 of every number of examples, then the losses of P@1, then those of P@5, by combination."""
    start, rows = found[FALL], {name: list(row.values()) for name, row in found.items() if name != FALL}
    return {
        name: (
            *(each["R@10"] for each in row),
            *(round(start[metric] - each[metric], 2) for metric in ALLOWED for each in row),
        )
        for name, row in rows.items()
    }


def best_of(corpora: dict[str, dict]) -> str | None:
    """The combination that finds most of those that lose little, if there is one."""
    tables = [summary(found) for found in corpora.values()]
    # (corpora, 1 + metrics that fall, numbers of examples) of each
    numbers = {name: np.array([table[name] for table in tables]).reshape(len(tables), -1, len(EXAMPLES))
               for name in set.intersection(*map(set, tables))}  # fmt: skip
    most = np.array(list(ALLOWED.values()))
    modest = [name for name, values in numbers.items() if (values[:, 1:].max(axis=(0, 2)) <= most).all()]
    return max(modest, key=lambda name: numbers[name][:, 0].mean(), default=None)


def markdown(results: dict[str, dict]) -> str:
    """One table a method and corpus."""
    lines = ["# Constants of labels added without training", ""]
    lines += ["Made by `python -m benchmarks.new_labels --choose` on documents held out of train; %.", ""]
    lines += ["R@10 of hidden labels, added by text with 0, 1 and 5 examples; losses on documents without any.", ""]
    for method, corpora in results.items():
        chosen = best_of(corpora)
        lines += [f"## {method}", "", f"Chosen: **{chosen}**." if chosen else "All lose more than is allowed.", ""]
        for corpus, found in corpora.items():
            lines += [f"### {corpus}", ""]
            kinds = [f"{what}, {examples}" for what in ("R@10", "loss P@1", "loss P@5") for examples in EXAMPLES]
            lines += ["| | " + " | ".join(kinds) + " |", "|---" * (1 + len(kinds)) + "|"]
            rows = summary(found).items()
            lines += [f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |" for name, row in rows] + [""]
    return "\n".join(lines)


def main(corpora: list[str] | None = None) -> None:
    """All methods, on these corpora or on all."""
    for choice in CHOICES:
        for corpus in choice.corpora:
            if corpora is None or corpus in corpora:
                results = earlier("new_labels_choice")
                found = compared(choice, corpus, results.get(choice.method, {}).get(corpus, {}))
                results.setdefault(choice.method, {})[corpus] = found
                save("new_labels_choice", results)
                (RESULTS / "new_labels_choice.md").write_text(markdown(results), "utf-8")
