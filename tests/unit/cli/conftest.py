from __future__ import annotations

import sys
from pathlib import Path

import pytest

from longtail import cli, fit, load
from longtail.corpus import Splits
from longtail.data.write import write
from tests.unit.cli.commands import Command


@pytest.fixture(scope="package")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and a model that left its val split out."""
    place = tmp_path_factory.mktemp("cli")
    write(planted, place / "corpus")
    fit("centroid", planted.without_valid).save(place / "model")
    return place


@pytest.fixture
def longtail(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command as typed in a directory with `corpus` and `model`: exit code, standard output, standard error."""
    monkeypatch.chdir(place)
    # A name of the package is looked up once and kept: now, before a test puts something else into its place.
    monkeypatch.setattr("longtail.load", load)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["longtail", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, *capsys.readouterr()

    return run
