"""Loops side by side."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from longtail.kernels.threads import each_in_threads, in_order, in_threads, work_alone


def test_slices_cover_everything_once_and_in_order():
    for threads in (1, 2, 3, 7):
        parts = in_threads(lambda start, stop: list(range(start, stop)), 10, threads)
        assert len(parts) == threads and list(chain.from_iterable(parts)) == list(range(10))


def test_nothing_to_do():
    assert in_threads(lambda start, stop: stop - start, 0, 4) == [0]
    assert each_in_threads(str, [], 4) == []


def test_a_loop_inside_a_loop_ends():
    def outer(start: int, stop: int) -> int:
        return sum(in_threads(lambda a, b: b - a, stop - start, 4))

    assert sum(in_threads(outer, 100, 4)) == 100
    assert each_in_threads(lambda size: sum(in_threads(lambda a, b: b - a, size, 4)), [5] * 50, 4) == [5] * 50


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_failure_reaches_the_caller_after_the_others_ended(bad: int):
    ended, gate = [], threading.Event()

    def part(start: int, stop: int) -> None:
        if start == bad:
            gate.set()
            raise ValueError("slice")
        gate.wait(5)
        ended.append(start)

    with pytest.raises(ValueError, match="slice"):
        in_threads(part, 3, 3)
    assert sorted(ended) == sorted({0, 1, 2} - {bad})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_has_threads_of_its_own():
    in_threads(lambda start, stop: None, 2, 2)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(lambda start, stop: stop - start, 2, 2) == [1, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_stream_comes_in_order_and_is_not_read_far_ahead(threads: int):
    read: list[int] = []

    def items():
        for item in range(100):
            read.append(item)
            yield item

    for at, result in enumerate(in_order(lambda item: item * item, items(), threads)):
        assert result == at * at and len(read) <= at + 1 + 2 * threads
    assert read == list(range(100)) and list(in_order(str, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_where_the_items_fail_the_results_before_come_first(threads: int):
    def items():
        yield from range(7)
        raise ValueError("no eighth")

    seen: list[int] = []
    with pytest.raises(ValueError, match="no eighth"):
        for result in in_order(lambda item: item, items(), threads):
            seen.append(result)
    assert seen == list(range(7))


def test_where_the_work_fails_the_stream_ends():
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda item: 1 // (5 - item), range(1000), 2))


def test_a_thread_that_works_alone_leaves_the_other_cores_to_others():
    def alone() -> list[tuple[int, int]]:
        work_alone()
        return in_threads(lambda start, stop: (start, stop), 100, threads=4)

    with ThreadPoolExecutor(1) as pool:  # a thread of its own: the mark stays
        assert pool.submit(alone).result() == [(0, 100)]
    assert len(in_threads(lambda start, stop: (start, stop), 100, threads=4)) == 4
