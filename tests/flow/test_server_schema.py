"""Both interfaces, held against their own descriptions by schemathesis."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.serving import Server, running


@pytest.fixture(scope="module")
def schemathesis() -> str:
    """Its command, which lives in an environment of its own."""
    command = os.environ.get("LONGTAIL_SCHEMATHESIS") or shutil.which("schemathesis")
    if command is None or not Path(command).is_file():
        message = (
            "SKIPPED, NOT PASSED: no schemathesis; install it into a venv, name its command in LONGTAIL_SCHEMATHESIS"
        )
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return command


@pytest.fixture(scope="module")
def server(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("models") / "demo"  # as the examples of the description call it
    fit("linear", planted.train).save(place)
    with running(place) as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["openapi.json", "openapi-annif.json"])
def test_schemathesis_finds_nothing(schemathesis: str, server: Server, schema: str, tmp_path: Path):
    # Five dictionaries of /detect-language take 13 s of processor time, and the server allows 60 s.
    seed = {"openapi.json": "2", "openapi-annif.json": "4"}[schema]  # those that found something once
    words = ["run", f"{server.base}/{schema}", "--max-examples", "100", "--seed", seed, "--request-timeout", "90"]
    done = subprocess.run([schemathesis, *words], capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-5000:]
