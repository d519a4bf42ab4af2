"""A corpus whose answer is known, and an environment where nothing is slow or remote."""

from __future__ import annotations

import os

# Before NumPy, numba or torch start: with two cores their own pools cost more than they give on tiny data.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import warnings
from pathlib import Path

import pytest

from longtail.corpus import Splits
from tests.planted import WORDS, planted_splits


@pytest.fixture(scope="session")
def planted() -> Splits:
    """Every label owns a word: see tests/planted.py."""
    return planted_splits()


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer that knows the planted words and nothing about them: see tests/tiny_encoders.py."""
    from tests.tiny_encoders import write_encoder  # torch is not for tests that do without

    return write_encoder(tmp_path_factory.mktemp("encoder"), WORDS, dropout=0.0)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests neither read nor fill the user's corpus cache."""
    os.environ["LONGTAIL_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def real_corpora() -> Path:
    """The real corpora, for slow tests; absent ones are said aloud."""
    place = Path(os.environ.get("LONGTAIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        message = f"SKIPPED, NOT PASSED: no corpora at {place}; set LONGTAIL_DATA to the directory that holds them"
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return place
