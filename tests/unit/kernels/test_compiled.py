"""Compiled code is kept where it can be, works where it cannot, and people hear of it when it takes a while."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.kernels.compiled import KEPT, NOT_KEPT, Notice, compiled, telling
from longtail.kernels.compiled import notice as real_notice
from longtail.kernels.threads import in_threads

PACKAGE = Path(longtail.__file__).parent

TRAIN_AND_ASK = """
import sys, longtail
corpus = longtail.Corpus.of(["red fox", "blue whale"], [["land"], ["sea"]])
model = longtail.fit("centroid", corpus, say=lambda line: print(line, file=sys.stderr))
print(model.predict(["a blue thing"], k=1)[0][0].name)
"""


@pytest.fixture(scope="module")
def read_only_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package where numba cannot write: a file stands where __pycache__ would be (root ignores modes)."""
    place = tmp_path_factory.mktemp("read-only")
    shutil.copytree(PACKAGE, place / "longtail", ignore=shutil.ignore_patterns("__pycache__", "demo"))
    (place / "longtail" / "kernels" / "__pycache__").touch()
    return place


def asked(package: Path, code: str = TRAIN_AND_ASK, **variables: str) -> subprocess.CompletedProcess[str]:
    nowhere = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache", "PYTHONPATH": str(package)}
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment = kept | nowhere | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=package, capture_output=True, text=True)


def test_a_read_only_installation_without_a_home_trains_and_answers_and_says_that_it_compiles(read_only_copy: Path):
    answer = asked(read_only_copy)
    assert (answer.returncode, answer.stdout) == (0, "sea\n"), answer.stderr
    assert answer.stderr.count(NOT_KEPT) == 1


def test_what_is_compiled_goes_to_the_directory_that_is_named(read_only_copy: Path, tmp_path: Path):
    first, second = (asked(read_only_copy, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == "sea\n", first.stderr
    assert any(tmp_path.rglob("*.nbc"))
    assert KEPT in first.stderr and "compiling" not in second.stderr


ASK_OUTER = "from longtail.kernels.outer import outer; print(outer(1))"


def test_a_loop_is_compiled_anew_when_a_loop_that_it_calls_has_changed_in_another_file(tmp_path: Path):
    """As after an upgrade: numba alone looks at the file of the outer loop, and would answer by the old inner one."""
    shutil.copytree(PACKAGE, tmp_path / "longtail", ignore=shutil.ignore_patterns("__pycache__", "demo"))
    kernels = tmp_path / "longtail" / "kernels"
    head = "from longtail.kernels.compiled import compiled\n"
    inner = head + "@compiled\ndef inner(x):\n    return x + {}\n"
    (kernels / "outer.py").write_text(
        f"{head}from longtail.kernels.inner import inner\n@compiled\ndef outer(x):\n    return inner(x)\n"
    )
    for added in (1, 20):
        (kernels / "inner.py").write_text(inner.format(added))
        for _ in range(2):  # compiled, then read from the cache
            ended = asked(tmp_path, ASK_OUTER)
            assert ended.stdout.split() == [str(1 + added)], ended.stderr


@compiled
def sum_of_too_many(numbers, start, stop):
    total = 0.0
    for at in range(start, stop):
        total += numbers[at]
    return total


@pytest.mark.skipif("NUMBA_BOUNDSCHECK" not in os.environ, reason="only `make bounds` checks every index")
@pytest.mark.parametrize("threads", [1, 2])
def test_under_make_bounds_a_loop_that_leaves_its_array_is_an_error_in_any_thread(threads: int):
    numbers = np.ones(10)
    with pytest.raises(IndexError):
        in_threads(lambda start, stop: sum_of_too_many(numbers, start, stop), 11, threads)


# -- the notice ------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("longtail.kernels.compiled.time.monotonic", lambda: now[0])
    return now


def test_a_moment_of_compiling_is_not_worth_a_word_and_more_is_worth_one(clock: list[float]):
    notice, heard = Notice(), []
    notice.say = heard.append
    for seconds in (0.4, 0.4):
        notice.started()
        clock[0] += seconds
        notice.ended()
        clock[0] += 100  # not spent compiling
    assert heard == []
    notice.started()
    notice.started()  # a function that the first one calls
    clock[0] += 0.3
    notice.ended()
    assert heard == [KEPT]
    clock[0] += 50
    notice.ended()
    assert heard == [KEPT]


def test_nothing_is_said_to_those_who_did_not_ask(clock: list[float], capsys: pytest.CaptureFixture[str]):
    notice = Notice()
    notice.started()
    clock[0] += 100
    notice.ended()
    assert capsys.readouterr() == ("", "")


def test_telling_ends_with_its_block():
    before = real_notice.say
    with telling(print):
        assert real_notice.say is print
    assert real_notice.say is before


def test_compiling_is_noticed_and_running_what_is_compiled_is_not(monkeypatch: pytest.MonkeyPatch):
    news = []
    monkeypatch.setattr(real_notice, "started", lambda: news.append("started"))
    monkeypatch.setattr(real_notice, "ended", lambda: news.append("ended"))

    def double(numbers):
        return 2 * numbers

    double.__module__ = "longtail.kernels.of_a_test"
    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", lambda self: None)
    kernel = compiled(double)
    assert kernel(np.arange(3)).tolist() == kernel(np.arange(3)).tolist() == [0, 2, 4]
    assert news == ["started", "ended"]
