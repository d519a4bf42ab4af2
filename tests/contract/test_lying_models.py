"""Every class that is stored, in models that lie: see tests/mutants.py.  test_methods.py has a few of each method."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.corpus import Splits
from longtail.index.clusters import Clusters
from longtail.judge.joining import join
from longtail.predict.export import everywhere, in_precision
from longtail.predict.labels import write_labels
from longtail.predict.predictor import Predictor
from longtail.rankers.joint import Known
from longtail.rankers.label_rows import Coarse, LabelRows
from tests import mutants
from tests.contract.test_methods import CASES, ENCODERS, SETTINGS, method_of, trained

# Settings that bring in what the contract's tiny models do without.
DEEPER = {
    "linear of two deep trees": {"labels_per_cluster": 4, "branching": 4, "trees": 2},
    "lightdxml over a graph": {"search.links": 32},
    "decaf of two instances": {"labels_per_cluster": 4, "instances": 2},
    "elias/fixed": SETTINGS["elias"],
    "elias/one-vs-all": SETTINGS["elias"],
    "decaf/lite": {"bag.subwords": 0, "bag.dim": 16, "labels_per_cluster": 4, "optim.epochs": (4, 3, 2)},
    "elias++ with a tree of scores": SETTINGS["elias++"] | {"valid_documents": 60},
}
ENSEMBLE = "ensemble of calibrated models"
JOINT = "ensemble with a learned score"
# Methods whose rows are then stored in fewer bits, or in two levels.
SMALLER = {"decaf in int8": "int8", "decaf in fp16": "fp16", "lightdxml in int8": "int8", "elias in int8": "int8"}
TWO_LEVELS = "decaf in two levels"


def made(name: str, planted: Splits) -> Predictor:
    if name in SMALLER:
        return in_precision(trained(method_of(name), planted.train), SMALLER[name])
    if name == TWO_LEVELS:
        return in_precision(everywhere(trained("decaf", planted.train, labels_per_cluster=4), in_levels), "int8")
    if name not in (ENSEMBLE, JOINT):
        return trained(name, planted.train, **DEEPER.get(name, {}))
    members = [trained(method, planted.without_valid) for method in ("centroid", "linear")]
    if name == JOINT:
        return join(members, Known.of(planted.without_valid), planted.valid, ["nDCG@5"])[0]
    calibrated = [longtail.calibrate(member, planted.valid, threshold="f1", k=5).model for member in members]
    return longtail.calibrate(longtail.combine(calibrated), planted.valid).model


def in_levels(part: object) -> object:
    """Rows of clusters, if `part` is such, in two levels of three."""
    if not isinstance(part, LabelRows) or part.clusters is not None:
        return part
    clusters = Clusters(np.arange(len(part), dtype=np.int32), np.linspace(0, len(part), 4).astype(np.int64))
    return replace(part, clusters=clusters, coarse=Coarse(part.rows[:3], part.biases[:3], 2))


@pytest.mark.parametrize("name", [*DEEPER, ENSEMBLE, JOINT, *SMALLER, TWO_LEVELS])
def test_a_model_that_lies_is_refused_or_answers_but_never_crashes(name: str, planted: Splits, tmp_path: Path):
    made(name, planted).save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(100, 110)) == []


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_a_transformer_in_fewer_bits_that_lies_never_crashes_either(
    precision: str, planted: Splits, tiny_encoder: Path, tmp_path: Path
):
    settings = {"encoder": str(tiny_encoder), "optim.epochs": 1, "transformer.max_tokens": 16, "valid_documents": 0}
    model = longtail.fit("lightxml", planted.train.subset(np.arange(60), "train"), **settings)
    in_precision(model, precision).save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(200, 212)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *DEEPER, ENSEMBLE, *SMALLER, TWO_LEVELS])
def test_thousands_of_lies(name: str, planted: Splits, tiny_encoder: Path, tmp_path: Path):
    if name in ENCODERS:
        SETTINGS[name][ENCODERS[name]] = str(tiny_encoder)
    made(name, planted).save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(1000, 1000 + A_MODEL)) == []


A_MODEL = 150  # lies; there are more than a dozen models, so more than 2,000 in all


def test_a_lie_that_would_read_out_of_bounds_is_named(planted: Splits, tmp_path: Path):
    """The one that a centroid model could be made to write with: a label that does not exist."""
    from safetensors.numpy import load_file, save_file

    trained("centroid", planted.train).save(tmp_path / "model")
    weights = tmp_path / "model" / "weights.safetensors"
    arrays = {name: np.array(array) for name, array in load_file(weights).items()}
    arrays["centroids.labels"][3] = 1_000_000
    save_file(arrays, weights)
    mutants.vouch(tmp_path / "model")
    with pytest.raises(longtail.LongtailError, match=r"centroids\.labels holds numbers from 0 to 1000000"):
        longtail.open(tmp_path / "model")


def test_packed_labels_that_lie_are_refused_or_answer(planted: Splits, tmp_path: Path):
    """Labels are packed where there are many; here these few are."""
    model = trained("centroid", planted.train)
    model.save(tmp_path / "model")
    (tmp_path / "model" / "labels.jsonl").unlink()
    write_labels(tmp_path / "model", model.labels, many=1)
    mutants.vouch(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(200, 230)) == []
