"""Many labels: corpora to measure with, and what methods take as labels grow.

    python -m benchmarks.scale make --labels 1000000 --documents 2000000 --out DIR [--seed 0] [--test 5000]
    python -m benchmarks.scale curve [--methods linear,decaf] [--labels 1000,10000,100000]
    python -m benchmarks.scale plot

`make` writes a corpus with planted topics (benchmarks/scale_corpus.py), `curve` trains on such corpora and measures
(benchmarks/scale_curve.py): what was measured before is left alone, so that it can be stopped and started again.
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
    from benchmarks.scale_curve import plot

    print(plot(earlier("scale")))


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
    commands.add_parser("plot", help="draw what was measured").set_defaults(act=plotted)
    asked = reads.parse_args(words)
    asked.act(asked)


if __name__ == "__main__":
    main(sys.argv[1:])
