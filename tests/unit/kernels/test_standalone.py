"""Loops that run without numba: the same answers, kept on disk, and used only where they belong."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from longtail.kernels import standalone as module
from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import PLAIN, standalone

checked = pytest.mark.skipif(
    any(name in os.environ for name in PLAIN), reason="then it is a numba function like others"
)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@compiled
def times(one, other):
    return one * other


@standalone
def fill(pairs, scale, shift, out):
    for number, pair in enumerate(pairs):
        for at in range(len(pair.left)):
            out[number, at] = times(pair.left[at], scale) + pair.right[at] + shift
    return len(pairs)


@standalone
def grown(numbers):
    return len(np.zeros(len(numbers)))


def given() -> tuple[tuple[Pair, ...], np.ndarray]:
    return tuple(Pair(np.arange(3.0), np.full(3, number, np.float32)) for number in (1, 2)), np.zeros((2, 3))


def test_arrays_numbers_and_named_tuples_arrive_as_they_are():
    pairs, out = given()
    assert fill(pairs, 0.5, 10, out) == 2
    assert out.tolist() == [[11, 11.5, 12], [12, 12.5, 13]]


def test_a_call_that_is_ready_reads_what_its_arrays_hold_now():
    pairs, out = given()
    again = fill.ready(pairs, 1.0, 0, out)
    pairs[0].left[:] = 5
    again()
    assert out[0].tolist() == [6, 6, 6]


def test_what_does_not_change_is_given_once():
    pairs, out = given()
    bound = fill.bound(pairs, 0.5)
    assert bound(10, out) == 2
    assert out.tolist() == [[11, 11.5, 12], [12, 12.5, 13]]
    again = pickle.loads(pickle.dumps(bound))
    other = np.zeros((2, 3))
    again(10, other)
    assert np.array_equal(other, out)


@checked
@pytest.mark.parametrize("broken", ["_compiled", "_linked", "_surroundings"])
def test_where_object_code_cannot_be_had_numba_runs_the_loop(
    broken: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Another numba or llvmlite may lack what `standalone` uses of them: the answer is the same, in all three ways."""

    def fails(*_: object) -> None:
        raise AttributeError("'CodeLibrary' object has no attribute '_final_module'")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, broken, fails)
    monkeypatch.setattr(fill, "_codes", {})
    pairs, out = given()
    with pytest.warns(UserWarning, match="fill runs through numba"):
        assert fill(pairs, 0.5, 10, out) == 2
    assert out.tolist() == [[11, 11.5, 12], [12, 12.5, 13]]
    for call in (lambda: fill.bound(pairs, 0.5)(0, out), fill.ready(pairs, 0.5, 0, out)):
        out[:] = 0
        assert call() == 2
        assert out.tolist() == [[1, 1.5, 2], [2, 2.5, 3]]


@checked
def test_a_loop_that_allocates_is_refused():
    with pytest.raises(TypeError, match="grown allocates memory"):
        grown(np.zeros(3))


@checked
def test_arrays_with_gaps_or_of_no_numbers_are_refused():
    _, out = given()
    for wrong in (np.arange(6.0)[::2], np.array([True] * 3), np.array(["a"] * 3)):
        with pytest.raises(TypeError, match="one run of memory"):
            fill((Pair(wrong, wrong),) * 2, 1.0, 0, out)


ASK = """
import sys
import numpy as np
from tests.unit.kernels.test_standalone import fill, given
pairs, out = given()
fill(pairs, 0.5, 10, out)
print(out.tolist(), "numba" in sys.modules)
"""


def asked(cache: Path) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@checked
def test_a_second_process_gives_the_same_answer_without_numba_and_damage_is_noticed(tmp_path: Path):
    answer = "[[11.0, 11.5, 12.0], [12.0, 12.5, 13.0]]"
    assert asked(tmp_path) == f"{answer} True"
    assert asked(tmp_path) == f"{answer} False"
    (kept,) = tmp_path.glob("test_standalone.fill-*.o")
    data = bytearray(kept.read_bytes())
    data[-100] ^= 255
    kept.write_bytes(data)
    assert asked(tmp_path) == f"{answer} True"
    assert asked(tmp_path) == f"{answer} False"


@checked
def test_code_of_other_sources_is_not_used_and_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    pairs, out = given()
    names = []
    for sources in ("old", "new"):
        monkeypatch.setattr(module, "_surroundings", lambda sources=sources: sources)
        monkeypatch.setattr(fill, "_codes", {})
        fill(pairs, 1.0, 0, out)
        names.append([path.name for path in tmp_path.glob("*.o")])
    assert len(names[0]) == len(names[1]) == 1 and names[0] != names[1]
