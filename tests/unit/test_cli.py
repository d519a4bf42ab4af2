"""How commands end: exit codes, sentences, and nothing lost.  Within this process; real ones are in tests/flow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longtail import cli, fit, load
from longtail.corpus import Splits
from longtail.data.write import write
from longtail.errors import CorpusError


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and a model that left its val split out."""
    place = tmp_path_factory.mktemp("cli")
    write(planted, place / "corpus")
    fit("centroid", planted.without_valid).save(place / "model")
    return place


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def longtail(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command as typed in a directory with `corpus` and `model`: exit code, standard output, standard error."""
    monkeypatch.chdir(place)
    # A name of the package is looked up once and kept: now, before a test puts something else into its place.
    monkeypatch.setattr("longtail.load", load)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["longtail", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


# -- exit codes -----------------------------------------------------------------------------------------------------


def test_what_is_done_exits_with_0_and_help_too(longtail: Command):
    for words in (("methods",), ("--help",), ("train", "-h")):
        code, out, err = longtail(*words)
        assert code == 0 and out and not err


def test_words_that_no_command_knows_exit_with_2(longtail: Command):
    for words in (("train", "linear", "corpus"), ("methods", "--nothing"), ("nothing",)):
        code, out, err = longtail(*words)
        assert code == 2 and "Usage" in err and not out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "centroid", "corpus", "--run", "RUN"), "stopped; the same command goes on from here\n"),
        (("demo", "--run", "RUN"), "stopped; the same command goes on from here\n"),
        (("evaluate", "model", "corpus"), "stopped\n"),
        (("calibrate", "model", "corpus", "--out", "RUN"), "stopped\n"),
    ],
)
def test_ctrl_c_exits_with_130_and_promises_only_what_is_true(
    words: tuple[str, ...], said: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("longtail.data.load.load", raising(KeyboardInterrupt()))
    monkeypatch.setattr("longtail.load", raising(KeyboardInterrupt()), raising=False)
    assert longtail(*(tmp_path / word if word == "RUN" else word for word in words)) == (130, "", said)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CorpusError("corpus: is wrong"), "longtail: corpus: is wrong\n"),
        (PermissionError(13, "Permission denied", "corpus/trn.json"), "corpus/trn.json: Permission denied; change its"),
        (IsADirectoryError(21, "Is a directory", b"bytes"), "bytes: Is a directory; choose another place"),
        (OSError(28, "No space left on device"), "standard output: No space left on device; make room"),
    ],
)
def test_what_a_user_can_mend_is_a_sentence_and_exits_with_2(
    error: Exception, said: str, longtail: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("longtail.data.load.load", raising(error))
    code, out, err = longtail("evaluate", "model", "corpus")
    assert code == 2 and said in err and not out and err.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a fault"),
        OSError(9, "Bad file descriptor"),
        FileNotFoundError(2, "No such file or directory", str(Path(cli.__file__).parent / "data" / "demo" / "gone")),
        FileNotFoundError(2, "No such file or directory", 7),
    ],
)
def test_a_fault_of_ours_keeps_its_traceback(error: Exception, place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    monkeypatch.setattr("longtail.data.load.load", raising(error))
    monkeypatch.setattr(sys, "argv", ["longtail", "evaluate", "model", "corpus"])
    with pytest.raises(type(error)):
        cli.main()


@pytest.mark.parametrize(("gone", "code"), [(True, 0), (False, 1)])
def test_only_a_pipe_of_our_output_that_breaks_is_a_reader_who_left(
    gone: bool, code: int, longtail: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("longtail.data.load.load", raising(BrokenPipeError(32, "Broken pipe")))
    monkeypatch.setattr(cli, "_nobody_reads", lambda: gone)
    assert longtail("evaluate", "model", "corpus")[0] == code


# -- where commands write -------------------------------------------------------------------------------------------

WRITING = {
    "demo": ("demo", "--run", "PLACE"),
    "describe": ("describe", "corpus", "--json", "PLACE"),
    "describe --plot": ("describe", "corpus", "--plot", "PLACE"),
    "convert": ("convert", "corpus", "PLACE"),
    "train": ("train", "centroid", "corpus", "--run", "PLACE"),
    "evaluate": ("evaluate", "model", "corpus", "--json", "PLACE"),
    "evaluate --plots": ("evaluate", "model", "corpus", "--plots", "PLACE"),
    "ensemble": ("ensemble", "model", "model", "--out", "PLACE"),
    "calibrate": ("calibrate", "model", "corpus", "--out", "PLACE"),
}


def at(place: object, command: str) -> list[object]:
    return [place if word == "PLACE" else word for word in WRITING[command]]


@pytest.mark.parametrize("command", WRITING)
def test_an_empty_path_is_not_the_current_directory(command: str, longtail: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    monkeypatch.setattr("longtail.load", raising(AssertionError("read the corpus")), raising=False)
    code, _, err = longtail(*at("", command))
    assert code == 2 and "an empty path was given to write to" in err


@pytest.mark.parametrize("command", ["train", "ensemble", "calibrate", "convert"])
@pytest.mark.parametrize("inside", ["", "/sub"])
def test_a_file_in_the_way_is_told_before_the_work(
    command: str, inside: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "thesis").write_text("years of work")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail(*at(f"{tmp_path}/thesis{inside}", command))
    assert code == 2 and f"thesis{inside}: " in err and "Traceback" not in err
    assert (tmp_path / "thesis").read_text() == "years of work" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("command", ["ensemble", "calibrate", "convert"])
def test_a_directory_of_somebody_else_is_told_before_the_work(
    command: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "victim" / "thesis").mkdir(parents=True)
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail(*at(tmp_path / "victim", command))
    assert code == 2 and "victim: exists already" in err
    assert (tmp_path / "victim" / "thesis").is_dir() and len(list(tmp_path.iterdir())) == 1


def test_a_whole_run_is_not_replaced_by_a_model(longtail: Command, tmp_path: Path, planted: Splits):
    fit("centroid", planted.train, run=tmp_path / "run")
    code, _, err = longtail("ensemble", "model", "model", "--out", tmp_path / "run")
    assert code == 2 and f"the model of a run is {tmp_path}/run/model" in err
    assert (tmp_path / "run" / "run.json").is_file()


def test_training_in_a_project_with_a_model_of_its_own_is_told_before_the_work(
    longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "user.py").write_text("class User: ...")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail("train", "centroid", "corpus", "--run", tmp_path)
    assert code == 2 and "model is there already, and not from a run" in err
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "user.py"]


def test_settings_that_cannot_be_read_are_told(longtail: Command, tmp_path: Path):
    code, _, err = longtail("train", "centroid", "corpus", "--run", tmp_path / "run", "--config", tmp_path)
    assert code == 2 and f"{tmp_path}: cannot be read (Is a directory); give a TOML file" in err


@pytest.mark.parametrize("command", ["describe", "evaluate"])
def test_numbers_are_written_before_they_are_printed(
    command: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cli, "_screen", raising(KeyboardInterrupt()))
    assert longtail(*at(tmp_path / "numbers.json", command))[0] == 130
    assert json.loads((tmp_path / "numbers.json").read_text())


# -- calibrate ------------------------------------------------------------------------------------------------------


def test_calibrate_keeps_the_model_unless_told(longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.predict.opening.open_model", raising(AssertionError("opened the model")))
    for words in ((), ("--in-place", "--out", tmp_path / "new")):
        code, _, err = longtail("calibrate", "model", "corpus", *words)
        assert code == 2 and "--out DIR" in err and "--in-place" in err


def test_calibrating_in_place_does_not_lose_what_somebody_put_there(
    longtail: Command, tmp_path: Path, planted: Splits, monkeypatch: pytest.MonkeyPatch
):
    fit("centroid", planted.without_valid).save(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("do not lose me")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail("calibrate", tmp_path / "model", "corpus", "--in-place")
    assert code == 2 and "notes.txt is in it" in err and (tmp_path / "model" / "notes.txt").is_file()
    assert not (tmp_path / "model" / "calibration.safetensors").exists()
