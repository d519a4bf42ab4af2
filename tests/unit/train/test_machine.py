"""How much memory there is, and sizes as people read them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from longtail.train import machine


@pytest.mark.parametrize(("limit", "expected"), [("max", 10_000), ("5000\n", 5000 - 3000 + 1000), ("90000", 10_000)])
def test_a_container_may_have_less_memory_than_its_machine(monkeypatch, tmp_path, limit, expected):
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
    monkeypatch.setattr(machine, "CONTAINER", tmp_path)
    (tmp_path / "memory.max").write_text(limit)
    (tmp_path / "memory.current").write_text("3000\n")
    (tmp_path / "memory.stat").write_text("anon 1900\ninactive_file 1000\n")
    assert machine.free_memory() == expected


def test_sizes_are_read_by_people():
    assert [machine.size(count) for count in (0, 1023, 1536, 5 * 1024**3, 2 * 1024**4, 5000 * 1024**4)] == [
        "0 bytes", "1023 bytes", "1.5 KB", "5.0 GB", "2.0 TB", "5000.0 TB",
    ]  # fmt: skip
