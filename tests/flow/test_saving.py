"""What becomes of files and exit codes when pipes close, disks fill up and processes are stopped: real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longtail import fit
from longtail import open as open_model
from longtail.corpus import Splits
from longtail.data.write import write
from tests.full_disk import limit
from tests.planted import word


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saving")
    write(planted, place / "corpus")
    fit("centroid", planted.without_valid).save(place / "model")
    (place / "queries.txt").write_text("".join(f"{word(at % 60)}\n" for at in range(3000)))
    return place


ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[2])}  # we are started elsewhere


def started(place: Path, *words: object, program: tuple[str, ...] = ("-m", "longtail"), **options: object):
    command = [sys.executable, *program, *map(str, words)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=place, text=True, env=os.environ | ENVIRONMENT, **(streams | options))


def patched(place: Path, code: str, *words: object) -> subprocess.Popen[str]:
    """A command after a line of Python."""
    imports = "import os, signal, time, longtail.cli, longtail.store, longtail.data.load, longtail.train.run"
    return started(place, *words, program=("-c", f"{imports}\n{code}\nlongtail.cli.main()"))


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and standard error."""
    with process:
        _, err = process.communicate(timeout=60)
    return process.returncode, err or ""


def left(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The same, when nobody reads the rest of standard output."""
    with process:
        process.stdout.close()
        err = process.stderr.read()
    return process.returncode, err


# -- a reader who leaves --------------------------------------------------------------------------------------------


def test_predict_is_done_when_its_reader_leaves(place: Path):
    process = started(place, "predict", "model", "queries.txt")
    assert json.loads(process.stdout.readline())["labels"]
    assert left(process) == (0, "")


def test_evaluate_writes_its_numbers_though_nobody_reads_the_table(place: Path, tmp_path: Path):
    assert left(started(place, "evaluate", "model", "corpus", "--json", tmp_path / "m.json")) == (0, "")
    assert json.loads((tmp_path / "m.json").read_text())["metrics"]


def test_calibrate_saves_its_model_though_nobody_reads_the_table(place: Path, tmp_path: Path):
    assert left(started(place, "calibrate", "model", "corpus", "--out", tmp_path / "new"))[0] == 0
    assert open_model(tmp_path / "new").calibration is not None


def test_help_is_done_when_its_reader_leaves(place: Path):
    assert left(started(place, "--help")) == (0, "")


def test_a_training_goes_on_when_nobody_watches_it(place: Path, tmp_path: Path):
    reads, writes = os.pipe()
    process = started(place, "train", "centroid", "corpus", "--run", tmp_path / "run", stderr=writes)
    os.close(writes)
    os.close(reads)
    assert ended(process)[0] == 0
    open_model(tmp_path / "run" / "model")


def test_closed_streams_are_nobodys_fault(place: Path):
    command = f"exec {sys.executable} -m longtail predict model queries.txt >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=place, env=os.environ | ENVIRONMENT).returncode == 0


# -- a full disk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("predict", "model", "queries.txt"), ("evaluate", "model", "corpus"), ("--help",)])
def test_output_to_a_full_disk_is_a_sentence(words: tuple[str, ...], place: Path):
    with Path("/dev/full").open("w") as full:
        code, err = ended(started(place, *words, stdout=full))
    assert code == 2 and err.startswith("longtail: standard output: No space left on device") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("train", "centroid", "corpus", "--run", "PLACE"),
            "PLACE/stages/features: cannot be written (File too large)",
        ),
        (("ensemble", "model", "model", "--out", "PLACE"), "PLACE: cannot be written (File too large)"),
        (("calibrate", "model", "corpus", "--out", "PLACE"), "PLACE: cannot be written (File too large)"),
        (("evaluate", "model", "corpus", "--json", "PLACE"), "PLACE: cannot be written (File too large)"),
        (("convert", "corpus", "PLACE"), "PLACE: cannot be written (File too large)"),
    ],
)
def test_writing_to_a_full_disk_is_a_sentence_and_leaves_nothing_half_written(
    words: tuple[str, ...], said: str, place: Path, tmp_path: Path
):
    target = tmp_path / "new"
    words = tuple(str(target) if one == "PLACE" else one for one in words)
    code, err = ended(started(place, *words, preexec_fn=lambda: limit(4000)))
    assert code == 2 and said.replace("PLACE", str(target)) in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == (["new"] if words[0] == "train" else [])
    assert not [path for path in tmp_path.rglob(".*")]


# -- a process that is stopped --------------------------------------------------------------------------------------


def test_ctrl_c_is_130_and_one_line(place: Path):
    waiting = "lambda *_, **__: (print('loading', flush=True), time.sleep(60))"
    process = patched(place, f"longtail.data.load.load = {waiting}", "evaluate", "model", "corpus")
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "stopped\n")


def test_a_training_that_is_stopped_says_how_it_goes_on_and_does(place: Path, tmp_path: Path):
    train = ("train", "centroid", "corpus", "--run", tmp_path / "run")
    waiting = "lambda *_: (print('training', flush=True), time.sleep(60))"
    process = patched(place, f"longtail.train.run.Run.announce = {waiting}", *train)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code, err = ended(process)
    assert code == 130 and err.splitlines()[-1] == "stopped; the same command goes on from here"
    assert ended(started(place, *train))[0] == 0


def test_what_a_killed_ensemble_left_is_gone_after_the_next_one(place: Path, tmp_path: Path):
    dies = "longtail.store.directory.put_in_place = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    ensemble = ("ensemble", "model", "model", "--out", tmp_path / "both")
    assert ended(patched(place, dies, *ensemble))[0] == -signal.SIGKILL
    assert list(tmp_path.glob(".both.*/model.json"))
    assert ended(started(place, *ensemble))[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["both"]
