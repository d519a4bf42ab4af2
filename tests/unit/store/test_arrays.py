"""Arrays are mapped from files that somebody else may have made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from longtail import store
from longtail.errors import ModelError


@given(st.binary(max_size=200))
def test_a_file_that_is_not_safetensors_is_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("s") / "x.safetensors"
    path.write_bytes(data)
    try:
        assert store.mapped_arrays(path) == {}
    except ModelError as error:
        assert "x.safetensors" in str(error)


def test_a_mapped_array_gives_its_memory_back_and_still_has_its_numbers(tmp_path: Path):
    save_file({"a": np.arange(4_000_000, dtype=np.float32).reshape(-1, 4)}, tmp_path / "x.safetensors")
    array = store.mapped_arrays(tmp_path / "x.safetensors")["a"]
    total = array.sum(dtype=np.float64)
    held = psutil.Process().memory_info().rss
    store.let_go(array)
    assert psutil.Process().memory_info().rss < held - 8_000_000
    assert array.sum(dtype=np.float64) == total


def test_an_array_that_is_not_mapped_stays_as_it_is():
    array = np.ones(3)
    store.let_go(array)
    assert array.tolist() == [1, 1, 1]
