"""Models copied to and from other places: a directory, or the Hugging Face hub.

A copy is made of the files that the manifest names and of nothing else.  Both ends are verified, and a file that could
hold code (a pickle, under whatever name) is refused.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from longtail import store
from longtail.errors import ConfigError, MissingExtraError, ModelError

HUB = "hf:"
KINDS = (".json", ".jsonl", ".gz", ".npy", ".safetensors", ".md")  # of files that a model may have
OF_THE_HUB = frozenset({".gitattributes", store.CARD})  # that a repository has and a manifest may not name


class Client(Protocol):
    """What is asked of `huggingface_hub.HfApi`."""

    def create_repo(self, repo_id: str, *, private: bool, exist_ok: bool) -> Any:  # noqa: ANN401
        """Make a repository unless it is there."""

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str, delete_patterns: list[str]) -> Any:  # noqa: ANN401
        """One commit that makes the repository equal to a folder."""

    def list_repo_files(self, repo_id: str, *, revision: str | None) -> list[str]:
        """Names of its files."""

    def hf_hub_download(self, repo_id: str, filename: str, *, revision: str | None, local_dir: str) -> str:
        """Write one of its files into a directory."""


def push(model: Path, target: str, *, public: bool = False, client: Client | None = None) -> str:
    """Copy a model to a directory, or to `hf:OWNER/NAME`; returns where it is now."""
    check_model(model)
    if not target.startswith(HUB):
        _copy(model, store.named(target))
        return target
    repository, revision = hub_name(target)
    if revision is not None:
        raise ConfigError(f"{target}: a model is pushed to the main branch; leave out @{revision}")
    with _asking(target), tempfile.TemporaryDirectory(prefix="longtail-") as folder:
        hub = client or _client()
        _copy(model, Path(folder) / "model")
        hub.create_repo(repository, private=not public, exist_ok=True)
        # What is left of another model there would not be in this one's manifest.
        hub.upload_folder(
            repo_id=repository, folder_path=f"{folder}/model", commit_message="Model saved by longtail",
            delete_patterns=["*"],
        )  # fmt: skip
    return f"https://huggingface.co/{repository}"


def pull(source: str, target: Path, *, client: Client | None = None) -> None:
    """Copy a model from a directory, or from `hf:OWNER/NAME[@REVISION]`, into a directory."""
    store.check_target(target, store.MODEL)
    if not source.startswith(HUB):
        check_model(Path(source))
        _copy(Path(source), target)
        return
    with tempfile.TemporaryDirectory(prefix="longtail-") as folder:
        place = Path(folder) / "model"
        with _asking(source):
            _download(client or _client(), *hub_name(source), place)
        check_model(place, whose=source)
        _copy(place, target)


def hub_name(text: str) -> tuple[str, str | None]:
    """
    >>> hub_name("hf:me/my-model@v1"), hub_name("hf:me/my-model")
    (('me/my-model', 'v1'), ('me/my-model', None))
    """
    found = re.fullmatch(rf"{HUB}(?://)?([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", text)
    if found is None:
        raise ConfigError(f"{text}: write a model of the Hugging Face hub as hf:OWNER/NAME, or hf:OWNER/NAME@REVISION")
    return found[1], found[2]


# -- what may be copied ---------------------------------------------------------------------------------------------


def check_model(place: Path, whose: str = "") -> None:
    """Raise unless a directory is a sound model, with all its files in its manifest and none that could hold code."""
    store.verify(place)
    digests = store.read_manifest(place)
    there = [str(path.relative_to(place)) for path in store.files_below(place)]
    _refuse_others((name for name in there if not name.startswith(".cache/")), digests, whose or str(place))
    if store.MODEL.mark not in digests:
        raise ModelError(f"{whose or place}: there is no {store.MODEL.mark} in it, so this is not a model")
    for name in sorted({*digests} & {*there}):
        _refuse_code(place / name)


def _refuse_others(names: Iterable[str], digests: Iterable[str], whose: str) -> None:
    known = {*digests, store.MANIFEST, *OF_THE_HUB}
    if other := next((name for name in sorted(names) if name not in known), None):
        raise ModelError(f"{whose}: {other} is not named in {store.MANIFEST}; move it away, only models are copied")
    if code := next((name for name in sorted(digests) if Path(name).suffix not in KINDS), None):
        raise ModelError(f"{whose}: {code} may hold code, or is no file of a model; such a model is not copied")


def _refuse_code(path: Path) -> None:
    """A pickle begins with its protocol; PyTorch's are in zip files, and NumPy's in arrays of objects."""
    if path.is_symlink():
        raise ModelError(f"{path}: a symbolic link; a model that is shared has its own files")
    with path.open("rb") as file:
        head = file.read(256)
    objects = head.startswith(b"\x93NUMPY") and re.search(rb"'descr':\s*'\|?O", head)
    if re.match(rb"\x80[\x02-\x05]|PK\x03\x04", head) or objects:
        raise ModelError(f"{path}: a pickle, which can run code when it is read; such a model is not copied")


def _copy(source: Path, target: Path) -> None:
    """The files of the manifest, whole or not at all, verified where they are now."""
    digests = store.read_manifest(source)
    with store.whole_directory(target, store.MODEL) as building:
        for name in digests:
            if (source / name).is_file():  # a card may have been deleted
                (building / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, building / name)
    copied = store.read_manifest(target)
    if wrong := [name for name in digests if name != store.CARD and copied.get(name) != digests[name]]:
        raise ModelError(f"{target / wrong[0]}: its bytes changed while it was copied; copy it again")


# -- the hub --------------------------------------------------------------------------------------------------------


def _download(hub: Client, repository: str, revision: str | None, place: Path) -> None:
    """The manifest, and then what it names."""
    names = hub.list_repo_files(repository, revision=revision)
    if store.MANIFEST not in names:
        raise ModelError(f"{HUB}{repository}: no {store.MANIFEST}, so this is not a model of longtail")
    place.mkdir()
    hub.hf_hub_download(repository, store.MANIFEST, revision=revision, local_dir=str(place))
    digests = store.read_manifest(place)
    _refuse_others(names, digests, f"{HUB}{repository}")  # before anything else is downloaded
    for name in digests:
        if name in names:
            hub.hf_hub_download(repository, name, revision=revision, local_dir=str(place))


def _client() -> Client:
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise MissingExtraError("the Hugging Face hub", "train") from None
    return HfApi()


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """What the hub's library raises, in a sentence."""
    try:
        yield
    except (ModelError, ConfigError, MissingExtraError):
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise ModelError(
            f"{what}: the hub did not do it ({type(error).__name__}: {said:.200}); "
            "is the name right, the network there, and are you logged in (hf auth login)?"
        ) from error
