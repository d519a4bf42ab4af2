"""What the transformers' benchmark trains, and what it does not train twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import deep


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple]:
    monkeypatch.chdir(tmp_path)
    asked: list[tuple] = []
    monkeypatch.setattr(deep.longtail, "fit", lambda method, train, run, **settings: asked.append((method, settings)))
    return asked


def test_settings_of_a_row_reach_the_method_that_proposes(fits: list[tuple]):
    deep.trained("toy", "GUDN, no guide", None, {"head_lr": 0.1})
    deep.trained("toy", "GUDN++", None, {"head_lr": 0.1})
    encoder = deep.ENCODER["encoder"]
    assert fits == [
        ("gudn", {"encoder": encoder, "head_lr": 0.1, "feature_guide": 0, "link_guide": 0}),
        ("gudn++", {"gudn.encoder": encoder, "gudn.head_lr": 0.1}),
    ]


def test_a_row_with_plus_takes_up_what_the_one_without_trained(fits: list[tuple]):
    plain, plus = deep.run_of("toy", "LightXML"), deep.run_of("toy", "LightXML++")
    assert plain != plus
    (plain / "training" / "lightxml").mkdir(parents=True)
    deep.trained("toy", "LightXML++", None, {})
    assert (plus / "training" / "lightxml").is_dir()
