"""Values on disk: what goes in comes out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from longtail import store
from tests.unit.store.stored import Part, Whole, kept, whole


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
