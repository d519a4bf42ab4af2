"""Models as people hold them: fit, save, open, combine."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail import calibrate, combine, evaluate, fit, weigh
from longtail import open as open_model
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Splits
from longtail.errors import ConfigError, CorpusError, ModelError, RunError
from longtail.predict.predictor import About, LabelFile, Predictor, label_digest, write_labels
from longtail.ranking import Ranking
from tests.full_disk import full_disk


@pytest.fixture(scope="module")
def model(planted: Splits) -> Predictor:
    return fit("centroid", planted.train)


def test_a_model_knows_where_it_comes_from(model: Predictor, planted: Splits):
    assert model.about.method == "centroid" and "numpy" in model.about.versions
    assert model.about.corpus == {
        "name": "planted", "fingerprint": planted.train.fingerprint, "documents": 600, "labels": 60,
    }  # fmt: skip
    assert np.array_equal(model.counts, np.asarray(planted.train.labels.sum(axis=0), int))


def test_labels_are_read_line_by_line_as_they_were_written(tmp_path: Path):
    labels = [Label("1", "été\nno"), Label("2", "", "text"), Label("\u2028", "x")]
    write_labels(tmp_path / "labels.jsonl", labels)
    read = LabelFile(tmp_path / "labels.jsonl")
    assert [read[at] for at in range(len(read))] == labels and read[1:] == labels[1:] and len(read) == 3


def test_the_digest_of_labels_is_their_ids_in_order(tmp_path: Path):
    labels = LabelSet.of(["a", "bc"])
    write_labels(tmp_path / "labels.jsonl", labels)
    assert label_digest(LabelFile(tmp_path / "labels.jsonl")) == label_digest(labels)
    assert label_digest(labels) != label_digest(LabelSet.of(["ab", "c"]))
    assert label_digest(labels) != label_digest(LabelSet.of(["bc", "a"]))


def test_one_text_that_is_not_in_a_list_is_a_slip_worth_naming(model: Predictor):
    with pytest.raises(CorpusError, match=r"predict\(\[text\]\)"):
        model.predict("one text")


def test_a_model_of_another_format_is_refused(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    (tmp_path / "m/model.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ModelError, match="format 99"):
        open_model(tmp_path / "m", verify=False)
    (tmp_path / "m/model.json").write_text(json.dumps(about | {"method": "gone"}))
    with pytest.raises(ModelError, match="'gone'"):
        open_model(tmp_path / "m", verify=False)


def test_a_model_from_before_anything_was_chosen_after_training_opens(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    assert about.pop("chosen") == {} and "calibration" not in about
    (tmp_path / "m/model.json").write_text(json.dumps(about))
    opened = open_model(tmp_path / "m", verify=False)
    assert opened.about.chosen == {} and opened.calibration is None


def test_saving_replaces_a_model_and_nothing_else(model: Predictor, tmp_path: Path):
    for _ in range(2):
        model.save(tmp_path / "m")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(ModelError, match="thesis: exists already and is not a model"):
        model.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").is_file() and len(list(tmp_path.iterdir())) == 2


def test_every_file_of_a_model_can_be_opened_by_a_server_of_another_user(planted: Splits, tmp_path: Path):
    model = fit("centroid", planted.without_valid)
    mask = os.umask(0o022)
    try:
        combine([model, calibrate(model, planted.valid).model]).save(tmp_path / "m")
    finally:
        os.umask(mask)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in (tmp_path / "m").rglob("*")}
    assert {"m/members/1/calibration.safetensors", "m/members/0/weights.safetensors"} <= modes.keys()
    assert all(mode == (0o644 if "." in name else 0o755) for name, mode in modes.items()), modes


def test_a_full_disk_is_a_sentence_and_leaves_the_model_as_it_was(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    with full_disk(2000), pytest.raises(ModelError, match=r"m: cannot be written \(File too large\)"):
        model.save(tmp_path / "m")
    open_model(tmp_path / "m")
    assert len(list(tmp_path.iterdir())) == 1


def test_an_empty_path_is_refused(model: Predictor, planted: Splits):
    with pytest.raises(ConfigError, match="an empty path"):
        model.save("")
    with pytest.raises(ConfigError, match="an empty path"):
        fit("centroid", planted.train, run="")


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


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_scores_that_are_no_numbers_are_an_error_and_never_an_answer(score: float, model: Predictor):
    class Astray:
        def rank(self, documents: Documents, k: int) -> Ranking:
            return Ranking(np.zeros((len(documents), 1), np.int32), np.full((len(documents), 1), score, np.float32))

    for astray in (dataclasses.replace(model, model=Astray()), combine([dataclasses.replace(model, model=Astray())])):
        with pytest.raises(ModelError, match=r"NaN or infinite: .* train it again"):
            astray.predict(["x"])


def test_asking_for_no_labels_is_refused(model: Predictor):
    with pytest.raises(ConfigError, match="k = 0"):
        model.rank(Documents.of(["x"]), 0)


class Asked:
    """Knows two labels, and remembers how many it was asked for."""

    def __init__(self) -> None:
        self.most = 0

    def rank(self, documents: Documents, k: int) -> Ranking:
        self.most = max(self.most, k)
        return Ranking.of_rows([(np.array([1, 0]), np.array([0.9, 0.1]))] * len(documents), 2).top(k)


@pytest.mark.parametrize("ensemble", [False, True])
def test_an_absurd_k_costs_no_more_than_all_labels(ensemble: bool):
    corpus = Corpus.of(["red", "blue", "green"], [["x"], ["y"], ["y"]])
    about = About("asked", {}, {"name": "toy", "fingerprint": "", "documents": 3, "labels": 2})
    model = Predictor(Asked(), corpus.label_set, np.array([1, 2]), about)
    asked = combine([model, model]) if ensemble else model
    ranking = asked.rank(corpus.documents, 20_000_000)
    assert ranking.labels.shape == (3, 1000) and ranking.labels[0, :3].tolist() == [1, 0, PAD]
    assert [label.name for label in asked.predict(["red"], k=20_000_000)[0]] == ["y", "x"]
    judged = evaluate(asked, corpus, ks=[1, 20_000_000]).metrics
    assert judged["R@20000000"] == pytest.approx(100) and judged["nDCG@20000000"] > judged["P@1"]
    assert calibrate(asked, dataclasses.replace(corpus, role="valid"), k=20_000_000).model.calibration is not None
    assert weigh([asked, asked], dataclasses.replace(corpus, role="valid"), "R@20000000")[1] == pytest.approx(100)
    assert model.model.most == 2


def test_an_answer_that_memory_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.predict.predictor.free_memory", lambda: 10**9)
    labels = LabelSet.of(f"label {at}" for at in range(20_000))
    about = About("asked", {}, {"name": "toy", "fingerprint": "", "documents": 3, "labels": 20_000})
    model, documents = Predictor(Asked(), labels, np.ones(20_000, int), about), Documents.of(["red"] * 5000)
    with pytest.raises(RunError, match=r"20,000 labels for each of 5,000 documents take .* ask for fewer labels"):
        model.rank(documents, 20_000_000)
    assert model.rank(documents, 100).k == 100


def test_a_method_that_needs_torch_says_what_to_install_where_there_is_none():
    code = (
        "import sys; sys.modules['torch'] = None; import longtail;"
        "longtail.fit('decaf', longtail.Corpus.of(['red fox', 'blue sea'], [['fox'], ['sea']]))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "training decaf needs packages that are not installed; run: pip install 'longtail[train]'" in said
