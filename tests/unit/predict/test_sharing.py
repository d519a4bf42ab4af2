"""Models pushed and pulled: to a directory, and to a hub that is a directory here."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longtail
from longtail import store
from longtail.corpus import Splits
from longtail.errors import ConfigError, ModelError
from longtail.predict.sharing import hub_name, pull, push


class FakeHub:
    """What `HfApi` does, on a directory."""

    def __init__(self, place: Path):
        self.place, self.private, self.asked = place, None, []

    def create_repo(self, repo_id: str, *, private: bool, exist_ok: bool) -> None:
        self.private = private
        (self.place / repo_id).mkdir(parents=True, exist_ok=exist_ok)

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str, delete_patterns: list[str]) -> None:
        assert commit_message and delete_patterns == ["*"]
        shutil.rmtree(self.place / repo_id)
        shutil.copytree(folder_path, self.place / repo_id)
        (self.place / repo_id / ".gitattributes").write_text("*.safetensors filter=lfs\n")

    def list_repo_files(self, repo_id: str, *, revision: str | None) -> list[str]:
        self.asked.append(revision)
        files = (path for path in (self.place / repo_id).rglob("*") if path.is_file())
        return [str(path.relative_to(self.place / repo_id)) for path in files]

    def hf_hub_download(self, repo_id: str, filename: str, *, revision: str | None, local_dir: str) -> str:
        target = Path(local_dir) / filename
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.place / repo_id / filename, target)
        (Path(local_dir) / ".cache" / "huggingface").mkdir(parents=True, exist_ok=True)
        (Path(local_dir) / ".cache" / "huggingface" / "x.metadata").write_text("1")
        return str(target)


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shared") / "model"
    longtail.fit("centroid", planted.train).save(place)
    return place


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


@pytest.fixture
def hub(tmp_path: Path) -> FakeHub:
    return FakeHub(tmp_path / "hub")


def answers(place: Path) -> Any:
    return longtail.open(place).predict(["ba du", "bababa"], k=3)


def test_a_directory_and_back(model: Path, tmp_path: Path):
    push(model, str(tmp_path / "there"))
    pull(str(tmp_path / "there"), tmp_path / "here")
    assert answers(tmp_path / "here") == answers(model)
    assert store.read_manifest(tmp_path / "here") == store.read_manifest(model)


def test_the_hub_and_back(model: Path, hub: FakeHub, tmp_path: Path):
    assert push(model, "hf:me/garden", client=hub) == "https://huggingface.co/me/garden"
    assert hub.private is True
    pull("hf:me/garden@v1", tmp_path / "here", client=hub)
    assert hub.asked == ["v1"] and answers(tmp_path / "here") == answers(model)
    assert not (tmp_path / "here" / ".gitattributes").exists() and not (tmp_path / "here" / ".cache").exists()
    push(model, "hf:me/garden", public=True, client=hub)
    assert hub.private is False


def test_a_card_that_was_edited_on_the_hub_is_pulled(model: Path, hub: FakeHub, tmp_path: Path):
    push(model, "hf:me/garden", client=hub)
    (hub.place / "me/garden/README.md").write_text("Edited there.")
    pull("hf:me/garden", tmp_path / "here", client=hub)
    assert (tmp_path / "here" / "README.md").read_text() == "Edited there."


def named(place: Path, name: str, data: bytes) -> None:
    """A file that the manifest names too."""
    (place / name).write_bytes(data)
    manifest = json.loads((place / store.MANIFEST).read_text())
    manifest["sha256"][name] = store.sha256(place / name)
    (place / store.MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("weights.pkl", b"", "may hold code"),
        ("weights.bin", b"x", "may hold code"),
        ("run.py", b"print()", "may hold code"),
        ("more.npy", pickle.dumps([1]), "a pickle"),
        ("more.json", b"PK\x03\x04rest", "a pickle"),
        ("more.safetensors", pickle.dumps({}, 2), "a pickle"),
    ],
)
def test_what_could_hold_code_is_refused_though_the_manifest_names_it(
    name: str, data: bytes, said: str, copy: Path, hub: FakeHub, tmp_path: Path
):
    named(copy, name, data)
    for refused in (
        lambda: push(copy, str(tmp_path / "out")),
        lambda: push(copy, "hf:me/evil", client=hub),
        lambda: pull(str(copy), tmp_path / "out"),
    ):
        with pytest.raises(ModelError, match=said):
            refused()
    shutil.copytree(copy, hub.place / "me/evil")
    with pytest.raises(ModelError, match=said):
        pull("hf:me/evil", tmp_path / "out", client=hub)
    assert not (tmp_path / "out").exists()


def test_arrays_of_objects_are_refused(copy: Path, tmp_path: Path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    named(copy, "objects.npy", (tmp_path / "objects.npy").read_bytes())
    with pytest.raises(ModelError, match="a pickle"):
        push(copy, str(tmp_path / "out"))


@pytest.mark.parametrize("name", ["notes.txt", "evil.pkl", "members/0/x.bin"])
def test_what_the_manifest_does_not_name_is_refused(name: str, copy: Path, hub: FakeHub, tmp_path: Path):
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    (copy / name).write_text("x")
    shutil.copytree(copy, hub.place / "me/notes")
    with pytest.raises(ModelError, match=r"is not named in manifest\.json"):
        push(copy, str(tmp_path / "out"))
    with pytest.raises(ModelError, match=r"is not named in manifest\.json"):
        pull("hf:me/notes", tmp_path / "out", client=hub)
    assert not (tmp_path / "out").exists()


def test_a_damaged_model_is_refused_on_either_way(model: Path, hub: FakeHub, tmp_path: Path):
    push(model, "hf:me/garden", client=hub)
    (hub.place / "me/garden/label_counts.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ModelError, match="its bytes changed"):
        pull("hf:me/garden", tmp_path / "out", client=hub)
    with pytest.raises(ModelError, match="its bytes changed"):
        push(hub.place / "me/garden", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_manifest_cannot_name_files_elsewhere(copy: Path, hub: FakeHub, tmp_path: Path):
    manifest = json.loads((copy / store.MANIFEST).read_text())
    manifest["sha256"]["../evil.json"] = "0"
    (copy / store.MANIFEST).write_text(json.dumps(manifest))
    shutil.copytree(copy, hub.place / "me/evil")
    with pytest.raises(ModelError, match="no file of this directory"):
        pull("hf:me/evil", tmp_path / "out", client=hub)


def test_a_link_is_refused(copy: Path, tmp_path: Path):
    (copy / "model.json").rename(tmp_path / "model.json")
    (copy / "model.json").symlink_to(tmp_path / "model.json")
    with pytest.raises(ModelError, match="symbolic link"):
        push(copy, str(tmp_path / "out"))


def test_other_repositories_and_unreachable_hubs_are_sentences(hub: FakeHub, model: Path, tmp_path: Path):
    hub.create_repo("me/bert", private=True, exist_ok=True)
    with pytest.raises(ModelError, match="not a model of longtail"):
        pull("hf:me/bert", tmp_path / "out", client=hub)

    class Unreachable(FakeHub):
        def list_repo_files(self, repo_id: str, *, revision: str | None) -> list[str]:
            raise ConnectionError("no route to host")

    with pytest.raises(ModelError, match=r"no route to host.*logged in"):
        pull("hf:me/x", tmp_path / "out", client=Unreachable(hub.place))
    with pytest.raises(ConfigError, match="main branch"):
        push(model, "hf:me/x@v2", client=hub)


@pytest.mark.parametrize("name", ["hf:", "hf:me", "hf:me/a/b", "hf:me/a b", "hf:../x"])
def test_names_of_the_hub_have_an_owner(name: str):
    with pytest.raises(ConfigError, match="hf:OWNER/NAME"):
        hub_name(name if name != "hf:../x" else "hf:..//x")


def test_something_else_is_not_replaced(model: Path, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="exists already"):
        pull(str(model), tmp_path / "mine")
    with pytest.raises(ModelError, match="exists already"):
        push(model, str(tmp_path / "mine"))
