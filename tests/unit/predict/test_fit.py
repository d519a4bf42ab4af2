"""Training with any method: what is refused before it starts, and what the model knows of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail import fit
from longtail.corpus import Corpus, Splits
from longtail.errors import CorpusError, ModelError
from longtail.predict.predictor import Predictor


def test_a_model_knows_where_it_comes_from(model: Predictor, planted: Splits):
    assert model.about.method == "centroid" and "numpy" in model.about.versions
    assert model.about.corpus == {
        "name": "planted", "fingerprint": planted.train.fingerprint, "documents": 600, "labels": 60,
    }  # fmt: skip
    assert np.array_equal(model.counts, np.asarray(planted.train.labels.sum(axis=0), int))


def test_a_model_that_could_not_be_saved_is_not_trained(planted: Splits, tmp_path: Path):
    fit("centroid", planted.train, run=tmp_path)
    shutil.rmtree(tmp_path / "model")
    shutil.rmtree(tmp_path / "stages")
    (tmp_path / "model").write_text("in the way")
    with pytest.raises(ModelError, match="model: exists already and is not a directory"):
        fit("centroid", planted.train, run=tmp_path)
    assert not (tmp_path / "stages").exists() and (tmp_path / "model").read_text() == "in the way"


def test_training_on_nothing_is_refused():
    with pytest.raises(CorpusError, match="nothing to learn from"):
        fit("centroid", Corpus.of([], []))


@pytest.mark.parametrize("method", ["centroid", "auto"])
def test_training_on_empty_texts_is_refused_with_what_to_do(method: str):
    with pytest.raises(CorpusError, match=r"all 20 texts are empty, .*name the column of the text \(--text; in Python"):
        fit(method, Corpus.of(["", " \n"] * 10, [["a"], ["b"]] * 10))


def test_a_method_that_needs_torch_says_what_to_install_where_there_is_none():
    code = (
        "import sys; sys.modules['torch'] = None; import longtail;"
        "longtail.fit('decaf', longtail.Corpus.of(['red fox', 'blue sea'], [['fox'], ['sea']]))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "training decaf needs packages that are not installed; run: pip install 'longtail[train]'" in said
