"""A trained model with its labels' names: what `fit` returns, `save` writes and `open` reads.

A saved model is a directory anyone can open

    model/
    ├── model.json           method, config, versions, corpus, validation metrics, the model's plain fields
    ├── weights.safetensors  every array, mapped when the model is opened
    ├── calibration.safetensors
    │                        the curve from scores to probabilities, where one was learned
    ├── *.json               vocabularies
    ├── labels.jsonl         {"id", "name", "text"} of label i on line i
    ├── members/N/           an ensemble's members, each a model directory
    └── manifest.json        sha256 of every file, written last
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from longtail import config as settings_of
from longtail import store
from longtail.calibration import Calibration, Threshold
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Texts, one_split
from longtail.ensemble import average, shares
from longtail.errors import ConfigError, CorpusError, MissingExtraError, ModelError, RunError
from longtail.invariants import Unsound
from longtail.methods import METHODS, method
from longtail.ranking import Ranking, check_k, check_threshold
from longtail.train import device as device_of
from longtail.train.health import check_answers
from longtail.train.run import changes, free_memory, open_run, silent, size, versions

FORMAT = 1  # of model directories; a model of a later version is refused, never misread
ENSEMBLE = "ensemble"
AUTO = "auto"  # the threshold that was chosen for the model
WIDEST = 1000  # columns of an answer where there are fewer labels: enough for every cut-off in use
LABELS = 5  # suggested for a text, where nobody says how many


class Suggestion(NamedTuple):
    """One label suggested for a text."""

    index: int  # type: ignore[assignment]  # a label's number; tuple.index is nobody's loss
    id: str
    name: str
    score: float


class Ranks(Protocol):
    """What every method's model can do."""

    @property
    def n_labels(self) -> int:
        """How many labels it ranks."""

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""


@dataclass(frozen=True)
class About:
    """What a model is and where it comes from."""

    method: str
    config: dict[str, Any]
    corpus: dict[str, Any]  # name, fingerprint, documents, labels
    validation: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)
    chosen: dict[str, Any] = field(default_factory=dict)  # "settings", "weights", "calibration": by whose documents

    def check(self) -> None:
        """What later code asks for is there: documents trained on, and the fingerprints of those who chose."""
        documents = self.corpus.get("documents")
        if type(documents) is not int or documents < 0 or not isinstance(self.corpus.get("fingerprint"), str):
            raise Unsound("corpus must say its fingerprint and how many documents it has")
        for what, whose in self.chosen.items():
            if not isinstance(whose, dict) or not isinstance(whose.get("fingerprint"), str):
                raise Unsound(f"chosen.{what} must say the fingerprint of the documents that chose")
        if not all(type(value) in (int, float) for value in self.validation.values()):
            raise Unsound("validation must hold numbers")


@dataclass(frozen=True)
class Predictor:
    """Texts in, label names and scores out."""

    model: Ranks
    labels: Sequence[Label]
    counts: np.ndarray  # (labels,) training documents of each label: propensities and deciles come from it
    about: About
    calibration: Calibration | None = None

    def rank(self, documents: Documents, k: int = 5) -> Ranking:
        """The k best labels of each document, as arrays (documents, k).

        Work and memory are for no more labels than there are, whatever k is: behind the last label stands PAD, and
        an answer is never wider than the number of labels or 1,000, whichever is more.
        """
        k = check_k(k)
        _check_documents(documents)
        _refuse_huge(len(documents), min(k, len(self.labels)))
        ranking = self.model.rank(documents, min(k, len(self.labels)))
        _refuse_infinite(ranking)
        ranking = ranking if self.calibration is None else self.calibration.curve.calibrated(ranking)
        return ranking.padded(min(k, max(len(self.labels), WIDEST)))

    def predict(
        self, texts: Iterable[str], k: int | None = None, threshold: float | str = 0.0
    ) -> list[list[Suggestion]]:
        """The k best labels of each text that score at least `threshold`, best first.

        The threshold "auto" is the one that `calibrate` chose; then k is how many labels it was chosen for, else 5.
        """
        if isinstance(texts, str):
            raise CorpusError("predict takes a list of texts; put your one text in a list: predict([text])")
        if isinstance(threshold, str):
            chosen = self.threshold(threshold)
            k, threshold = chosen.k if k is None else k, chosen.value
        lowest = check_threshold(threshold)
        return self.suggestions(self.rank(Documents.of(texts), LABELS if k is None else k), lowest)

    def threshold(self, name: str = AUTO) -> Threshold:
        """The threshold that was chosen for this model."""
        if name != AUTO:
            raise ConfigError(f"threshold {name!r}: write a number, or {AUTO} for what `longtail calibrate` chose")
        if self.calibration is None or self.calibration.threshold is None:
            raise ConfigError(
                "this model has no threshold of its own; choose one on validation documents: "
                "longtail calibrate MODEL CORPUS --threshold f1 --in-place"
            )
        return self.calibration.threshold

    def suggestions(self, ranking: Ranking, threshold: float = 0.0) -> list[list[Suggestion]]:
        """A Ranking with names instead of indices."""
        rows = zip(ranking.labels.tolist(), ranking.scores.tolist())
        return [
            [self._suggestion(at, score) for at, score in zip(*row) if at != PAD and score >= threshold] for row in rows
        ]

    def _suggestion(self, at: int, score: float) -> Suggestion:
        label = self.labels[at]
        return Suggestion(at, label.id, label.name, score)

    def save(self, directory: str | Path) -> None:
        """Write the model directory, whole or not at all.

        An earlier model there is replaced.  Anything else that stands there is refused, as is a model that holds files
        of somebody else.  A symbolic link stays, and the directory that it points to is written.
        """
        settings_of.path_of(directory, "directory")
        with store.whole_directory(store.named(directory), store.MODEL) as building:
            self._write(building)

    def _write(self, directory: Path) -> None:
        if isinstance(self.model, Ensemble):
            for at, member in enumerate(self.model.members):
                member._write(directory / "members" / str(at))
            plain = {"weights": list(self.model.weights)}
        else:
            directory.mkdir(parents=True, exist_ok=True)
            plain = store.write_parts(directory, self.model, "weights.safetensors")
        np.save(directory / "label_counts.npy", self.counts)
        write_labels(directory / "labels.jsonl", self.labels)
        about = dataclasses.asdict(self.about)
        identity = {"format": FORMAT, "label_ids": label_digest(self.labels)}
        if self.calibration is not None:
            about["calibration"] = store.write_parts(directory, self.calibration, CALIBRATION)
        store.write_json(directory / "model.json", identity | about | {"state": plain})


def _refuse_huge(documents: int, k: int) -> None:
    """Raise where a Ranking and one copy of it would not fit into memory; small ones are not worth asking for it."""
    needed = 2 * documents * k * BYTES_A_LABEL
    if needed > UNASKED and needed > (free := free_memory()):
        raise RunError(
            f"{k:,} labels for each of {documents:,} documents take {size(needed)}, and {size(free)} are free; "
            "ask for fewer labels, or for fewer documents at once"
        )


BYTES_A_LABEL = 8  # an int32 and a float32
UNASKED = 1 << 28


def _check_documents(documents: object) -> None:
    if isinstance(documents, Corpus):
        raise CorpusError(f"{documents.name} is a corpus; rank takes what is read of it: corpus.documents")
    if not isinstance(documents, Documents):
        raise CorpusError(
            f"rank takes documents, not {type(documents).__name__}: pass longtail.Documents.of(texts), "
            "or ask predict(texts)"
        )
    documents.check_numbers()


def _refuse_infinite(ranking: Ranking) -> None:
    """Weights can be finite and their sums not; such scores rank nothing, and JSON cannot hold them."""
    if not np.isfinite(ranking.scores).all():
        raise ModelError(
            "the model gives scores that are NaN or infinite: its training went astray; train it again, "
            "with a smaller learning rate if it has one"
        )


@dataclass(frozen=True)
class Ensemble:
    """A weighted mean of Rankings; labels a member does not mention count as 0."""

    members: tuple[Predictor, ...]
    weights: tuple[float, ...]

    # Members are asked deeper than the answer: a label just below one member's k may lead in the mean.
    POOL: typing.ClassVar[int] = 100

    @property
    def n_labels(self) -> int:
        """How many labels the members share."""
        return self.members[0].model.n_labels

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k labels with the best mean score."""
        # Who has no weight, as learned weights may say of some, need not be asked.
        asked = [(member, weight) for member, weight in zip(self.members, self.weights) if weight > 0]
        rankings = [member.rank(documents, max(k, self.POOL)) for member, _ in asked]
        return average(rankings, [weight for _, weight in asked], k)


def combine(members: Sequence[Predictor], weights: Sequence[float] | None = None) -> Predictor:
    """An ensemble that predicts, saves and evaluates like any other model."""
    members = models_of(members)
    share = tuple(shares(weights, len(members), "models").tolist())
    first = members[0]
    for at, member in enumerate(members[1:], 2):
        if label_digest(member.labels) != label_digest(first.labels):
            raise ModelError(f"model {at} has other labels than model 1; an ensemble's members share one label set")
    about = About(ENSEMBLE, {"members": [member.about.method for member in members]}, first.about.corpus)
    return Predictor(Ensemble(tuple(members), share), first.labels, first.counts, about)


def model_of(given: object) -> Predictor:
    """What was given, if it is a model; else a sentence that says how to get one."""
    if isinstance(given, Predictor):
        return given
    if isinstance(given, (str, PathLike)):
        raise ModelError(f"{given} is a path; open it and pass the model: longtail.open({str(given)!r})")
    raise ModelError(f"expected a model, not {type(given).__name__}: pass longtail.open(path), or what fit returned")


def models_of(given: object) -> list[Predictor]:
    """The models in a list, at least one."""
    if isinstance(given, Predictor):
        raise ConfigError("an ensemble is made of a list of models; put your one model in a list: [model]")
    if isinstance(given, (str, PathLike)) or not isinstance(given, Iterable):
        raise ConfigError(f"an ensemble is made of a list of models, not {given!r:.60}; as in [longtail.open(path), …]")
    members = [model_of(member) for member in given]
    if not members:
        raise ConfigError("an ensemble needs at least one model")
    return members


# -- training -----------------------------------------------------------------------------------------------------


def fit(
    name: str,
    corpus: Corpus,
    run: str | Path | None = None,
    *,
    say: Callable[[str], None] = silent,
    device: str = "cpu",
    tensorboard: bool = False,
    **settings: Any,  # noqa: ANN401 - the method's own Config checks them
) -> Predictor:
    """Train a method on a corpus.  With a run directory, a killed training goes on where it stopped."""
    called, corpus = method(name), one_split(corpus, "train")
    if run is not None:
        settings_of.path_of(run, "run")
    if corpus.role == "test":
        raise CorpusError(f"{corpus.name}: this is the test split; a model never trains on what it is judged by")
    if len(corpus) == 0 or corpus.n_labels == 0:
        raise CorpusError(f"{corpus.name}: nothing to learn from ({len(corpus)} documents, {corpus.n_labels} labels)")
    corpus.documents.check_numbers()
    config = settings_of.build(called.Config, settings)
    check_device(name, device)
    with (
        _place(run) as place,
        open_run(
            place, name, dataclasses.asdict(config), corpus, say, device=device, tensorboard=tensorboard
        ) as started,
    ):
        finished = place / "model"
        if store.finished(finished):
            say(f"{finished} is already there")
            return open_model(finished)
        store.check_target(finished, store.MODEL)  # before hours are spent, not after
        started.announce(corpus, called.need(corpus, config))
        with _needing_torch(name):
            model = called.fit(corpus, config, started)
            check_answers(model.rank, corpus, started, _changed(config))
        chosen = _chosen_in_training(corpus) if started.validation else {}
        about = About(name, dataclasses.asdict(config), _described(corpus), started.validation, chosen=chosen)
        trained = Predictor(
            model, corpus.label_set, np.bincount(corpus.labels.indices, minlength=corpus.n_labels), about
        )
        trained.save(finished)
        # Without a directory to keep, the arrays must outlive the temporary one they were mapped from;
        # an open mapping does, so the model is read back either way.
        return open_model(finished)


def _changed(config: Any) -> list[str]:  # noqa: ANN401 - any method's Config
    """The settings that are not the defaults, one phrase each."""
    defaults, now = (json.loads(json.dumps(dataclasses.asdict(each))) for each in (type(config)(), config))
    return changes(defaults, now)


def check_device(name: str, device: str) -> None:
    """Raise unless a method can train on this device: cpu, cuda, cuda:1."""
    device_of.check_device(device, name, cpu_only=getattr(method(name), "CPU_ONLY", False))


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
def _place(run: str | Path | None) -> Iterator[Path]:
    if run is not None:
        yield store.named(run)
        return
    with tempfile.TemporaryDirectory(prefix="longtail-") as directory:
        yield Path(directory)


def _described(corpus: Corpus) -> dict[str, Any]:
    about = {"name": corpus.name, "fingerprint": corpus.fingerprint}
    return about | {"documents": len(corpus), "labels": corpus.n_labels}


# -- opening ------------------------------------------------------------------------------------------------------


def open_model(directory: str | Path, *, verify: bool = True) -> Predictor:
    """A saved model, its weights mapped from disk.  `verify` checks every file against the manifest."""
    directory = settings_of.path_of(directory, "directory")
    if verify:
        store.verify(directory)
    return _read(directory)


def _read(directory: Path, depth: int = 0) -> Predictor:
    about = store.read_object(directory / "model.json")
    if about.get("format") != FORMAT:
        raise ModelError(
            f"{directory}: written in model format {about.get('format')}, and this version reads {FORMAT}; "
            "open it with the version of longtail named in its model.json"
        )
    # Models older than a field of About do not have it.
    known = {item.name: about[item.name] for item in dataclasses.fields(About) if item.name in about}
    told = store.read_plain(directory, About, known)
    is_ensemble = told.method == ENSEMBLE
    model = _read_ensemble(directory, about, depth) if is_ensemble else _read_method(directory, told.method, about)
    counts, labels = _read_counts(directory / "label_counts.npy"), LabelFile(directory / "labels.jsonl")
    if len({model.n_labels, len(counts), len(labels)}) > 1:
        raise ModelError(
            f"{directory}: {model.n_labels} labels are ranked, {len(counts)} have counts and {len(labels)} have names; "
            "copy the model again"
        )
    calibration = None
    if "calibration" in about:
        calibration = store.read_parts(directory, Calibration, about["calibration"], CALIBRATION)
    return Predictor(model, labels, counts, told, calibration)


def _read_counts(path: Path) -> np.ndarray:
    try:
        # Mapped, so that a header that promises more than the file has takes no memory.
        counts = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy reads the header as Python, and its tokenizer raises errors of its own
        raise ModelError(f"{path}: cannot be read as an array ({error})") from error
    if not isinstance(counts, np.ndarray) or counts.ndim != 1 or counts.dtype.kind != "i" or counts.min(initial=0) < 0:
        raise ModelError(f"{path}: it must hold how many training documents each label has; copy the model again")
    return np.array(counts, np.int64)


CALIBRATION = "calibration.safetensors"


def _read_method(directory: Path, name: str, about: dict[str, Any]) -> Ranks:
    if name not in METHODS:
        raise ModelError(f"{directory}: made by method {name!r:.40}, which this version does not have")
    kind = typing.get_type_hints(method(name).fit)["return"]
    return store.read_parts(directory, kind, about.get("state"), "weights.safetensors")


def _read_ensemble(directory: Path, about: dict[str, Any], depth: int) -> Ensemble:
    if depth >= DEEPEST:
        raise ModelError(f"{directory}: an ensemble inside more than {DEEPEST} others")
    told = store.read_plain(directory, Shares, about.get("state"))
    members = tuple(_read(directory / "members" / str(at), depth + 1) for at in range(len(told.weights)))
    if len({member.model.n_labels for member in members}) > 1:
        raise ModelError(f"{directory}: the members of this ensemble have different numbers of labels")
    return Ensemble(members, told.weights)


DEEPEST = 10  # ensembles inside ensembles


@dataclass(frozen=True)
class Shares:
    """What an ensemble's model.json holds of it."""

    weights: tuple[float, ...]

    def check(self) -> None:
        """As `combine` wants them."""
        if not self.weights or min(self.weights) < 0 or not 0 < sum(self.weights) < np.inf:
            raise Unsound(f"weights are {self.weights}; none may be negative, and not all zero")


# -- labels -------------------------------------------------------------------------------------------------------


class LabelFile(Sequence[Label]):
    """`labels.jsonl`, mapped: a line is parsed when its label is asked for, so a million labels open at once."""

    def __init__(self, path: Path):
        self.path = path
        data = store.mapped_bytes(path)
        stops = np.flatnonzero(data == ord("\n"))
        self._lines = Texts(data, np.concatenate([[0], stops[:-1] + 1]) if len(stops) else stops, stops)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - Sequence's two overloads
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        try:
            label = Label(**json.loads(self._lines[int(at)]))
            if all(type(part) is str for part in label):
                return label
        except (ValueError, TypeError, RecursionError):
            pass
        raise ModelError(f"{self.path}:{int(at) + 1}: not a label with id, name and text; copy the model again")


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """One JSON line a label."""
    with path.open("w", encoding="utf-8") as file:
        for label in labels:
            file.write(json.dumps(label._asdict(), ensure_ascii=False) + "\n")


def label_digest(labels: Sequence[Label]) -> str:
    """Two label sets with the same digest have the same ids in the same order."""
    ids = labels.ids if isinstance(labels, LabelSet) else Texts.of(label.id for label in labels)
    packed = ids.packed()
    return hashlib.sha256(packed.data.tobytes() + packed.stops.astype(np.int64).tobytes()).hexdigest()[:16]
