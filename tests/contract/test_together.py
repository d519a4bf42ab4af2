"""What a user does to one model after the other: fewer bits, a label more, a label less, an explanation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail import fit
from longtail.corpus import Splits
from longtail.predict.export import smaller
from longtail.predict.predictor import Predictor
from tests.planted import word

BAG = {"bag.dim": 32, "bag.subwords": 0}
SETTINGS: dict[str, dict] = {
    "linear": {},
    "decaf": BAG,
    "lightdxml": BAG | {"beta": 0.5},
    "elias": BAG | {"labels_per_cluster": 8, "walk.beam": 4, "valid_documents": 0, "optim.epochs": (4, 5)},
}


@pytest.fixture(scope="module", params=SETTINGS)
def small(request: pytest.FixtureRequest, planted: Splits) -> Predictor:
    """A trained model in int8."""
    return smaller(fit(request.param, planted.train, **SETTINGS[request.param]), "int8").model


def test_a_small_model_is_explained_and_its_words_add_up(small: Predictor):
    for reason in small.explain(f"{word(3)} {word(7)} nothing else", k=3).labels:
        assert sum(each.contribution for each in reason.words) + reason.bias == pytest.approx(reason.logit, abs=1e-3)


def test_a_label_added_to_a_small_model_is_suggested_and_explained(small: Predictor, tmp_path: Path):
    more = small.add_labels([{"id": "new", "name": "new", "text": f"{word(500)} {word(501)}"}])
    more.save(tmp_path / "model")
    again = longtail.open(tmp_path / "model")
    for model in (more, again):
        [found] = model.predict([f"{word(500)} {word(501)}"], k=3)
        assert "new" in [each.id for each in found]
        [reason] = model.explain(f"{word(500)} {word(501)}", label="new").labels
        assert max(reason.words, key=lambda each: each.contribution).text in (word(500), word(501))


def test_a_label_removed_from_a_small_model_is_never_suggested(small: Predictor, planted: Splits):
    fewer = small.remove_labels(["L3"])
    assert 3 not in fewer.rank(planted.test.documents, k=60).labels
    kept = small.rank(planted.test.documents[:20], k=1).labels[:, 0]
    assert (fewer.rank(planted.test.documents[:20], k=1).labels[:, 0] == kept)[kept != 3].all()
    assert np.isfinite(fewer.rank(planted.test.documents[:20], k=60).scores).all()
