"""How commands end: exit codes and sentences.  Within this process; real ones are in tests/flow."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from longtail import cli
from longtail.errors import CorpusError
from tests.unit.cli.commands import Command, raising


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
        FileNotFoundError(
            2, "No such file or directory", str(Path(cli.__file__).parents[1] / "data" / "demo" / "gone")
        ),
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
    monkeypatch.setattr("longtail.cli.exits._nobody_reads", lambda: gone)
    assert longtail("evaluate", "model", "corpus")[0] == code
