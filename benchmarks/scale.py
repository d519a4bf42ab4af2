"""Many labels: corpora to measure with, and what methods take as labels grow.

    python -m benchmarks.scale make --labels 1000000 --documents 2000000 --out DIR [--seed 0] [--test 5000]
    python -m benchmarks.scale curve [--methods linear,decaf] [--labels 1000,10000,100000]
    python -m benchmarks.scale plot
    python -m benchmarks.scale limit CORPUS

`make` writes a corpus with planted topics (benchmarks/scale_corpus.py), `curve` trains on such corpora and measures
(benchmarks/scale_curve.py): what was measured before is left alone, so that it can be stopped and started again.
`limit` clusters the labels of a corpus by centroids of fewer entries, and says what `linear` loses by it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def made(asked: argparse.Namespace) -> None:
    from benchmarks.scale_corpus import Planted, make

    print(make(Planted(asked.labels, asked.documents, asked.seed, asked.test), asked.out))


def curve(asked: argparse.Namespace) -> None:
    from benchmarks.scale_curve import measure_all

    measure_all(asked.methods.split(","), [int(size) for size in asked.labels.split(",")], asked.documents)


def plotted(asked: argparse.Namespace) -> None:
    from benchmarks.machine import earlier
    from benchmarks.scale_curve import plot, written

    print(plot(earlier("scale")), written(earlier("scale")))


def limited(asked: argparse.Namespace) -> None:
    """Train `linear` with centroids cut to shares of their entries; judge it on test documents."""
    from unittest.mock import patch

    import numpy as np

    from benchmarks.machine import earlier, save
    from longtail import fit
    from longtail.data.load import load
    from longtail.judge.evaluation import evaluate
    from longtail.methods.shared import preparation

    splits, found = load(asked.corpus), {}
    whole = preparation.label_centroids
    for share in (1.0, 0.5, 0.2, 0.1, 0.05):
        sizes: list[int] = []

        def cut(features, labels, most, share=share, sizes=sizes):
            expected = np.minimum((labels.T @ np.diff(features.indptr)), features.shape[1]).sum()
            sizes.append(whole(features, labels, most=int(share * expected)).nnz)
            return whole(features, labels, most=int(share * expected))

        with patch.object(preparation, "label_centroids", cut):
            judged = evaluate(fit("linear", splits.train), splits.test).metrics
        found[str(share)] = {"entries": sizes[0]} | {name: round(judged[name], 2) for name in ("P@1", "P@5", "PSP@5")}
        print(share, found[str(share)], flush=True)
    print(save("scale_limits", earlier("scale_limits") | {asked.corpus: found}))


def main(words: list[str]) -> None:
    reads = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    commands = reads.add_subparsers(required=True)
    making = commands.add_parser("make", help="write a corpus")
    making.add_argument("--labels", type=int, required=True)
    making.add_argument("--documents", type=int, required=True)
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--seed", type=int, default=0)
    making.add_argument("--test", type=int, default=5000)
    making.set_defaults(act=made)
    measuring = commands.add_parser("curve", help="train and measure")
    measuring.add_argument("--methods", default="linear,decaf,elias,pecos")
    measuring.add_argument("--labels", default="1000,10000,100000")
    measuring.add_argument("--documents", type=int, default=None, help="two a label, 20,000 at least, unless told")
    measuring.set_defaults(act=curve)
    limiting = commands.add_parser("limit", help="centroids of fewer entries")
    limiting.add_argument("corpus")
    limiting.set_defaults(act=limited)
    commands.add_parser("plot", help="draw what was measured").set_defaults(act=plotted)
    asked = reads.parse_args(words)
    asked.act(asked)


if __name__ == "__main__":
    main(sys.argv[1:])
