"""Values on disk: what goes in comes out, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from longtail import store
from longtail.corpus import Texts
from longtail.errors import ConfigError, CorpusError, ModelError
from tests.full_disk import full_disk


@dataclass(frozen=True)
class Part:
    words: list[str]
    weights: np.ndarray


@dataclass(frozen=True)
class Whole:
    part: Part
    texts: Texts
    matrix: sp.csr_array
    absent: np.ndarray | None
    present: sp.csr_array | None
    parts: tuple[Part, ...]
    number: float
    name: str


def whole() -> Whole:
    matrix = sp.csr_array(np.array([[0, 2.5, 0], [1, 0, 0]], np.float32))
    part = Part(["été", "a\nb"], np.arange(6, dtype=np.int32).reshape(2, 3))
    return Whole(
        part, Texts.of(["x", ""]), matrix, None, matrix, (part, Part([], np.zeros((0, 4), np.float16))), 0.5, "n"
    )


def kept(directory: Path, value: object) -> Path:
    with store.whole_directory(directory) as building:
        store.write(building, value)
    return directory


@dataclass(frozen=True)
class Layers:
    weights: dict[str, np.ndarray]
    about: dict[str, object]


def test_arrays_by_name_keep_their_names(tmp_path: Path):
    went = Layers({"layer.0.weight": np.arange(4.0), "layer.0": np.ones(2)}, {"layers": 1, "names": ["a"]})
    came = store.read(kept(tmp_path / "v", went), Layers)
    assert came.weights.keys() == went.weights.keys() and came.about == went.about
    assert np.array_equal(came.weights["layer.0.weight"], np.arange(4.0))
    assert "weights.layer.0.weight" in store.mapped_arrays(tmp_path / "v" / "arrays.safetensors")


def test_a_value_comes_back_as_it_went_in(tmp_path: Path):
    came, went = store.read(kept(tmp_path / "v", whole()), Whole), whole()
    assert came.part.words == went.part.words and came.parts[1].words == []
    assert list(came.texts) == ["x", ""] and came.absent is None and (came.number, came.name) == (0.5, "n")
    assert (came.matrix != went.matrix).nnz == 0 and came.matrix.dtype == np.float32 and came.present is not None
    for ours, theirs in ((came.part.weights, went.part.weights), (came.parts[1].weights, went.parts[1].weights)):
        assert np.array_equal(ours, theirs) and ours.dtype == theirs.dtype


@given(
    hnp.arrays(
        st.sampled_from(["<f4", "<f8", "<i4", "<i8", "u1", "?", "<f2"]), hnp.array_shapes(max_dims=3, min_side=0)
    )
)
def test_any_array_comes_back_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray):
    came = store.read(kept(tmp_path_factory.mktemp("a") / "v", array), np.ndarray)
    assert came.dtype == array.dtype and came.shape == array.shape and came.tobytes() == array.tobytes()


def test_arrays_are_mapped_and_cannot_be_written_by_accident(tmp_path: Path):
    came = store.read(kept(tmp_path / "v", np.arange(5.0)), np.ndarray)
    assert isinstance(came.base, (np.memmap, np.ndarray))
    with pytest.raises(ValueError, match="read-only"):
        came[0] = 1


def test_a_sparse_matrix_is_mapped_too(tmp_path: Path):
    matrix = store.read(kept(tmp_path / "v", whole()), Whole).matrix
    assert not (matrix.data.flags.writeable or matrix.indices.flags.writeable or matrix.T.indices.flags.writeable)


def test_what_cannot_be_stored_is_said_with_its_path(tmp_path: Path):
    with pytest.raises(TypeError, match=r"words\.0: object"):
        kept(tmp_path / "v", Part([object()], np.zeros(1)))  # type: ignore[list-item]
    assert not (tmp_path / "v").exists()


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


# -- what is replaced -----------------------------------------------------------------------------------------------


def everything(directory: Path) -> dict[str, bytes | None]:
    paths = sorted(directory.rglob("*"))
    return {str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in paths}


IN_THE_WAY = {
    "a full directory": {"v/thesis/chapter.tex": "years of work"},
    "a file": {"v": "years of work"},
    "a project with such names": {"v/manifest.json": '{"name": "app"}', "v/value.json": "{}", "v/app.js": "x"},
    "a manifest that is not ours": {"v/manifest.json": "[1]", "v/value.json": "{}"},
    "a value that was not copied whole": {"v/value.json": "{}", "v/arrays.safetensors": "x"},
}


@pytest.mark.parametrize("files", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_not_ours_is_refused_and_nothing_of_it_is_lost(files: dict[str, str], tmp_path: Path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = everything(tmp_path)
    with pytest.raises(ModelError, match=r"v: exists already and is not a .*; choose another place"):
        kept(tmp_path / "v", np.arange(3))
    assert everything(tmp_path) == before


def test_it_is_refused_before_anything_is_computed(tmp_path: Path):
    (tmp_path / "v").write_text("years of work")
    with pytest.raises(ModelError), store.whole_directory(tmp_path / "v"):
        raise AssertionError("computed")


def test_a_directory_of_another_kind_is_refused(tmp_path: Path):
    kept(tmp_path / "v", np.arange(3))
    with pytest.raises(ModelError, match="v: exists already and is not a model"):
        store.check_target(tmp_path / "v", store.MODEL)
    with pytest.raises(CorpusError, match="v: exists already;"):
        store.check_target(tmp_path / "v", store.Kind("a corpus", None, CorpusError))


def test_an_empty_directory_is_filled(tmp_path: Path):
    (tmp_path / "v").mkdir()
    assert len(store.read(kept(tmp_path / "v", np.arange(3)), np.ndarray)) == 3


@pytest.mark.parametrize("name", ["notes.txt", "sub/notes.txt", ".notes"])
def test_a_file_that_somebody_put_into_it_is_named_and_kept(name: str, tmp_path: Path):
    notes = kept(tmp_path / "v", np.arange(3)) / name
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("do not lose me")
    with pytest.raises(ModelError, match=f"v: {name} is in it, .* would be lost"):
        kept(tmp_path / "v", np.arange(4))
    assert notes.read_text() == "do not lose me" and len(store.read(tmp_path / "v", np.ndarray)) == 3


def test_a_link_that_somebody_put_into_it_is_named_and_kept(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (kept(tmp_path / "v", np.arange(3)) / "notes").symlink_to(tmp_path / "notes")
    with pytest.raises(ModelError, match="v: notes is in it"):
        kept(tmp_path / "v", np.arange(4))


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
    swap = store._swap

    def too_late(one: Path, other: Path) -> None:
        (other / "notes.txt").write_text("do not lose me")
        monkeypatch.setattr(store, "_swap", swap)
        swap(one, other)

    monkeypatch.setattr(store, "_swap", too_late)
    with pytest.raises(ModelError, match=r"notes\.txt is in it"):
        kept(tmp_path / "v", np.arange(4))
    assert (tmp_path / "v" / "notes.txt").read_text() == "do not lose me"
    assert len(store.read(tmp_path / "v", np.ndarray)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_an_interruption_right_after_the_swap_deletes_nothing_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    kept(tmp_path / "v", np.arange(3))
    swap = store._swap
    monkeypatch.setattr(store, "_swap", lambda *names: (swap(*names), interrupted()))
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "v", np.arange(4))
    monkeypatch.setattr(store, "_swap", swap)
    (old,) = tmp_path.glob(".v.*")
    assert len(store.read(old, np.ndarray)) == 3 and len(store.read(tmp_path / "v", np.ndarray)) == 4
    kept(tmp_path / "v", np.arange(5))
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_without_the_system_call_that_swaps_the_old_one_is_replaced_too(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(store.ctypes, "CDLL", lambda *_, **__: None)
    kept(tmp_path / "v", np.arange(3))
    assert len(store.read(kept(tmp_path / "v", np.arange(4)), np.ndarray)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_link_stays_and_the_directory_that_it_points_to_is_written(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "current").symlink_to(tmp_path / "disk" / "v")
    for count in (3, 4):  # where nothing stands yet, and where a value does
        kept(tmp_path / "current", np.arange(count))
        assert (tmp_path / "current").is_symlink()
        assert len(store.read(tmp_path / "disk" / "v", np.ndarray)) == count
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["v"]


def test_a_link_to_what_is_not_ours_is_refused(tmp_path: Path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "v").symlink_to("thesis")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(ModelError, match="thesis: exists already"):
        kept(tmp_path / "v", np.arange(3))
    with pytest.raises(ModelError, match="circle: cannot be written"):
        kept(tmp_path / "circle", np.arange(3))
    assert (tmp_path / "thesis" / "chapter.tex").is_file() and (tmp_path / "v").is_symlink()


def test_the_current_directory_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for here in (Path(), tmp_path):
        with pytest.raises(ModelError, match="is the current directory"):
            kept(here, np.arange(3))


def test_an_empty_path_is_refused():
    with pytest.raises(ConfigError, match="an empty path was given"):
        store.named("")
    assert store.named("x") == Path("x")


# -- what the system refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["file/v", "file/sub/v"])
def test_a_path_through_a_file_is_a_sentence(path: str, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match=rf"{path}: cannot be written \(Not a directory\); move the file away"):
        kept(tmp_path / path, np.arange(3))


@pytest.mark.parametrize("value", [np.arange(10_000), ["word"] * 10_000], ids=["arrays", "strings"])
def test_a_full_disk_is_a_sentence_and_leaves_what_stood_there(value: object, tmp_path: Path):
    kept(tmp_path / "v", np.arange(3))
    with full_disk(2000), pytest.raises(ModelError, match=r"v: cannot be written \(File too large\)"):
        kept(tmp_path / "v", value)
    assert len(store.read(tmp_path / "v", np.ndarray)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


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


# -- what is left behind --------------------------------------------------------------------------------------------

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
    monkeypatch.setattr(store.shutil, "rmtree", lambda path, **_: deleted.append("rest"))
    store.delete(kept(tmp_path / "v", np.arange(3)))
    assert "arrays.safetensors" in deleted and "manifest.json" not in deleted and deleted[-1] == "rest"


def test_verify_names_the_file_that_is_missing_or_changed(tmp_path: Path):
    store.verify(kept(tmp_path / "v", whole()))
    with (tmp_path / "v/arrays.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(ModelError, match=r"arrays\.safetensors.*changed"):
        store.verify(tmp_path / "v")
    (tmp_path / "v/arrays.safetensors").unlink()
    with pytest.raises(ModelError, match=r"arrays\.safetensors: missing"):
        store.verify(tmp_path / "v")
    (tmp_path / "v/manifest.json").unlink()
    with pytest.raises(ModelError, match="not a finished model"):
        store.verify(tmp_path / "v")
    with pytest.raises(ModelError, match="no such directory"):
        store.verify(tmp_path / "nothing")


@given(st.binary(max_size=200))
def test_a_file_that_is_not_safetensors_is_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("s") / "x.safetensors"
    path.write_bytes(data)
    try:
        assert store.mapped_arrays(path) == {}
    except ModelError as error:
        assert "x.safetensors" in str(error)


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
