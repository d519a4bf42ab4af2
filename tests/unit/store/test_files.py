"""Small files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from longtail import store
from tests.full_disk import full_disk


def test_a_small_file_is_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "m.json"
    store.write_whole(path, "old")
    path.chmod(0o600)
    with full_disk(2000), pytest.raises(OSError, match="File too large"):
        store.write_whole(path, "new" * 1000)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    store.write_whole(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o600


def test_a_device_or_a_link_is_written_where_it_stands(tmp_path: Path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    store.write_whole(tmp_path / "link", "new")
    store.write_whole(Path("/dev/null"), "nothing")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "new"
    assert Path("/dev/null").is_char_device()
