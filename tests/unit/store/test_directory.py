"""A directory appears whole or not at all, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from longtail import store
from longtail.errors import ModelError
from longtail.store import directory as directories
from tests.full_disk import full_disk
from tests.unit.store.stored import kept, whole


def test_a_failure_leaves_what_stood_there_before(tmp_path: Path):
    kept(tmp_path / "v", np.arange(3))
    with pytest.raises(RuntimeError), store.whole_directory(tmp_path / "v") as building:
        store.write(building, np.arange(9))
        raise RuntimeError
    assert len(store.read(tmp_path / "v", np.ndarray)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_new_value_replaces_the_old_one(tmp_path: Path):
    kept(tmp_path / "v", np.arange(3))
    kept(tmp_path / "v", np.arange(4))
    assert len(store.read(tmp_path / "v", np.ndarray)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_finished_directory_is_as_open_as_the_user_wants(tmp_path: Path):
    mask = os.umask(0o027)
    try:
        mode = kept(tmp_path / "v", np.arange(3)).stat().st_mode & 0o777
    finally:
        os.umask(mask)
    assert mode == 0o750


@pytest.mark.parametrize(("mask", "file", "directory"), [(0o022, 0o644, 0o755), (0o007, 0o660, 0o770)])
def test_every_file_in_it_is_as_open_as_the_user_wants(mask: int, file: int, directory: int, tmp_path: Path):
    before = os.umask(mask)
    try:
        with store.whole_directory(tmp_path / "v") as building:
            store.write(building, whole())
            (building / "part").mkdir()
            store.write(building / "part", np.arange(3))
    finally:
        os.umask(before)
    for path in (tmp_path / "v", *(tmp_path / "v").rglob("*")):
        assert path.stat().st_mode & 0o777 == (directory if path.is_dir() else file), path


@pytest.mark.parametrize("stood", ["a value", "nothing"])
def test_what_arrives_while_it_is_written_is_kept(stood: str, tmp_path: Path):
    if stood == "a value":
        kept(tmp_path / "v", np.arange(3))
    with pytest.raises(ModelError), store.whole_directory(tmp_path / "v") as building:
        store.write(building, np.arange(4))
        (tmp_path / "v").mkdir(exist_ok=True)
        (tmp_path / "v" / "notes.txt").write_text("do not lose me")
    assert (tmp_path / "v" / "notes.txt").read_text() == "do not lose me"
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_what_arrives_at_the_last_moment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """After the last look at what stands there, before the two directories are swapped."""
    kept(tmp_path / "v", np.arange(3))
    swap = directories._swap

    def too_late(one: Path, other: Path) -> None:
        (other / "notes.txt").write_text("do not lose me")
        monkeypatch.setattr(directories, "_swap", swap)
        swap(one, other)

    monkeypatch.setattr(directories, "_swap", too_late)
    with pytest.raises(ModelError, match=r"notes\.txt is in it"):
        kept(tmp_path / "v", np.arange(4))
    assert (tmp_path / "v" / "notes.txt").read_text() == "do not lose me"
    assert len(store.read(tmp_path / "v", np.ndarray)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_an_interruption_right_after_the_swap_deletes_nothing_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    kept(tmp_path / "v", np.arange(3))
    swap = directories._swap
    monkeypatch.setattr(directories, "_swap", lambda *names: (swap(*names), interrupted()))
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "v", np.arange(4))
    monkeypatch.setattr(directories, "_swap", swap)
    (old,) = tmp_path.glob(".v.*")
    assert len(store.read(old, np.ndarray)) == 3 and len(store.read(tmp_path / "v", np.ndarray)) == 4
    kept(tmp_path / "v", np.arange(5))
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_without_the_system_call_that_swaps_the_old_one_is_replaced_too(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(directories.ctypes, "CDLL", lambda *_, **__: None)
    kept(tmp_path / "v", np.arange(3))
    assert len(store.read(kept(tmp_path / "v", np.arange(4)), np.ndarray)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


@pytest.mark.parametrize("value", [np.arange(10_000), ["word"] * 10_000], ids=["arrays", "strings"])
def test_a_full_disk_is_a_sentence_and_leaves_what_stood_there(value: object, tmp_path: Path):
    kept(tmp_path / "v", np.arange(3))
    with full_disk(2000), pytest.raises(ModelError, match=r"v: cannot be written \(File too large\)"):
        kept(tmp_path / "v", value)
    assert len(store.read(tmp_path / "v", np.ndarray)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


WRITING = (
    "import os, signal, sys; from pathlib import Path; from longtail import store\n"
    "with store.whole_directory(Path(sys.argv[1])) as building:\n"
    "    (building / 'large').write_text('half')\n"
    "    print('writing', flush=True); sys.stdin.read()\n"
)


def writer(target: Path) -> subprocess.Popen:
    """A process that is writing a directory, until its standard input ends."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", WRITING, str(target)], **streams)
    assert child.stdout.readline() == b"writing\n"
    return child


def test_the_next_save_deletes_what_a_killed_one_left_and_nothing_of_a_living_one(tmp_path: Path):
    with writer(tmp_path / "v") as killed:
        killed.kill()
    kept(tmp_path / "other", np.arange(3))
    assert len(list(tmp_path.glob(".v.*/large"))) == 1, "of another target"
    with writer(tmp_path / "v") as living:
        (half,) = tmp_path.glob(".v.*/large")  # the dead one's is gone
        kept(tmp_path / "v", np.arange(3))
        assert half.read_text() == "half"
        living.kill()
    kept(tmp_path / "v", np.arange(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "v"]


def test_what_was_being_deleted_when_a_save_was_killed_is_swept(tmp_path: Path):
    kept(tmp_path / "v", whole())
    kept(tmp_path / ".v.0123abcd", whole())
    (tmp_path / ".v.0123abcd" / "arrays.safetensors").unlink()
    kept(tmp_path / "v", whole())
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_directory_of_somebody_else_with_such_a_name_is_not_swept(tmp_path: Path):
    (tmp_path / ".v.settings").mkdir()
    (tmp_path / ".v.settings" / "mine").write_text("do not lose me")
    kept(tmp_path / "v", np.arange(3))
    assert (tmp_path / ".v.settings" / "mine").is_file()


def test_deleting_ends_with_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """So that what a killed process left can be told from what is somebody else's."""
    deleted = []
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **options: (deleted.append(path.name), unlink(path, **options)))
    monkeypatch.setattr(directories.shutil, "rmtree", lambda path, **_: deleted.append("rest"))
    store.delete(kept(tmp_path / "v", np.arange(3)))
    assert "arrays.safetensors" in deleted and "manifest.json" not in deleted and deleted[-1] == "rest"


def test_a_kill_at_any_moment_leaves_the_old_value_or_the_new_one(tmp_path: Path):
    """A child overwrites one directory again and again until it is killed; the directory is always whole."""
    kept(tmp_path / "v", np.full(1000, 0))
    code = (
        "import numpy as np, sys; from pathlib import Path; from longtail import store\n"
        "for n in range(1, 10**9):\n"
        "    with store.whole_directory(Path(sys.argv[1])) as building: store.write(building, np.full(1000, n))\n"
    )
    for pause in (0.6, 0.75, 0.9):
        child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "v")])
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.wait()
        store.verify(tmp_path / "v")
        assert len(set(store.read(tmp_path / "v", np.ndarray).tolist())) == 1
