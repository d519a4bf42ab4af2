"""Trainings that are only measured: cross-validation, and a search over settings.

Every trial is a run in `runs/NAME` that resumes where it was stopped.  When it is measured, its numbers are kept in
`results/NAME.json` and the run is deleted.  Test documents take no part in either.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from longtail import store
from longtail.config import parse_assignment
from longtail.corpus import Corpus, Splits
from longtail.data.hashes import content_hashes
from longtail.errors import ConfigError, CorpusError, RunError
from longtail.judge.evaluation import evaluate
from longtail.predict.predictor import Predictor

KS = (1, 3, 5)
MOST_TRIALS = 50  # unless more are asked for


class Fit(Protocol):
    """What trains: `longtail.fit`."""

    def __call__(
        self,
        name: str,
        corpus: Corpus,
        run: Path,
        *,
        say: Callable[[str], None],
        **settings: Any,  # noqa: ANN401
    ) -> Predictor:
        """A model of a corpus."""


@dataclass(frozen=True)
class Trial:
    """What a training with some settings is worth on documents that it did not see."""

    name: str
    settings: dict[str, Any]
    metrics: dict[str, float]
    documents: int  # that judged
    seconds: float  # of training, as far as it was not done before


@dataclass(frozen=True)
class Bench:
    """Where trials of one method are, and how they are trained."""

    fit: Fit
    method: str
    place: Path
    say: Callable[[str], None]

    def measured(
        self, name: str, train: Corpus, judge: Corpus, settings: dict[str, Any], ks: tuple[int, ...] = KS
    ) -> Trial:
        """Train and judge, unless that was done."""
        known, run = self.place / "results" / f"{name}.json", self.place / "runs" / name
        identity: dict[str, Any] = {
            "method": self.method,
            "settings": settings,
            "train": train.fingerprint,
            "judge": judge.fingerprint,
        }
        identity["ks"] = list(ks)
        if known.is_file():
            return _known(known, identity)
        began = time.monotonic()
        model = self.fit(self.method, train, run, say=self.say, **settings)
        seconds = round(time.monotonic() - began, 1)
        metrics = {name: round(value, 4) for name, value in evaluate(model, judge, ks=ks).metrics.items()}
        trial = Trial(name, settings, metrics, len(judge), seconds)
        with store.told(known, RunError):
            known.parent.mkdir(parents=True, exist_ok=True)
            store.write_whole(known, store.json_text({"identity": identity} | vars(trial)))
        store.delete(run)
        return trial


def _known(path: Path, identity: dict[str, Any]) -> Trial:
    """The numbers of an earlier trial, if it was the same one."""
    kept = store.read_object(path)
    made = kept.pop("identity", {})
    if json.loads(json.dumps(identity)) != made:
        other = next((name for name in identity if made.get(name) != json.loads(json.dumps(identity[name]))), "corpus")
        raise RunError(
            f"{path}: these numbers were made with another {other}; choose another --run, or delete the old one"
        )
    try:
        return Trial(**kept)
    except TypeError:
        raise RunError(f"{path}: it holds no numbers of a trial; delete it") from None


def check_place(place: Path) -> None:
    """Raise unless trials can be put there."""
    if (place / "run.json").exists() or (place / store.MANIFEST).exists():
        raise RunError(f"{place}: this is a run or a model; trials need a directory of their own")
    store.check_writable(place)


# -- cross-validation -----------------------------------------------------------------------------------------------


def folds(corpus: Corpus, number: int, seed: int = 0) -> Iterator[tuple[Corpus, Corpus]]:
    """So many times the documents to learn from and those to judge by; every document judges once.

    Documents with the same text stay together.
    """
    hashes = content_hashes(corpus.documents)
    groups = np.unique(hashes, return_inverse=True)[1]
    sizes = np.bincount(groups)
    if not 2 <= number <= len(sizes):
        raise ConfigError(f"--folds {number}: from 2 to the {len(sizes):,} different documents of {corpus.name}")
    side, filled = np.zeros(len(sizes), np.int64), np.zeros(number, np.int64)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        side[group] = filled.argmin()
        filled[side[group]] += sizes[group]
    for fold in range(number):
        judges = side[groups] == fold
        learn = replace(corpus.subset(np.flatnonzero(~judges), "train"), official_valid=corpus.official_valid)
        yield learn, corpus.subset(np.flatnonzero(judges), "test")


def cross_validate(
    bench: Bench, corpus: Corpus, number: int, settings: dict[str, Any], *, ks: tuple[int, ...] = KS, seed: int = 0
) -> list[Trial]:
    """A trial for each fold of a training split."""
    if corpus.role == "test":
        raise CorpusError(f"{corpus.name}: this is the test split; cross-validation learns from most of its documents")
    check_place(bench.place)
    trials = []
    for at, (learn, judge) in enumerate(folds(corpus, number, seed), 1):
        bench.say(f"fold {at} of {number}: {len(learn):,} documents to learn from, {len(judge):,} to judge by")
        trials.append(bench.measured(f"fold-{at}", learn, judge, settings, ks))
    return trials


# -- a search over settings -----------------------------------------------------------------------------------------


def choices(assignments: list[str]) -> dict[str, list[str]]:
    """`field=a,b` of the command line as lists; commas inside of brackets and quotes do not part values.

    >>> choices(["beam=10,20", "words.ngrams=1"])
    {'beam': ['10', '20'], 'words.ngrams': ['1']}
    """
    pairs = [parse_assignment(text) for text in assignments]
    return {
        name: [part.strip().strip("[]\"'") for part in _VALUE.findall(value) if part.strip()] for name, value in pairs
    }


_VALUE = re.compile(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|[^,])+""")


def combinations(asked: dict[str, list[str]], most: int, seed: int = 0) -> list[dict[str, str]]:
    """The defaults, and all combinations of values; of more than `most`, so many at random."""
    if empty := [name for name, values in asked.items() if not values]:
        raise ConfigError(f"--set {empty[0]}=: name the values to try, with commas between them")
    together = [dict(zip(asked, values)) for values in itertools.product(*asked.values())]
    if len(together) > most:
        rows = np.sort(np.random.default_rng(seed).permutation(len(together))[:most])
        together = [together[row] for row in rows]
    return [{}, *(one for one in together if one)]


def search(
    bench: Bench, splits: Splits, tried: list[dict[str, Any]], fixed: dict[str, Any], metric: str, k: int
) -> list[Trial]:
    """A trial for each of the settings, judged by held-out training documents; the best first."""
    check_place(bench.place)
    train, judge = splits.without_valid, splits.valid
    if len(judge) == 0:
        raise CorpusError(f"{splits.train.name}: {len(splits.train)} documents are too few to hold some out")
    trials = []
    for at, settings in enumerate(tried, 1):
        bench.say(f"trial {at} of {len(tried)}: {spelled(settings)}")
        trials.append(bench.measured(_name(settings), train, judge, fixed | settings, tuple(sorted({*KS, k}))))
        bench.say(f"{metric} {trials[-1].metrics[metric]:.2f}")
    return sorted(trials, key=lambda trial: -trial.metrics[metric])


def spelled(settings: dict[str, Any]) -> str:
    """
    >>> spelled({"beam": "10"}), spelled({})
    ('beam=10', 'defaults')
    """
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


def _name(settings: dict[str, Any]) -> str:
    """A directory of its own for each of the settings."""
    words = spelled(settings)
    digest = hashlib.sha256(words.encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.=-]+', '_', words)[:80]}-{digest}"


def as_toml(settings: dict[str, Any]) -> str:
    """Settings as a file that `train --config` reads.

    >>> print(as_toml({"words.ngrams": "2", "belief": "sigmoid"}), end="")
    words.ngrams = 2
    belief = "sigmoid"
    """
    return "".join(f"{name} = {_toml(value)}\n" for name, value in settings.items())


def _toml(value: object) -> str:
    text = str(value)
    if re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|\[.*\]", text):
        return text
    return json.dumps(text.strip("\"'"), ensure_ascii=False)
