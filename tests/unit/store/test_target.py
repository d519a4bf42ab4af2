"""What stands where a directory is to be written: replaced if it is ours, else refused and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longtail import store
from longtail.errors import ConfigError, CorpusError, ModelError
from tests.unit.store.stored import kept


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


@pytest.mark.parametrize("path", ["file/v", "file/sub/v"])
def test_a_path_through_a_file_is_a_sentence(path: str, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match=rf"{path}: cannot be written \(Not a directory\); move the file away"):
        kept(tmp_path / path, np.arange(3))
