"""Several models as one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from longtail import combine, fit
from longtail import open as open_model
from longtail.corpus import Corpus, Documents, Splits
from longtail.errors import ConfigError, ModelError
from longtail.predict.predictor import Predictor


def test_an_ensemble_of_one_ranks_like_its_member(model: Predictor, planted: Splits):
    one, alone = combine([model]).rank(planted.test.documents, 5), model.rank(planted.test.documents, 5)
    assert np.array_equal(one.labels, alone.labels)
    np.testing.assert_allclose(one.scores, alone.scores, atol=1e-6)


def test_an_ensemble_survives_saving(model: Predictor, planted: Splits, tmp_path: Path):
    both = combine([model, fit("linear", planted.train)], [1, 3])
    both.save(tmp_path / "both")
    opened = open_model(tmp_path / "both")
    assert np.array_equal(opened.rank(planted.test.documents, 5).scores, both.rank(planted.test.documents, 5).scores)
    assert opened.predict([""], k=1) == both.predict([""], k=1)


def test_an_ensemble_of_ensembles_is_an_ensemble(model: Predictor, planted: Splits, tmp_path: Path):
    combine([combine([model, model]), model]).save(tmp_path / "nested")
    assert np.array_equal(
        open_model(tmp_path / "nested").rank(planted.test.documents, 3).labels,
        model.rank(planted.test.documents, 3).labels,
    )


def test_members_with_other_labels_or_wrong_weights_are_refused(model: Predictor):
    other = fit("centroid", Corpus.of(["a", "b"], [["x"], ["y"]]))
    with pytest.raises(ModelError, match="other labels"):
        combine([model, other])
    for weights in ([1.0], [-1.0, 2.0], [0.0, 0.0]):
        with pytest.raises(ConfigError, match="weights"):
            combine([model, model], weights)
    with pytest.raises(ConfigError, match="at least one"):
        combine([])


def test_a_member_without_weight_is_not_asked(model: Predictor, planted: Splits):
    class Silent:
        def rank(self, documents: Documents, k: int) -> None:
            raise AssertionError("asked")

    silent = dataclasses.replace(model, model=Silent())
    some = planted.test.documents[:3]
    assert np.array_equal(combine([model, silent], [1, 0]).rank(some, 5).labels, combine([model]).rank(some, 5).labels)
    with pytest.raises(AssertionError, match="asked"):
        combine([model, silent], [1, 0.1]).rank(some, 5)
