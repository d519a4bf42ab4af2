"""`train auto`: cheap models first, a mix by held-out documents, and always a finished model."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.auto import plan, search
from longtail.auto.plan import Kind, Size, Step, duration, planned
from longtail.auto.settings import Config, seconds_of
from longtail.corpus import PAD, Splits
from longtail.errors import ConfigError, CorpusError, OutOfTime
from longtail.judge.joining import Evidence
from longtail.predict.fit import fit as fit_one
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from longtail.train.need import Need

QUICK = {"bag.dim": 16, "bag.subwords": 0, "optim.epochs": (1, 1, 2),
         "optim.batch_size": 32, "optim.average_from": "none"}  # fmt: skip


@pytest.fixture(autouse=True)
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two methods that train in a blink, and seconds that do not depend on the machine."""
    monkeypatch.setattr(plan, "KINDS", (Kind("centroid"), Kind("linear")))
    monkeypatch.setattr(plan, "PROCESSOR_SECONDS", {"centroid": lambda of: 1.0, "linear": lambda of: 50.0})
    monkeypatch.setattr(plan, "slowness", lambda: 1.0)
    monkeypatch.setattr(plan, "working_cores", lambda: 1.0)


def test_the_plan_is_said_first_and_the_model_is_the_best_mix(planted: Splits, tmp_path: Path):
    said: list[str] = []
    model = longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append)
    assert said[0].startswith("the plan, about 55 s")  # 3 + 52
    assert any(line.startswith("  linear: about 52 s") for line in said[:4])
    assert "held out" in said[3]
    assert longtail.evaluate(model, planted.split("test")).metrics["P@1"] > 95
    assert model.calibration is not None and model.calibration.threshold is not None
    assert (tmp_path / "run" / "members" / "linear" / "model").is_dir()


def test_a_mix_is_never_worse_by_its_metric_than_its_members(planted: Splits, tmp_path: Path):
    model = longtail.fit("auto", planted.train, run=tmp_path / "run")
    _, valid = planted.train.hold_out(4000, 0)
    mixed = longtail.evaluate(model, valid).metrics["nDCG@5"]
    for name in ("centroid", "linear"):
        alone = longtail.open(tmp_path / "run" / "members" / name / "model")
        assert longtail.evaluate(alone, valid).metrics["nDCG@5"] <= mixed + 1e-6


def test_members_learn_from_all_documents_in_the_end_unless_told_otherwise(planted: Splits, tmp_path: Path):
    model = longtail.fit("auto", planted.train, run=tmp_path / "run")
    assert {member.about.corpus["documents"] for member in model.model.members} == {len(planted.train)}
    assert model.about.corpus["documents"] == len(planted.train)
    assert np.array_equal(model.counts, np.bincount(planted.train.labels.indices, minlength=planted.train.n_labels))
    assert model.calibration is not None and "weights" in model.about.chosen
    fewer = longtail.fit("auto", planted.train, run=tmp_path / "other", use_all=False)
    assert {member.about.corpus["documents"] for member in fewer.model.members} == {len(planted.train) - 60}
    assert not (tmp_path / "other" / "members-of-all").exists()


def test_a_member_that_is_better_alone_is_trained_again_alone(planted: Splits, tmp_path: Path, monkeypatch):
    def worst(seen: Evidence, share: float) -> Ranking:
        return Ranking(np.full_like(seen.labels, PAD), np.zeros(seen.labels.shape, np.float32))

    monkeypatch.setattr(Evidence, "joined", worst)
    model = longtail.fit("auto", planted.train, run=tmp_path / "run")
    assert len(model.model.members) == 1 and model.model.joint is None
    assert model.model.members[0].about.corpus["documents"] == len(planted.train) == model.about.corpus["documents"]
    trained = [place.name for place in (tmp_path / "run" / "members-of-all").iterdir()]
    assert trained == methods_of(longtail.open(tmp_path / "run" / "model"))


def test_members_stay_as_they_are_where_no_time_is_left(planted: Splits, tmp_path: Path):
    said: list[str] = []
    longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append, time_limit=0.001)
    assert "centroid stays as it is: no time to train it again on all documents" in said


def test_the_documents_of_a_validation_split_are_never_learned_from(planted: Splits, tmp_path: Path):
    train, valid = planted.train.hold_out(60, 0)
    model = longtail.fit("auto", dataclasses.replace(train, official_valid=valid), run=tmp_path / "run")
    assert {member.about.corpus["documents"] for member in model.model.members} == {len(train)}
    assert not (tmp_path / "run" / "members-of-all").exists()


def test_started_again_nothing_is_trained_twice(planted: Splits, tmp_path: Path):
    first = longtail.fit("auto", planted.train, run=tmp_path / "run")
    said: list[str] = []
    again = longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append)
    again_on_all = len(list((tmp_path / "run" / "members-of-all").iterdir()))
    assert again_on_all > 0
    assert sum("is already there" in line for line in said) == 2 + again_on_all
    documents = planted.split("test").documents
    assert np.array_equal(first.rank(documents, 5).scores, again.rank(documents, 5).scores)


def test_what_does_not_fit_into_the_time_is_left_out_and_taken_later(planted: Splits, tmp_path: Path):
    said: list[str] = []
    longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append, time_limit=20)
    assert any(line.startswith("linear is left out: it would take about 52 s, and ") for line in said)
    assert methods_of(longtail.open(tmp_path / "run" / "model")) == ["centroid"]
    longtail.fit("auto", planted.train, run=tmp_path / "run", time_limit=1000)
    assert (tmp_path / "run" / "members" / "linear" / "model").is_dir()


def test_where_time_is_short_the_quicker_version_is_taken(planted: Splits, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(plan, "KINDS", (Kind("centroid"), Kind("linear", quicker={"trees": 1}, share=0.1)))
    longtail.fit("auto", planted.train, run=tmp_path / "run", time_limit=20)
    assert (tmp_path / "run" / "members" / "linear-quick" / "model").is_dir()
    longtail.fit("auto", planted.train, run=tmp_path / "run", time_limit=1000)  # with more time, all epochs
    assert (tmp_path / "run" / "members" / "linear" / "model").is_dir()


def methods_of(model: Predictor) -> list[str]:
    return [member.about.method for member in model.model.members]


def test_the_first_model_is_made_however_short_the_time(planted: Splits, tmp_path: Path):
    model = longtail.fit("auto", planted.train, run=tmp_path / "run", time_limit=0.001)
    assert methods_of(model) == ["centroid"]


def test_a_time_limit_that_was_passed_is_said_with_the_reason(planted: Splits, tmp_path: Path, monkeypatch):
    clock = time.monotonic()
    monkeypatch.setattr(search, "fit", lambda *given, **more: (wait(30), fit_one(*given, **more))[1])
    monkeypatch.setattr(search.time, "monotonic", lambda: clock)

    def wait(seconds: float) -> None:
        nonlocal clock
        clock += seconds

    said: list[str] = []
    longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append, time_limit=20)
    assert said[-1] == (
        "the time limit was passed by 10 s: centroid was in training, and the first model is finished however short "
        "the time"
    )
    said.clear()
    longtail.fit("auto", planted.train, run=tmp_path / "other", say=said.append, time_limit=1000)
    monkeypatch.setattr(search, "planned", lambda *given: (wait(30), planned(*given))[1])
    assert not any("was passed" in line for line in said)
    longtail.fit("auto", planted.train, run=tmp_path / "third", say=said.append, time_limit=20)
    assert said[-1].startswith("the time limit was passed by 40 s: centroid was in training, and the first model")


def test_a_member_that_is_refused_is_left_out_with_its_reason(planted: Splits, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(plan, "KINDS", (Kind("centroid"), Kind("linear", {"cost": -1.0})))
    monkeypatch.setattr(plan, "_step", _unchecked)
    said: list[str] = []
    longtail.fit("auto", planted.train, run=tmp_path / "run", say=said.append)
    assert any(line.startswith("linear is left out: ") and "cost" in line for line in said)
    monkeypatch.setattr(plan, "KINDS", (Kind("linear", {"cost": -1.0}),))
    with pytest.raises(ConfigError, match="cost"):  # the first must succeed
        longtail.fit("auto", planted.train, run=tmp_path / "other")


def _unchecked(kind: Kind, *_: object) -> Step:
    return Step(kind.method, kind.settings, 1.0, Need(1, 1, 1), kind.name)


def test_a_model_that_is_too_large_has_fewer_bits_or_fewer_members(planted: Splits, tmp_path: Path):
    whole = longtail.fit("auto", planted.train, run=tmp_path / "run")
    sizes = {
        name: sum(file.stat().st_size for file in (tmp_path / "run" / "members" / name / "model").rglob("*"))
        for name in ("centroid", "linear")
    }
    limit = min(sizes.values()) + 2000
    small = longtail.fit("auto", planted.train, run=tmp_path / "run", max_size=limit)
    assert sum(file.stat().st_size for file in (tmp_path / "run" / "model").rglob("*")) <= limit + 4000  # and its curve
    assert small.labels[0] == whole.labels[0]
    with pytest.raises(ConfigError, match=r"the smallest model takes .* allow more"):
        longtail.fit("auto", planted.train, run=tmp_path / "run", max_size=100)


def test_a_corpus_of_a_few_documents_is_refused_with_advice():
    corpus = longtail.Corpus.of(["red fox", "blue sea"], [["fox"], ["sea"]])
    with pytest.raises(CorpusError, match="too few to hold some out"):
        longtail.fit("auto", corpus)


def test_what_counts_most_chooses_the_metric():
    named = [Config(prefer=name).chosen_by for name in ("balanced", "rare", "frequent")]
    assert named == ["nDCG@5 and PSP@5", "PSP@5", "P@5"]
    shares = [Config(prefer=name).shares[0] for name in ("frequent", "balanced", "rare")]
    assert shares == sorted(shares) and shares[0] == 0 and shares[2] == 1
    assert Config(prefer="rare", metric="nDCG@3").chosen_by == "nDCG@3"
    assert len(Config(metric="nDCG@3").shares) > 1  # the best of several by that metric
    with pytest.raises(ConfigError):
        Config(metric="goodness")


def test_options_of_one_method_are_refused(planted: Splits):
    with pytest.raises(ConfigError, match="preset"):
        longtail.fit("auto", planted.train, preset="eurlex-4k")


@pytest.mark.parametrize("text", ["", "soon", "0", "-3m", "10 parsecs"])
def test_a_time_that_is_none_is_refused(text: str):
    with pytest.raises(ConfigError, match="write it as 90s, 10m or 1h30m"):
        seconds_of(text)


def test_durations():
    assert [seconds_of(text) for text in ("1.5h", "2 min", "1h 1m 1s")] == [5400, 120, 3661]
    assert duration(59.6) == "1 min 0 s"


def test_longer_texts_and_more_documents_take_longer(monkeypatch):
    monkeypatch.undo()
    for seconds in plan.PROCESSOR_SECONDS.values():
        assert seconds(Size(1000, 0.1)) < seconds(Size(2000, 0.1))
        assert seconds(Size(1000, 0.1)) <= seconds(Size(1000, 10))


def test_every_kind_has_settings_that_its_method_knows(planted: Splits, monkeypatch):
    """The real plan: settings are built, and quicker ones too."""
    monkeypatch.undo()
    for usual, quicker in planned(planted.train, Config(encoder="bag")):
        for step in (usual, quicker):
            if step is not None:
                called = longtail.methods.method(step.method)
                longtail.config.build(called.Config, longtail.config.nested(step.settings))
        assert quicker is None or quicker.seconds < usual.seconds


# -- the deadline of a training ----------------------------------------------------------------------------------------


def test_a_training_that_is_late_is_saved_and_goes_on_to_the_same_model(planted: Splits, tmp_path: Path):
    with pytest.raises(OutOfTime):
        fit_one("decaf", planted.train, tmp_path / "late", deadline=time.monotonic() - 1, **QUICK)
    resumed = fit_one("decaf", planted.train, tmp_path / "late", **QUICK)
    whole = fit_one("decaf", planted.train, tmp_path / "whole", **QUICK)
    documents = planted.split("test").documents
    assert np.array_equal(resumed.rank(documents, 5).scores, whole.rank(documents, 5).scores)


def test_in_the_middle_of_a_training_a_deadline_leaves_a_checkpoint(planted: Splits, tmp_path: Path, monkeypatch):
    """Time is over after some steps, not before the first: the clock is put forward from the loop."""
    from longtail.train.loop import Training

    late, learn = [False], Training.learn

    def slowly(self: Training, *given: object) -> float:
        late[0] = late[0] or self.step == 3
        return learn(self, *given)

    monkeypatch.setattr(Training, "learn", slowly)
    monkeypatch.setattr("longtail.train.run.Run.is_late", property(lambda self: late[0]))
    with pytest.raises(OutOfTime):
        fit_one("decaf", planted.train, tmp_path / "late", **QUICK)
    assert list((tmp_path / "late" / "training").rglob("*.safetensors"))
