"""Values on disk: what goes in comes out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from longtail import store
from longtail.errors import ModelError
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


# -- one of several kinds --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    radius: np.ndarray


@dataclass(frozen=True)
class Square:
    side: np.ndarray
    turned: float = 0.0


@dataclass(frozen=True)
class Drawing:
    shape: Round | Square
    other: Round | Square | None = None


ONE, TWO = np.ones(1), np.full(2, 2.0)


@pytest.mark.parametrize("shape", [Round(ONE), Square(ONE), Square(TWO, 0.5)])
def test_one_of_several_dataclasses_comes_back_as_what_it_was(shape: Round | Square, tmp_path: Path):
    came = store.read(kept(tmp_path / "v", Drawing(shape)), Drawing)
    assert type(came.shape) is type(shape) and came.other is None
    both = store.read(kept(tmp_path / "w", Drawing(Round(TWO), shape)), Drawing)
    assert type(both.shape) is Round and type(both.other) is type(shape)


def lied(directory: Path, value: object, **fields: object) -> Path:
    """The value on disk, with other fields in its JSON and a manifest that vouches for them."""
    kept(directory, value)
    plain = json.loads((directory / "value.json").read_text()) | fields
    (directory / "value.json").write_text(json.dumps(plain))
    return directory


@pytest.mark.parametrize(
    "lie",
    [
        {"radius": None, "side": None},  # of both
        {"turned": 0.5},  # of the second, and not enough
        {"edges": None},  # of neither
        {},
        None,
        3,
        "round",
        ["radius"],
        {"side": None},  # of the second, whose array is not there
        {"side": None, "turned": "much"},
    ],
    ids=str,
)
def test_fields_of_neither_kind_are_refused(lie: object, tmp_path: Path):
    with pytest.raises(ModelError, match="shape"):
        store.read(lied(tmp_path / "v", Drawing(Round(ONE)), shape=lie), Drawing)


# -- one part of several -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    one: Part
    other: Part


def test_a_part_that_is_held_twice_is_written_once_and_comes_back_as_one(tmp_path: Path):
    part = Part(["a", "b"], np.arange(1000.0))
    came = store.read(kept(tmp_path / "v", Pair(part, part)), Pair)
    assert came.one is came.other and came.other.words == ["a", "b"] and came.other.weights[999] == 999
    assert json.loads((tmp_path / "v" / "value.json").read_text())["other"] == {"same as": "one"}
    assert store.mapped_arrays(tmp_path / "v" / "arrays.safetensors").keys() == {"one.weights"}
    assert not (tmp_path / "v" / "other.words.json").exists()


def test_parts_that_are_equal_but_two_stay_two(tmp_path: Path):
    came = store.read(kept(tmp_path / "v", Pair(*(Part(["a"], np.ones(2)) for _ in range(2)))), Pair)
    assert came.one is not came.other and came.other.words == ["a"]


def test_one_of_several_kinds_may_be_held_twice_too(tmp_path: Path):
    square = Square(TWO, 0.5)
    came = store.read(kept(tmp_path / "v", Drawing(square, square)), Drawing)
    assert came.shape is came.other and came.other.turned == 0.5


@pytest.mark.parametrize("where", ["nowhere", "other", "", "one.words", 3, None, ["one"], {"same as": "one"}], ids=str)
def test_a_part_that_is_the_same_as_nothing_is_refused(where: object, tmp_path: Path):
    """Unknown, itself, the whole around it, no dataclass, no path at all."""
    part = Part(["a"], np.ones(2))
    with pytest.raises(ModelError, match=r"other is the same as .*, where no Part was read"):
        store.read(lied(tmp_path / "v", Pair(part, part), other={"same as": where}), Pair)


def test_a_part_that_is_the_same_as_one_of_another_kind_is_refused(tmp_path: Path):
    @dataclass(frozen=True)
    class Mixed:
        part: Part
        shape: Round

    went = Mixed(Part(["a"], np.ones(2)), Round(ONE))
    with pytest.raises(ModelError, match="shape is the same as 'part', where no Round was read"):
        store.read(lied(tmp_path / "v", went, shape={"same as": "part"}), Mixed)
    drawn = Drawing(Round(ONE), Round(TWO))
    assert store.read(lied(tmp_path / "w", drawn, other={"same as": "shape"}), Drawing).other.radius[0] == 1


def test_a_part_cannot_be_the_same_as_one_that_comes_after_it(tmp_path: Path):
    part = Part(["a"], np.ones(2))
    with pytest.raises(ModelError, match="one is the same as 'other'"):
        store.read(lied(tmp_path / "v", Pair(part, part), one={"same as": "other"}), Pair)
