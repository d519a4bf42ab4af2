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
from longtail.errors import ModelError


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
