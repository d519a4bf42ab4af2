"""`make bench` makes every table."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks"


def test_every_benchmark_runs():
    everything = importlib.import_module("benchmarks.__main__").EVERYTHING
    there = {path.stem for path in PLACE.glob("*.py") if 'if __name__ == "__main__":' in path.read_text("utf-8")}
    assert sorted(name for name, *_ in everything) == sorted(there - {"__main__"})


@pytest.mark.parametrize("name", sorted(path.stem for path in PLACE.glob("*.py")))
def test_every_benchmark_finds_what_it_imports(name: str):
    assert importlib.import_module(f"benchmarks.{name}").__doc__
