"""What a saved model is: where it comes from, what was chosen for it, what it weighs on disk, and whether it is whole.

Everything is read from the model's JSON files, so weights are not opened, and a damaged model still says what it was.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longtail import store
from longtail.config import explain
from longtail.errors import ConfigError, ModelError
from longtail.judge.calibration import Threshold
from longtail.methods import method
from longtail.predict.ensemble import weights_of
from longtail.predict.opening import read_about, read_plain_about
from longtail.predict.predictor import About
from longtail.predict.saving import ABOUT, ENSEMBLE, member_place

SOUND = "sound"


@dataclass(frozen=True)
class Changed:
    """A setting that is not at its default."""

    name: str
    value: Any
    default: Any


@dataclass(frozen=True)
class Member:
    """One model of an ensemble."""

    weight: float
    method: str
    labels: int
    documents: int
    corpus: str
    settings: list[Changed]


@dataclass(frozen=True)
class ModelInfo:
    """Everything `longtail info` prints."""

    directory: str
    method: str
    labels: int  # that it ranks
    added: int  # of them after training
    removed: int  # of them not suggested any more
    documents: int  # that it was trained on
    corpus: str
    fingerprint: str
    settings: list[Changed]
    validation: dict[str, float]  # metrics while training
    chosen: dict[str, Any]  # what was chosen after or during training, and by whose documents
    threshold: Threshold | None
    members: list[Member]
    format: int
    versions: dict[str, str]
    files: dict[str, int]  # bytes
    state: str  # "sound", or the sentence that opening it would give

    @property
    def bytes(self) -> int:
        """Size of the directory."""
        return sum(self.files.values())

    def to_json(self) -> dict[str, Any]:
        """What `longtail info --json` writes."""
        return asdict(self) | {"bytes": self.bytes}


def model_info(directory: str | Path) -> ModelInfo:
    """Describe a model directory."""
    place = Path(directory)
    state, (plain, about) = _state(place), _read(place)
    return ModelInfo(
        str(place),
        about.method,
        _labels(about),
        about.added,
        len(about.removed),
        *_trained_on(about),
        str(about.corpus.get("fingerprint", "")),
        changed_settings(about),
        about.validation,
        about.chosen,
        _threshold(place, plain),
        _members(place, plain, about),
        plain.get("format", 0),
        about.versions,
        {str(path.relative_to(place)): path.stat().st_size for path in sorted(place.rglob("*")) if path.is_file()},
        state,
    )


def _state(place: Path) -> str:
    try:
        store.verify(place)
    except ModelError as error:
        if not (place / ABOUT).is_file():
            raise
        return str(error)
    return SOUND


def _read(place: Path) -> tuple[dict[str, Any], About]:
    """All of `model.json`, and what it says of the model's origin."""
    plain = read_plain_about(place)
    # Versions that it does not name are unknown; About's default is what runs now.
    return plain, read_about(place, {"versions": {}} | plain)


def _labels(about: About) -> int:
    labels = about.corpus.get("labels")
    return about.added + labels if type(labels) is int else 0


def _trained_on(about: About) -> tuple[int, str]:
    return about.corpus["documents"], str(about.corpus.get("name", ""))


def _threshold(place: Path, plain: dict[str, Any]) -> Threshold | None:
    calibration = plain.get("calibration")
    chosen = calibration.get("threshold") if isinstance(calibration, dict) else None
    return None if chosen is None else store.read_plain(place, Threshold, chosen)


def changed_settings(about: About) -> list[Changed]:
    """Settings that differ from this version's defaults; none of a method that this version does not have."""
    try:
        defaults = method(about.method).Config()
    except ConfigError:
        return []
    found = []
    for line in explain(defaults):
        default, value = json.loads(json.dumps(line.default)), _nested(about.config, line.name, line.default)
        if value != default:
            found.append(Changed(line.name, value, default))
    return found


def _nested(config: dict[str, Any], name: str, absent: Any) -> Any:  # noqa: ANN401 - whatever a setting holds
    """The setting under a dotted name, or `absent` as JSON has it where a model is older than the setting."""
    value: Any = config
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return json.loads(json.dumps(absent))
        value = value[part]
    return value


def _members(place: Path, plain: dict[str, Any], about: About) -> list[Member]:
    if about.method != ENSEMBLE:
        return []
    weights = weights_of(place, plain.get("state"))
    read = [_read(member_place(place, at))[1] for at in range(len(weights))]
    return [
        Member(weight, member.method, _labels(member), *_trained_on(member), changed_settings(member))
        for weight, member in zip(weights, read)
    ]
