"""The tables of characters are one set, whoever asks first."""

from __future__ import annotations

import threading
import time
from functools import cache

import pytest

from longtail.features import characters as tables


def test_threads_that_ask_first_at_the_same_time_get_the_same_tables(monkeypatch: pytest.MonkeyPatch):
    """With two sets, what one thread enters is not seen by the other, which then asks for it for ever."""

    def slowly() -> tables.Characters:
        time.sleep(0.05)
        return tables.Characters()

    monkeypatch.setattr(tables, "_characters", cache(slowly))  # the tables of other tests stay as they are
    found: list[object] = []
    together = threading.Barrier(4)

    def ask() -> None:
        together.wait()
        found.append(tables.characters())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for each in found}) == 1
