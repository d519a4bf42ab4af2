"""What people see of long work: a bar on a terminal, a line a minute elsewhere, nothing where nobody asked."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longtail import progress
from longtail.data.lines import lines
from longtail.data.queries import read_queries
from longtail.index.balanced import balanced_clusters
from longtail.kernels.threads import in_slices
from longtail.progress import Stage, counting, is_watched, steps
from tests.terminal import on_a_terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def work(clock: SimpleNamespace, n_steps: int, seconds: float, what: str = "") -> None:
    for _ in steps(range(n_steps), what):
        clock.now += seconds


# -- lines ----------------------------------------------------------------------------------------------------------


def test_without_a_terminal_a_stage_says_its_name_then_at_most_a_line_a_minute(clock: SimpleNamespace):
    said: list[tuple[float, str]] = []
    with Stage("grouping labels", lambda line: said.append((clock.now - 100, line))):
        work(clock, 2000, 0.25)
    assert said[0] == (0, "grouping labels …")
    assert said[1] == (5, "grouping labels: 1 %, about 8 minutes left")
    times = [time for time, _ in said[1:-1]]
    assert np.diff(times).min() >= 60 and 7 <= len(times) <= 9
    assert said[-2][1] == "grouping labels: 97 %, about 15 seconds left"
    assert said[-1] == (500, "grouping labels: took 8 min")


def test_a_stage_of_seconds_says_how_long_it_took_and_a_shorter_one_its_name_alone(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("grouping labels", said.append):
        work(clock, 20, 1.0)
    assert said == ["grouping labels …", "grouping labels: took 20 s"]
    with Stage("weighing words", said.append):
        work(clock, 20, 0.2)
    assert said[2:] == ["weighing words …"]


def test_a_stage_that_fails_does_not_say_how_long_it_took(clock: SimpleNamespace):
    said: list[str] = []
    with pytest.raises(ValueError), Stage("grouping labels", said.append):
        clock.now += 20
        raise ValueError
    assert said == ["grouping labels …"]


def test_several_counts_of_a_stage_share_its_line_a_minute(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("training", said.append):
        for part in ("ranking", "solving", "ranking", "solving"):
            work(clock, 500, 0.1, part)
    assert len(said) == 1 + 4 + 1 and said[1] == "training: ranking, 10 %, about 45 seconds left"
    assert said[-1] == "training: took 3 min"


def test_the_time_left_forgets_what_was_done_first_which_may_compile(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("training", said.append), counting(100) as done:
        clock.now += 90
        done(10)
        clock.now += 2
        done(10)
        assert said[1:] == ["training: 20 %, about 16 seconds left"]


def test_of_counts_inside_each_other_the_outer_one_is_told(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("training", said.append):
        for _ in steps(range(10), "outer"):
            work(clock, 10, 3.0, "inner")
    assert len(said) == 7 and all("outer" in line for line in said[1:-1]) and said[-1] == "training: took 5 min"


def test_work_without_a_stage_tells_when_it_takes_long(clock: SimpleNamespace, request: pytest.FixtureRequest):
    said: list[str] = []
    request.addfinalizer(lambda: progress.watch(None))
    progress.watch(said.append)
    work(clock, 10, 1.0, "reading small.csv")
    work(clock, 100, 1.0, "reading large.csv")
    assert said == ["reading large.csv, 5 %, about 2 minutes left", "reading large.csv, 65 %, about 35 seconds left"]


# -- nobody ---------------------------------------------------------------------------------------------------------


def test_where_nobody_watches_nothing_is_shown():
    with on_a_terminal() as terminal:
        assert not is_watched() and list(steps("abc")) == ["a", "b", "c"]
        with Stage("grouping labels", None):
            assert not is_watched() and list(steps("abc")) == ["a", "b", "c"]
    assert terminal.getvalue() == ""


def test_a_silent_stage_inside_one_that_is_told_stays_silent(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("outer", said.append), Stage("inner", None):
        work(clock, 100, 10.0)
    assert said == ["outer …", "outer: took 17 min"]


# -- bars -----------------------------------------------------------------------------------------------------------


def ignore(line: str) -> None:
    pass


def test_a_terminal_gets_a_bar_with_share_and_time_left_and_no_lines(clock: SimpleNamespace):
    said: list[str] = []
    with on_a_terminal() as terminal:
        with Stage("grouping labels", said.append) as stage:
            for _ in steps(range(4), "splitting"):
                clock.now += 30
                assert stage._bar is not None
                stage._bar._bar.refresh()
        assert terminal.is_as_before
    assert said == []
    assert "━" in terminal.seen and " 50 % 60 s left    grouping labels: splitting" in terminal.seen
    assert terminal.seen.rstrip().endswith("100 % took 2 min   grouping labels")


def test_a_stage_that_raises_leaves_its_line_and_a_working_terminal():
    with on_a_terminal() as terminal:
        with pytest.raises(ZeroDivisionError), Stage("outer", ignore), Stage("inner", ignore):
            for at in steps(range(10)):
                1 / (at - 4)
        assert terminal.is_as_before and not is_watched()
    last = terminal.seen.rstrip().splitlines()[-1]
    assert "stopped" in last and "outer" in last and "100 %" not in last


def test_only_one_bar_is_there_at_a_time():
    with on_a_terminal() as terminal:
        with Stage("outer", ignore) as outer:
            with Stage("inner", ignore):
                assert outer._bar is None
            assert outer._bar is not None
        assert terminal.is_as_before


def test_work_that_an_error_left_half_done_leaves_no_bar(clock: SimpleNamespace):
    with on_a_terminal() as terminal:
        progress.watch(ignore)
        half_done = steps(range(10), "reading large.csv")
        next(half_done)
        clock.now += 5
        next(half_done)
        assert not terminal.is_as_before
        progress.watch(None)
        assert terminal.is_as_before


def test_lines_that_are_printed_meanwhile_stand_above_the_bar():
    with on_a_terminal() as terminal, Stage("grouping labels", ignore):
        sys.stderr.write("careful: few documents\n")
    assert "careful: few documents\n" in terminal.seen


def test_a_long_text_is_cut_and_the_bar_stays():
    with on_a_terminal() as terminal, Stage("grouping " * 30, ignore):
        pass
    assert all(len(line) <= 100 for line in terminal.seen.splitlines())
    assert "━" * 12 in terminal.seen


def test_a_dumb_terminal_gets_lines():
    said: list[str] = []
    with on_a_terminal("dumb") as terminal, Stage("grouping labels", said.append):
        pass
    assert said == ["grouping labels …"] and terminal.getvalue() == ""


# -- threads --------------------------------------------------------------------------------------------------------


def test_threads_may_count_what_their_caller_began(clock: SimpleNamespace):
    said: list[str] = []
    with Stage("solving", said.append), counting(4000) as done:
        threads = [threading.Thread(target=lambda: [done(1) for _ in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert done.share() == 1  # type: ignore[attr-defined]


def test_slices_cover_everything_once_whether_anybody_watches_or_not():
    for say in (None, lambda line: None):
        seen = np.zeros(10_000, int)

        def part(start: int, stop: int, seen: np.ndarray = seen) -> None:
            seen[start:stop] += 1

        with Stage("ranking", say):
            in_slices(part, len(seen), "ranking documents", threads=2, size=300)
        assert (seen == 1).all()


# -- who counts -----------------------------------------------------------------------------------------------------


class Counted(Stage):
    """A stage that remembers the shares of what it was shown."""

    def __init__(self) -> None:
        super().__init__("working", lambda line: None)
        self.shares: dict[str, list[float]] = {}

    def show(self, share, state, seconds_left) -> None:
        self.shares.setdefault(", ".join(state()), []).append(share())


def test_clusters_count_up_to_their_end():
    with Counted() as stage:
        balanced_clusters(np.random.default_rng(0).normal(size=(64, 3)), max_size=4, seed=0)
    (shares,) = stage.shares.values()
    assert shares == sorted(shares) and len(shares) == 1 + 2 + 4 + 8 and shares[-1] == 1


@pytest.mark.parametrize("name", ["queries.txt", "queries.txt.gz", "queries.csv"])
def test_a_file_counts_by_what_was_read_of_it(tmp_path: Path, name: str):
    import gzip

    path = tmp_path / name
    text = "text\n" + "".join(f"number {at}\n" for at in range(5000))
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with Counted() as stage:
        n_queries = sum(len(batch) for batch in read_queries(str(path)))
    assert n_queries == 5000 + (name != "queries.csv")
    (shares,) = stage.shares.values()
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1)
    assert name == "queries.csv" or len(shares) == 5  # one a batch, however few pieces were read


def test_lines_count_until_whoever_reads_them_leaves(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with Counted() as stage:
        assert next(iter(lines(tmp_path / "a.txt"))).rows == ["one", "two"]
        assert not stage.busy
