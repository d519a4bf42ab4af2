"""Arrays are mapped from files that somebody else may have made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
