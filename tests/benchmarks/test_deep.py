"""What the transformers' benchmark trains, and what it does not train twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import deep
from longtail.config import build
from longtail.methods import method


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple]:
    monkeypatch.chdir(tmp_path)
    asked: list[tuple] = []
    monkeypatch.setattr(deep.longtail, "fit", lambda method, train, run, **settings: asked.append((method, settings)))
    return asked


def test_settings_of_a_row_reach_the_method_that_proposes(fits: list[tuple]):
    deep.trained("toy", "GUDN, no guide", None, {"optim.row_lr": 0.1})
    deep.trained("toy", "GUDN++", None, {"optim.row_lr": 0.1})
    encoder = deep.ENCODER["encoder"]
    assert fits == [
        ("gudn/no-guide", {"encoder": encoder, "optim.row_lr": 0.1}),
        ("gudn++", {"gudn.encoder": encoder, "gudn.optim.row_lr": 0.1}),
    ]


def test_a_row_with_plus_takes_up_what_the_one_without_trained(fits: list[tuple]):
    plain, plus = deep.run_of("toy", "LightXML"), deep.run_of("toy", "LightXML++")
    assert plain != plus
    (plain / "training" / "lightxml").mkdir(parents=True)
    deep.trained("toy", "LightXML++", None, {})
    assert (plus / "training" / "lightxml").is_dir()


@pytest.mark.parametrize("row", deep.ROWS)
def test_settings_of_every_row_are_there(row: str):
    name, own = deep.ROWS[row]
    build(method(name).Config, own)
