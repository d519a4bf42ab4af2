"""What people are told while a training runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from longtail import progress
from longtail.progress import Stage
from longtail.train.watch import Watch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def test_the_time_left_forgets_the_first_batch_which_compiles(clock: SimpleNamespace):
    said: list[str] = []
    run = SimpleNamespace(watched=lambda name: Stage(name, said.append), log=lambda *_, **__: None)
    watch = Watch(run, "ranker", [], done=40, total=140, per_epoch=100)  # type: ignore[arg-type]
    clock.now += 90
    watch.step(1.0, 8)
    assert watch.seconds_left() == 0 and not said  # nothing is known yet, and nothing is said
    for _ in range(10):
        clock.now += 0.6
        watch.step(1.0, 8)
    assert watch.seconds_left() == pytest.approx((140 - 51) * 0.6)
    assert len(said) == 1 and said[0].startswith("ranker: epoch 1 of 1, loss 1") and "left" in said[0]
