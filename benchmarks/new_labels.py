"""Labels added without training: python -m benchmarks.new_labels --corpus wordnet-related --method decaf --hidden 1000.

Random labels with at least two training documents and one test document are taken out of the label lists of train; the
documents stay.  The model trained so gets them back by text, and by text with one and with five of their documents.
Beside it stand the model trained with all labels, and cosine between TF-IDF of documents and of label texts.

R@10 and PSP@5 are of the hidden labels on the documents that carry one.  The others are documents that carry none of
them, where each of them is wrong; the loss is what P@1 falls by there when the labels are added.  Trainings go on where
an earlier call was stopped.

With --choose, nothing of test is looked at: a fifth of train is held out, labels are hidden in the rest, and values of
the method's constants are compared on the documents held out (benchmarks/new_labels_choice.py).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.config import parse_assignment, read_toml
from longtail.corpus import PAD, Corpus, Documents, Splits
from longtail.features.bags import Bags
from longtail.features.tfidf import TfidfOptions
from longtail.judge.frequencies import Frequencies, inverse_propensity
from longtail.new_label import NewLabel
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking

EXAMPLES = (0, 1, 5)
DEPTH = 100
SHOWN = ("R@10", "R@100", "PSP@5", "P@1 of the others", "P@5 of the others", "P@1 of all")
FALL, MATCH, NORMALLY = "without them", "TF-IDF match of label texts", "trained with them"


# -- hiding -----------------------------------------------------------------------------------------------------------


def hidden_labels(splits: Splits, count: int, seed: int) -> np.ndarray:
    """Which labels to hide, in order."""
    train, test = splits.train, splits.split("test")
    often = np.bincount(train.labels.indices, minlength=train.n_labels) >= 2
    tested = np.bincount(test.labels.indices, minlength=test.n_labels) >= 1
    return np.sort(np.random.default_rng(seed).permutation(np.flatnonzero(often & tested))[:count])


def without_labels(corpus: Corpus, hidden: np.ndarray) -> Corpus:
    """The same documents, and a label set without these labels."""
    kept = np.setdiff1d(np.arange(corpus.n_labels), hidden)
    valid = None if corpus.official_valid is None else without_labels(corpus.official_valid, hidden)
    filtered = None if corpus.filtered is None else sp.csr_array(corpus.filtered)[:, kept]
    labels, label_set = sp.csr_array(corpus.labels)[:, kept], corpus.label_set[kept]
    changed = replace(corpus, labels=labels, label_set=label_set, filtered=filtered, official_valid=valid)
    return changed.fingerprinted()


def described(train: Corpus, hidden: np.ndarray, examples: int, seed: int) -> list[NewLabel]:
    """The hidden labels with some of their training documents."""
    rng, by_label, found = np.random.default_rng(seed), sp.csc_array(train.labels), []
    for label in hidden.tolist():
        documents = rng.permutation(by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]])
        texts = tuple(train.texts[int(document)] for document in documents[:examples])
        own = train.label_set[label]
        found.append(NewLabel(own.id, own.name, own.text, texts))
    return found


# -- judging ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """Test documents with labels in the order of a model that has the hidden ones last."""

    truth: sp.csr_array
    filtered: sp.csr_array | None
    order: np.ndarray  # the corpus's label in each place
    first: int  # hidden labels are those from here
    worth: np.ndarray  # inverse propensities

    @classmethod
    def of(cls, splits: Splits, hidden: np.ndarray) -> Judge:
        """Truth without filtered pairs."""
        train, test = splits.train, splits.split("test")
        order = np.append(np.setdiff1d(np.arange(train.n_labels), hidden), hidden)
        filtered = None if test.filtered is None else sp.csr_array(test.filtered)[:, order]
        truth = sp.csr_array(test.labels)[:, order]
        if filtered is not None:
            truth = sp.csr_array(truth - truth.multiply(filtered != 0))
            truth.eliminate_zeros()
        worth = inverse_propensity(Frequencies.of(train.labels), 0.55, 1.5)[order]
        return cls(truth, filtered, order, train.n_labels - len(hidden), worth)

    def renumbered(self, ranking: Ranking) -> Ranking:
        """A ranking by the corpus's numbers in those of this order."""
        places = np.argsort(self.order).astype(np.int32)
        return Ranking(np.where(ranking.labels == PAD, PAD, places[ranking.labels]), ranking.scores)

    @property
    def depth(self) -> int:
        """Labels to rank, so that enough are left without the filtered ones."""
        return DEPTH + (0 if self.filtered is None else int(np.diff(self.filtered.indptr).max()))

    def metrics(self, ranking: Ranking) -> dict[str, float]:
        """What SHOWN names, in percent."""
        ranking = ranking if self.filtered is None else ranking.without(self.filtered)
        hits, is_new = ranking.among(self.truth), ranking.labels >= self.first
        hidden = self.truth[:, self.first :]
        wanted = np.diff(hidden.indptr)
        carry = wanted > 0
        found = hits & is_new

        def recall(k: int) -> float:
            return float((found[carry, :k].sum(axis=1) / wanted[carry]).mean())

        gained = (found[:, :5] * self.worth[ranking.labels[:, :5]]).sum()
        best = sum(
            np.sort(self.worth[self.first + row])[::-1][:5].sum()
            for row in np.split(hidden.indices, hidden.indptr[1:-1])
        )
        others = hits[~carry, 0].mean(), hits[~carry, :5].mean()
        values = recall(10), recall(100), gained / best, *others, hits[:, 0].mean()
        return {name: round(100 * float(value), 2) for name, value in zip(SHOWN, values)}


def matched(splits: Splits, judge: Judge) -> Ranking:
    """The labels whose texts have the largest cosine with each test document, all labels compared."""
    train, test = splits.train, splits.split("test")
    bags = Bags.fit(train.documents, TfidfOptions(sublinear=True))
    labels = sp.csc_array(bags.rows(Documents(train.label_set.words())).T)
    parts, rows = [], bags.rows(test.documents)
    for start in range(0, len(test), 1024):
        parts.append(Ranking.of_scores(sp.csr_array(rows[start : start + 1024] @ labels), judge.depth))
    return judge.renumbered(Ranking.joined(parts))


# -- running ----------------------------------------------------------------------------------------------------------


def added(model: Predictor, labels: list[NewLabel]) -> tuple[Predictor, float]:
    """The model with these labels, and the best of five times in ms, the vocabulary already read."""
    model.predict(["a text"])
    times = []
    for _ in range(5):
        began = time.perf_counter()
        grown = model.add_labels(labels)
        times.append(1000 * (time.perf_counter() - began))
    return grown, round(min(times), 1)


def rows_of(given: argparse.Namespace, splits: Splits, settings: dict) -> dict:
    """Every row of one corpus and method."""
    hidden = hidden_labels(splits, given.hidden, given.seed)
    if given.judged is not None:
        all_of_test = splits.split("test")
        splits = Splits(splits.train, all_of_test.subset(all_of_test.drawn(given.judged, given.seed), "test"))
    judge, test = Judge.of(splits, hidden), splits.split("test").documents
    place = Path("runs") / "new_labels" / f"{given.corpus}-{given.method}-{given.hidden}-{given.seed}"
    model = longtail.fit(
        given.method, without_labels(splits.train, hidden), run=place / "hidden", say=print, **settings
    )
    model = longtail.open(place / "hidden" / "model")
    rows = {FALL: {"metrics": judge.metrics(model.rank(test, judge.depth))}}
    for examples in EXAMPLES:
        grown, ms = added(model, described(splits.train, hidden, examples, given.seed))
        row = {"metrics": judge.metrics(grown.rank(test, judge.depth)), "ms": ms}
        rows[f"added by text and {examples} examples"] = row
        print(examples, row, flush=True)
    rows[MATCH] = {"metrics": judge.metrics(matched(splits, judge))}
    if not given.quick:
        whole = longtail.fit(given.method, splits.train, run=place / "whole", say=print, **settings)
        rows[NORMALLY] = {"metrics": judge.metrics(judge.renumbered(whole.rank(test, judge.depth)))}
    return rows


def markdown(results: dict) -> str:
    """One table a corpus and method."""
    lines = ["# Labels added without training", ""]
    lines += ["Made by `python -m benchmarks.new_labels`, which says what the columns are; test split, %.", ""]
    lines += ["Constants were chosen on documents held out of train: [new_labels_choice.md](new_labels_choice.md).", ""]
    for title, rows in results.items():
        lines += [f"## {title}", "", "| | " + " | ".join(SHOWN) + " | loss | ms |", "|---" * (len(SHOWN) + 3) + "|"]
        start = rows[FALL]["metrics"]["P@1 of the others"]
        for name, row in rows.items():
            cells = [f"{row['metrics'][metric]:.2f}" for metric in SHOWN]
            cells += [f"{start - row['metrics']['P@1 of the others']:.2f}", str(row.get("ms", ""))]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


# Corpus, method and settings of a call without any.
USUAL: tuple[tuple[str, str, str | None], ...] = (
    ("wordnet-related", "linear", None),
    ("wordnet-related", "decaf", None),
    ("yso-finna-en", "linear", None),
    ("yso-finna-en", "decaf", "configs/decaf/yso-finna-en.toml"),
)


def run(given: argparse.Namespace) -> None:
    """One corpus and method: add its table."""
    settings = (read_toml(given.config) if given.config else {}) | dict(map(parse_assignment, given.settings))
    rows = rows_of(given, longtail.load(corpus_path(given.corpus)), settings)
    results = earlier("new_labels")  # read now: another process may have added to it
    judged = [] if given.judged is None else [f"{given.judged:,} test documents"]
    title = "; ".join([f"{given.corpus}, {given.method}, {given.hidden:,} labels hidden", *judged, *given.settings])
    results[title] = rows
    save("new_labels", results)
    (RESULTS / "new_labels.md").write_text(markdown(results), "utf-8")
    print(markdown({title: rows}))


def main() -> None:
    """What is asked for, or all that is usual."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="with --method; if not given, everything")
    parser.add_argument("--method", default="decaf")
    parser.add_argument("--hidden", type=int, default=1000, help="how many labels")
    parser.add_argument("--seed", type=int, default=0, help="which labels, and which of their documents")
    parser.add_argument("--quick", action="store_true", help="do not train with all labels")
    parser.add_argument("--judged", type=int, help="test documents at most; all, if not given")
    parser.add_argument("--choose", action="store_true", help="compare constants on documents held out of train")
    parser.add_argument("--config", type=Path, help="settings in a TOML file")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="one setting: optim.epochs=2,2,3")
    given = parser.parse_args()
    if given.choose:
        from benchmarks import new_labels_choice  # it imports from here

        new_labels_choice.main([given.corpus] if given.corpus else None)
        return
    if given.corpus is not None:
        run(given)
        return
    for corpus, method, config in USUAL:
        place = None if config is None else Path(config)
        run(argparse.Namespace(**(vars(given) | {"corpus": corpus, "method": method, "config": place})))


if __name__ == "__main__":
    main()
