"""Train a method on a corpus: what is the same for all of them."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from longtail import config as settings_of
from longtail import store
from longtail.corpus import Corpus, one_split
from longtail.data.own_labels import related, without_own
from longtail.encoders.encoder import without_effect
from longtail.errors import ConfigError, CorpusError, MissingExtraError
from longtail.features.grams import is_unspaced
from longtail.methods import METHODS, method
from longtail.predict.kept import keep
from longtail.predict.opening import open_model
from longtail.predict.predictor import About, Predictor
from longtail.presets import preset as preset_of
from longtail.ranks import here, started
from longtail.train import device as device_of
from longtail.train.claim import changes
from longtail.train.health import check_answers
from longtail.train.run import Run, open_run, silent


def fit(
    name: str,
    corpus: Corpus,
    run: str | Path | None = None,
    *,
    say: Callable[[str], None] = silent,
    device: str = "cpu",
    tensorboard: bool = False,
    keep_documents: bool = False,
    preset: str | None = None,
    deadline: float = math.inf,
    **settings: Any,  # noqa: ANN401 - the method's own Config checks them
) -> Predictor:
    """Train a method on a corpus.  With a run directory, a killed training goes on where it stopped.

    With `keep_documents` the model has beginnings of training documents, for `explain` to show.  `preset` names a
    dataset of the papers: its settings are taken where `settings` has none.  After `deadline`, a time of
    `time.monotonic()`, the training is saved and raises OutOfTime.
    """
    called, corpus = method(name), one_split(corpus, "train")
    if run is not None:
        settings_of.path_of(run, "run")
    check_corpus(corpus)
    config = settings_of.build(called.Config, chosen_settings(name, preset, settings))
    check_device(name, device)
    check_ranks(name, run)
    if keep_documents:
        corpus.texts  # noqa: B018 - raises where there are none, before anything is learned
    how: Any = {"device": device, "tensorboard": tensorboard, "deadline": deadline}
    with place_of(run) as place, open_run(place, name, dataclasses.asdict(config), corpus, say, **how) as started:
        for idle in without_effect((each for each in settings if "." in each), config):
            started.warn(f"{idle} has no effect with this encoder; see longtail methods {name}")
        return _finished(name, corpus, config, started, keep_documents)


def _finished(name: str, corpus: Corpus, config: Any, run: Run, keep_documents: bool) -> Predictor:  # noqa: ANN401
    """The model of a run, trained unless it is there."""
    finished = run.directory / "model"
    if store.finished(finished):
        run.say(f"{finished} is already there")
        if keep_documents and (model := open_model(finished)).kept is None:
            _save(_with_documents(model, corpus, run, wanted=True), finished)
    else:
        store.check_target(finished, store.MODEL)  # before hours are spent, not after
        model = _with_documents(_trained(name, corpus, config, run), corpus, run, wanted=keep_documents)
        with run.watched("model"):
            _save(model, finished)
    # Without a directory to keep, the arrays must outlive the temporary one they were mapped from;
    # an open mapping does, so the model is read back either way.
    return open_model(finished)


def _save(model: Predictor, place: Path) -> None:
    """Of several ranks the leader writes the model, and all read it."""
    if here().leads:
        model.save(place)
    here().wait()


def chosen_settings(name: str, preset: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings on top of those of a preset."""
    nested = settings_of.nested(settings)
    return nested if preset is None else settings_of.merged(preset_of(name, preset), nested)


def check_corpus(corpus: Corpus) -> None:
    """Raise unless a model may and can learn from these documents."""
    if corpus.role == "test":
        raise CorpusError(f"{corpus.name}: this is the test split; a model never trains on what it is judged by")
    if len(corpus) == 0 or corpus.n_labels == 0:
        raise CorpusError(f"{corpus.name}: nothing to learn from ({len(corpus)} documents, {corpus.n_labels} labels)")
    corpus.documents.check_numbers()
    if (given := corpus.documents).features is None and not any(text and not text.isspace() for text in corpus.texts):
        raise CorpusError(
            f"{corpus.name}: all {len(given):,} texts are empty, so there is nothing to learn from; name the column of "
            "the text (--text; in Python text=)"
        )


def _trained(name: str, corpus: Corpus, config: Any, run: Run) -> Predictor:  # noqa: ANN401 - the method's Config
    run.announce(corpus, method(name).need(corpus, config))
    if (own := related(corpus)) is not None:
        run.say("documents are labels themselves and never carry their own: it is not suggested, and not judged")
        corpus = without_own(corpus)
    if corpus.documents.texts is not None and is_unspaced(corpus.documents.texts):
        run.say("these texts have no spaces between words: they are read by pieces of one to three characters")
    with _needing_torch(name):
        model = method(name).fit(corpus, config, run)
        with run.watched("judged"):
            check_answers(model.rank, corpus, run, _changed(config))
    chosen = _chosen_in_training(corpus) if run.validation else {}
    about = About(name, dataclasses.asdict(config), _described(corpus), run.validation, chosen=chosen)
    counts = np.bincount(corpus.labels.indices, minlength=corpus.n_labels)
    return Predictor(model, corpus.label_set, counts, about, own=own)


def _with_documents(model: Predictor, corpus: Corpus, run: Run, *, wanted: bool) -> Predictor:
    return dataclasses.replace(model, kept=run.stage("kept-documents", keep, corpus)) if wanted else model


def _changed(config: Any) -> list[str]:  # noqa: ANN401 - any method's Config
    """The settings that are not the defaults, one phrase each."""
    defaults, now = (json.loads(json.dumps(dataclasses.asdict(each))) for each in (type(config)(), config))
    return changes(defaults, now)


def check_device(name: str, device: str) -> None:
    """Raise unless a method can train on this device: cpu, cuda, cuda:1."""
    device_of.check_device(device, name, cpu_only=method(name).cpu_only)


def check_ranks(name: str, run: str | Path | None) -> None:
    """Raise if torchrun started several processes for what trains in one."""
    if started() == 1:
        return
    if name not in METHODS or not method(name).over_ranks:
        able = [each for each in METHODS if method(each).over_ranks]
        raise ConfigError(f"{name} trains in one process; start it without torchrun ({', '.join(able)} can use it)")
    if run is None:
        raise ConfigError("a training on several ranks needs a run directory that all of them see")


def _chosen_in_training(corpus: Corpus) -> dict[str, Any]:
    """Whose documents a training was judged by while it learned: those of the corpus's own validation split, if any."""
    official = corpus.official_valid
    return {} if official is None else {"settings": {"fingerprint": official.fingerprint}}


@contextmanager
def _needing_torch(name: str) -> Iterator[None]:
    """What learns in torch says so, where only the small core is installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in TORCH:
            raise
        raise MissingExtraError(f"training {name}", "train") from None


TORCH = ("torch", "transformers")


@contextmanager
def place_of(run: str | Path | None) -> Iterator[Path]:
    """The run directory, or a temporary one."""
    if run is not None:
        yield store.named(run)
        return
    with tempfile.TemporaryDirectory(prefix="longtail-") as directory:
        yield Path(directory)


def _described(corpus: Corpus) -> dict[str, Any]:
    about = {"name": corpus.name, "fingerprint": corpus.fingerprint}
    return about | {"documents": len(corpus), "labels": corpus.n_labels}
