"""The queue: batches, order, limits, what fails and who leaves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import inf

import pytest

from longtail.serve.meter import Meter
from longtail.serve.pace import CHARACTERS, SHORT, Pace
from longtail.serve.problems import Problem
from longtail.serve.queue import CALM, FEW, Queue
from longtail.serve.settings import Limits


class Slow(Pace):
    """However little it takes, it is left to the thread."""

    def allows(self, texts: list[str]) -> bool:
        return False


@dataclass
class Shout:
    """Work that waits for a signal, and remembers the batches it got."""

    key: str = "a"
    mergeable: bool = True
    pace: Pace = field(default_factory=Slow)
    go: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    seen: list[list[str]] = field(default_factory=list)

    def run(self, texts: list[str]) -> Sequence[str]:
        self.begun.set()
        self.go.wait(5)
        self.seen.append(texts)
        if "bad" in texts:
            raise ValueError("bad")
        return [text.upper() for text in texts]


def with_queue(work: Callable[[Queue], Awaitable[None]], **limits: int) -> None:
    async def run() -> None:
        queue = Queue(Limits(**({"texts": 1} | limits)), Meter())
        try:
            await work(queue)
        finally:
            await asyncio.to_thread(queue.close)

    asyncio.run(run())


def test_what_waits_becomes_one_batch_and_everyone_gets_his_own():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        rest = [queue.submit(shout, [f"a{at}", f"b{at}"], 9) for at in range(FEW // 2)]
        shout.go.set()
        assert await first == ["X"]
        assert [await one for one in rest] == [[f"A{at}", f"B{at}"] for at in range(FEW // 2)]

    with_queue(work)
    assert [len(batch) for batch in shout.seen] == [1, FEW]


def test_few_texts_are_predicted_one_after_the_other():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        rest = [queue.submit(shout, [str(at)], 9) for at in range(FEW - 1)]
        shout.go.set()
        await asyncio.gather(first, *rest)

    with_queue(work)
    assert [len(batch) for batch in shout.seen] == [1] * FEW


@pytest.mark.parametrize(
    ("mergeable", "batch", "sizes"), [(True, 6, [1, 6, *[1] * 5]), (True, 64, [1, 11]), (False, 64, [1] * 12)]
)
def test_batches_have_a_limit_and_some_work_stays_apart(mergeable: bool, batch: int, sizes: list[int]):
    shout = Shout(mergeable=mergeable)

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        rest = [queue.submit(shout, [str(at)], 9) for at in range(11)]
        shout.go.set()
        assert [await one for one in (first, *rest)] == [["X"], *([str(at)] for at in range(11))]

    with_queue(work, batch=batch)
    assert [len(each) for each in shout.seen] == sizes


def test_other_work_keeps_its_turn():
    one, other, order = Shout("a"), Shout("b"), []

    async def work(queue: Queue) -> None:
        futures = [queue.submit(one, ["x"], 9)]
        await asyncio.sleep(0.05)
        for kind in (other, one, other):
            futures.append(queue.submit(kind, [kind.key] * FEW, 9))
        for at, future in enumerate(futures):
            future.add_done_callback(lambda _, at=at: order.append(at))
        other.go.set()
        one.go.set()
        await asyncio.gather(*futures)

    with_queue(work)
    assert order == [0, 1, 3, 2]  # the oldest that waits, with those like it


def test_a_full_queue_refuses_and_one_that_has_room_does_not():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        waiting = [queue.submit(shout, ["y"], 9) for _ in range(2)]
        for _ in range(2):  # what holds in an overload allows no more
            with pytest.raises(Problem) as refused:
                queue.submit(shout, ["z"], 9)
            assert refused.value.status == 429 and refused.value.headers["Retry-After"] == "1"
        shout.go.set()
        await asyncio.gather(first, *waiting)
        assert await queue.submit(shout, ["z"], 9) == ["Z"]

    with_queue(work, queue=2)


def test_texts_are_counted_too():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        second = queue.submit(shout, ["y"] * 3, 9)
        with pytest.raises(Problem):
            queue.submit(shout, ["z"] * 2, 9)
        queue._overloaded = 0.0  # which the refusal began
        third = queue.submit(shout, ["z"], 9)
        shout.go.set()
        await asyncio.gather(first, second, third)

    with_queue(work, queue_texts=4)


def test_a_burst_may_fill_the_queue_and_after_a_refusal_fewer_may_wait():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        waiting = [queue.submit(shout, ["y"], 9) for _ in range(4)]
        assert queue.full
        shout.go.set()
        await asyncio.gather(first, *waiting)
        shout.go.clear()
        first = queue.submit(shout, ["x"], 9)
        while queue._waiting:
            await asyncio.sleep(0.001)
        queue._overloaded = time.monotonic() + 60  # as the refusal set it, but for longer than any machine takes
        queue._half_done = 0.0
        waiting = [queue.submit(shout, ["y"], 9)]
        assert queue.full
        queue._overloaded = 0.0  # few were refused for a moment
        waiting += [queue.submit(shout, ["y"], 9) for _ in range(3)]
        shout.go.set()
        await asyncio.gather(first, *waiting)

    with_queue(work, queue=4)


@pytest.mark.parametrize(
    ("refused", "accepted", "texts", "ago", "goes_on"),
    [
        (15, 5, 5, 0, True),  # 20 requests of a text that takes 0.02 s, in 0.2 s and a bit
        (15, 5, 20, 0, True),
        (5, 5, 5, 0, False),  # that many could be done
        (5, 5, 20, 0, True),  # but not if each has four texts
        (15, 16, 16, 0, False),  # most were accepted
        (0, 0, 0, 0, False),
        (15, 5, 5, CALM, False),  # too long ago to tell
    ],
)
def test_an_overload_goes_on_while_more_comes_than_can_be_done(
    refused: int, accepted: int, texts: int, ago: float, goes_on: bool
):
    async def work(queue: Queue) -> None:
        queue._overload(100 - CALM - ago)
        assert queue._is_overloaded(99.9 - ago)
        queue._pace, queue._refused, queue._accepted, queue._accepted_texts = 0.02, refused, accepted, texts
        assert queue._is_overloaded(100.01) == goes_on
        assert queue._is_overloaded(100.02) == goes_on and queue._refused == queue._accepted == 0

    with_queue(work)


def test_in_an_overload_a_request_waits_alone_and_not_for_long():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.to_thread(shout.begun.wait, 5)
        queue._overloaded, queue._half_done = time.monotonic() + 60, time.monotonic() + 60
        assert queue.full  # it would wait for nearly twice as long as it takes
        with pytest.raises(Problem):
            queue.submit(shout, ["y"], 9)
        queue._half_done = time.monotonic()
        assert not queue.full
        second = queue.submit(shout, ["y"] * 4, 9)
        for texts in (["z"], ["z"] * 4):
            with pytest.raises(Problem):
                queue.submit(shout, texts, 9)
        shout.go.set()
        assert await second == ["Y"] * 4 and await first == ["X"]
        assert queue._half_done == 0  # nothing is being done

    with_queue(work, queue=4, queue_texts=16)


def test_in_an_overload_one_of_those_that_are_read_together_is_answered():
    async def work(queue: Queue) -> None:
        assert not queue.overloaded
        queue._overloaded = time.monotonic() + 60
        assert queue.overloaded and not queue.full
        queue.make_room()
        assert queue._refused == 1
        queue.expect()
        assert queue.full

    with_queue(work)


def test_how_long_a_text_takes_is_learnt():
    shout = Shout()
    shout.go.set()

    async def work(queue: Queue) -> None:
        queue._pace = 1.0
        await queue.submit(shout, ["x"] * 10, 9)
        assert 7 / 8 <= queue._pace < 1  # an eighth of the way to what it took now

    with_queue(work, texts=10)


def test_requests_that_are_read_together_do_not_all_find_the_same_room():
    async def work(queue: Queue) -> None:
        for _ in range(4):
            assert not queue.full
            queue.expect()
        assert queue.full
        await asyncio.sleep(0)  # whoever was expected has come by now, or does not come
        assert not queue._expected

    with_queue(work, queue=4)


def test_who_left_or_came_too_late_is_not_predicted():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        gone, late, last = (
            queue.submit(shout, [name], wait) for name, wait in (("gone", 9), ("late", 0.01), ("last", 9))
        )
        gone.cancel()
        await asyncio.sleep(0.05)
        shout.go.set()
        await asyncio.gather(first, last)
        assert not late.done()

    with_queue(work)
    assert shout.seen == [["x"], ["last"]]


def test_one_bad_text_fails_alone():
    shout = Shout()

    async def work(queue: Queue) -> None:
        first = queue.submit(shout, ["x"], 9)
        await asyncio.sleep(0.05)
        bad, good = queue.submit(shout, ["bad"], 9), queue.submit(shout, ["good"], 9)
        shout.go.set()
        assert await good == ["GOOD"] and await first == ["X"]
        with pytest.raises(ValueError):
            await bad

    with_queue(work)


def test_a_job_that_finds_nobody_waiting_starts_at_once():
    shout = Shout()
    shout.go.set()

    async def work(queue: Queue) -> None:
        waits = []
        for _ in range(50):
            started = time.perf_counter()
            await queue.submit(shout, ["x"], 9)
            waits.append(time.perf_counter() - started)
        assert sorted(waits)[25] < 0.005  # the median: there is no timer to wait for

    with_queue(work)


def test_what_takes_little_is_done_at_once():
    shout = Shout(pace=Pace(SHORT / 2))
    shout.go.set()

    async def work(queue: Queue) -> None:
        assert queue.submit(shout, ["x", "y"], 9).result() == ["X", "Y"]
        assert shout.pace.seconds != SHORT / 2  # and is measured again
        with pytest.raises(ValueError):
            queue.submit(shout, ["bad"], 9).result()

    with_queue(work)


@pytest.mark.parametrize(
    ("seconds", "texts"),
    [(inf, ["x"]), (1.1 * SHORT, ["x"]), (0.6 * SHORT, ["x", "y"]), (0.1 * SHORT, ["x" * (CHARACTERS + 1)])],
)
def test_what_may_take_longer_is_left_to_the_thread(seconds: float, texts: list[str]):
    shout = Shout(pace=Pace(seconds))
    shout.go.set()

    async def work(queue: Queue) -> None:
        future = queue.submit(shout, texts, 9)
        assert not future.done()
        assert await future == [text.upper() for text in texts]

    with_queue(work)


def test_a_pace_is_that_of_most_texts():
    pace = Pace()
    for at in range(100):
        pace.took(2, 0.5 if at % 10 == 5 else 0.0004)
    assert pace.allows(["x"]) and not pace.allows(["x"] * 20)  # in spite of the slow ones
    for _ in range(100):
        pace.took(1, 0.01)
    assert not pace.allows(["x"])
