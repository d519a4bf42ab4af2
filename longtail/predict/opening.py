"""Open a saved model; its weights are mapped from disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longtail import config as settings_of
from longtail import store
from longtail.data.own_labels import OwnLabels
from longtail.errors import ConfigError, ModelError
from longtail.judge.calibration import Calibration
from longtail.methods import method
from longtail.predict.kept import KeptDocuments
from longtail.predict.labels import LabelFile
from longtail.predict.predictor import About, Predictor, Ranks
from longtail.predict.saving import ABOUT, CALIBRATION, COUNTS, ENSEMBLE, KEPT, OWN, READABLE, WEIGHTS, member_place

if TYPE_CHECKING:
    from longtail.predict.ensemble import Ensemble


def open_model(directory: str | Path, *, verify: bool = True) -> Predictor:
    """A saved model, its weights mapped from disk.  `verify` checks every file against the manifest."""
    directory = settings_of.path_of(directory, "directory")
    if verify:
        store.verify(directory)
    return _read(directory)


def _read(directory: Path, depth: int = 0) -> Predictor:
    plain = read_plain_about(directory)
    if plain.get("format") not in READABLE:
        raise ModelError(
            f"{directory}: written in model format {plain.get('format')}, and this version reads {READABLE[-1]}; "
            "open it with the version of longtail named in its model.json"
        )
    about = read_about(directory, plain)
    model = _read_state(directory, about.method, plain.get("state"), depth)
    counts, labels = _read_counts(directory / COUNTS), LabelFile(directory)
    if len({model.n_labels, len(counts), len(labels)}) > 1:
        raise ModelError(
            f"{directory}: {model.n_labels} labels are ranked, {len(counts)} have counts and {len(labels)} have names; "
            "copy the model again"
        )
    if max(about.added, *about.removed, 0) > len(labels) or len(labels) in about.removed:
        raise ModelError(f"{directory}: more labels were added or removed than there are; copy the model again")
    kept = _read_kept(directory / KEPT, model.n_labels)
    own = _read_own(directory, plain, model.n_labels)
    return Predictor(model, labels, counts, about, _read_calibration(directory, plain), kept, own)


def read_plain_about(directory: Path) -> dict[str, Any]:
    """The JSON of `model.json`."""
    if not (directory / ABOUT).is_file():
        raise ModelError(f"{directory}: no {ABOUT} in it, so this is not a model; a training writes one to RUN/model")
    return store.read_object(directory / ABOUT)


def read_about(directory: Path, plain: dict[str, Any]) -> About:
    """What `model.json` says of a model's origin.  Models older than a field of About do not have it."""
    known = {item.name: plain[item.name] for item in dataclasses.fields(About) if item.name in plain}
    return store.read_plain(directory, About, known)


def _read_calibration(directory: Path, plain: dict[str, Any]) -> Calibration | None:
    if "calibration" not in plain:
        return None
    return store.read_parts(directory, Calibration, plain["calibration"], CALIBRATION)


def _read_own(directory: Path, plain: dict[str, Any], n_labels: int) -> OwnLabels | None:
    if "own_labels" not in plain:
        return None
    own = store.read_parts(directory, OwnLabels, plain["own_labels"], OWN)
    if own.labels.max(initial=0) >= n_labels or own.labels.min(initial=0) < 0:
        raise ModelError(f"{directory}: texts of labels that the model does not have; copy the model again")
    return own


def _read_kept(directory: Path, n_labels: int) -> KeptDocuments | None:
    if not directory.is_dir():
        return None
    kept = store.read(directory, KeptDocuments)
    if len(kept.label_starts) - 1 > n_labels:
        raise ModelError(f"{directory}: documents of more labels than the model has; copy the model again")
    return kept


def _read_counts(path: Path) -> np.ndarray:
    counts = store.mapped_array(path)
    if counts.ndim != 1 or counts.dtype.kind != "i" or counts.min(initial=0) < 0:
        raise ModelError(f"{path}: it must hold how many training documents each label has; copy the model again")
    return np.array(counts, np.int64)


def _read_state(directory: Path, name: str, state: Any, depth: int) -> Ranks:  # noqa: ANN401 - whatever JSON can hold
    if name == ENSEMBLE:
        return _read_ensemble(directory, state, depth)
    try:
        fit = method(name).fit  # of a variant too
    except ConfigError as error:
        message = f"{directory}: made by method {name!r:.40}, which this version does not have"
        raise ModelError(message) from error
    return store.read_parts(directory, store.result_type(fit), state, WEIGHTS)


def _read_ensemble(directory: Path, state: Any, depth: int) -> Ensemble:  # noqa: ANN401
    from longtail.predict.ensemble import JOINT, Ensemble, weights_of  # most models are none
    from longtail.rankers.joint import Joint

    if depth >= DEEPEST:
        raise ModelError(f"{directory}: an ensemble inside more than {DEEPEST} others")
    weights, joint = weights_of(directory, state), None
    if JOINT in state:
        joint = store.read_parts(directory, Joint, state[JOINT], WEIGHTS)
    members = tuple(_read(member_place(directory, at), depth + 1) for at in range(len(weights)))
    if len({member.model.n_labels for member in members}) > 1:
        raise ModelError(f"{directory}: the members of this ensemble have different numbers of labels")
    if joint is not None and (len(joint.known.counts), joint.n_members) != (members[0].model.n_labels, len(members)):
        raise ModelError(f"{directory}: the score of this ensemble is of other labels or members; copy the model again")
    return Ensemble(members, weights, joint)


DEEPEST = 10  # ensembles inside ensembles
