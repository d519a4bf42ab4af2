from __future__ import annotations

import builtins
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longtail.errors import MissingExtraError, RunError
from longtail.train import run as runs
from longtail.train.need import Need
from tests.full_disk import full_disk
from tests.unit.train.runs import corpus, opened

ROOT = Path(__file__).parents[3]


def events(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]


# -- stages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Squares:
    values: np.ndarray
    note: str


def squares(count: int) -> Squares:
    return Squares(np.arange(count) ** 2, "of whole numbers")


def never(count: int) -> Squares:
    raise AssertionError("this stage was finished before")


def test_a_stage_is_computed_once_and_read_back(tmp_path):
    with opened(tmp_path) as run:
        first = run.stage("squares", squares, 5)
        assert first.values.tolist() == [0, 1, 4, 9, 16]
        assert isinstance(first.values.base, np.memmap) or not first.values.flags.writeable, "mapped from disk"
    with opened(tmp_path) as run:
        again = run.stage("squares", never, 5)
        assert np.array_equal(first.values, again.values)
        assert again.note == "of whole numbers"


def test_a_stage_whose_bytes_changed_is_computed_again_and_said(tmp_path):
    with opened(tmp_path) as run:
        run.stage("squares", squares, 2000)
    arrays = tmp_path / "stages" / "squares" / "arrays.safetensors"
    with arrays.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    said: list[str] = []
    with opened(tmp_path, say=said.append) as run:
        assert np.array_equal(run.stage("squares", squares, 2000).values, np.arange(2000) ** 2)
    assert any("squares" in line and "damaged" in line for line in said)
    assert [event["name"] for event in events(tmp_path) if event["event"] == "damaged"] == ["squares"]
    with opened(tmp_path) as run:
        run.stage("squares", never, 2000)


def test_a_stage_that_fails_leaves_nothing_and_says_why_in_the_log(tmp_path):
    with pytest.raises(ZeroDivisionError), opened(tmp_path) as run:
        run.stage("broken", lambda: 1 / 0)
    assert not list((tmp_path / "stages").glob("*"))
    assert events(tmp_path)[-1]["reason"] == "ZeroDivisionError: division by zero"


def test_the_log_has_time_memory_and_how_long_a_stage_took(tmp_path):
    with opened(tmp_path) as run:
        run.stage("squares", squares, 5)
        run.log("note", what="été", number=1.5)
    start, stage, note, end = events(tmp_path)
    assert [line["event"] for line in (start, stage, note, end)] == ["start", "stage", "note", "end"]
    assert start["process"] == os.getpid()
    assert stage["name"] == "squares" and stage["seconds"] >= 0
    assert note["what"] == "été" and note["number"] == 1.5
    assert abs(note["time"] - time.time()) < 60 and note["memory"] > 1e6


KILLED = """
import sys, time, numpy as np
from pathlib import Path
from tests.unit.train.runs import opened

def large(seed: int) -> np.ndarray:
    print("begun", flush=True)
    return np.random.default_rng(seed).random(400_000)

with opened(Path(sys.argv[1])) as run:
    parts = [run.stage(f"part-{at}", large, at) for at in range(6)]
"""


def test_sigkill_leaves_every_stage_whole_or_absent(tmp_path):
    chance = np.random.default_rng()
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT)
        child.stdout.readline()
        time.sleep(chance.uniform(0, 0.02))  # into the computing, the writing or the renaming
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        for place in (tmp_path / "stages").glob("*"):
            assert place.name.startswith(".") or (place / "manifest.json").is_file()

    def large(seed: int) -> np.ndarray:
        return np.random.default_rng(seed).random(400_000)

    with opened(tmp_path) as run:
        assert not [place for place in (tmp_path / "stages").glob("*") if place.name.startswith(".")], "swept"
        for at in range(6):
            assert np.array_equal(run.stage(f"part-{at}", large, at), large(at))


def test_stages_copied_from_another_run_are_taken(tmp_path):
    with opened(tmp_path / "one") as run:
        run.stage("squares", squares, 5)
    shutil.copytree(tmp_path / "one" / "stages", tmp_path / "two" / "stages")
    with opened(tmp_path / "two") as run:
        assert run.stage("squares", never, 5).values.tolist() == [0, 1, 4, 9, 16]


def test_a_stage_of_the_run_that_was_not_copied_whole_is_computed_anew(tmp_path):
    with opened(tmp_path) as run:
        run.stage("squares", squares, 5)
    (tmp_path / "stages" / "squares" / "manifest.json").unlink()
    with opened(tmp_path) as run:
        assert run.stage("squares", squares, 6).values[-1] == 25


# -- what the system refuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["file", "file/run"])
def test_a_file_in_the_way_is_a_sentence(place, tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused = pytest.raises(RunError, match=rf"{place}: cannot be written \(Not a directory\)")
    with refused, opened(tmp_path / place):
        pass


def test_a_full_disk_stops_a_stage_with_a_sentence(tmp_path):
    with (
        pytest.raises(RunError, match=r"stages/squares: cannot be written \(File too large\)"),
        opened(tmp_path) as run,
        full_disk(2000),
    ):
        run.stage("squares", squares, 5000)
    assert "cannot be written" in events(tmp_path)[-1]["reason"]
    with opened(tmp_path) as run:
        assert len(run.stage("squares", squares, 5000).values) == 5000


def test_a_disk_too_full_for_the_log_is_a_sentence_too(tmp_path):
    refused = pytest.raises(RunError, match=r"log\.jsonl: cannot be written \(File too large\)")
    with refused, full_disk(2000), opened(tmp_path) as run:
        run.log("note", text="x" * 3000)


def test_an_error_of_computing_is_not_taken_for_one_of_writing(tmp_path):
    def reads() -> int:
        return len((tmp_path / "vectors.txt").read_text())

    with pytest.raises(FileNotFoundError, match=r"vectors\.txt"), opened(tmp_path) as run:
        run.stage("vectors", reads)


# -- what it needs ------------------------------------------------------------------------------------------------


def test_it_says_what_is_coming(tmp_path):
    lines: list[str] = []
    with opened(tmp_path, say=lines.append) as run:
        run.announce(corpus(), Need(parameters=12345, memory=3 * 1024**2, disk=1536))
    assert lines == ["2 documents, 2 labels, 12,345 parameters; needs about 3.0 MB of memory and 1.5 KB of disk"]
    assert next(line for line in events(tmp_path) if line["event"] == "need")["needs"]["parameters"] == 12345


def test_a_training_that_does_not_fit_in_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "free_memory", lambda: 2 * 1024**3)
    with opened(tmp_path) as run:
        run.announce(corpus(), Need(1, memory=2 * 1024**3, disk=1))
        with pytest.raises(RunError, match=r"needs about 3\.0 GB of memory and 2\.0 GB are free"):
            run.announce(corpus(), Need(1, memory=3 * 1024**3, disk=1))


def test_a_training_that_does_not_fit_on_the_gpu_is_refused(tmp_path, monkeypatch):
    """Of every parameter a value, a gradient and two moments: 16 bytes."""
    monkeypatch.setattr(runs, "free_on", lambda device: 2 * 1024**3)
    with opened(tmp_path) as run:
        run.device = "cuda"
        run.announce(corpus(), Need(128 * 1024**2, memory=1, disk=1))
        with pytest.raises(RunError, match=r"needs 4\.0 GB on cuda and 2\.0 GB are free there"):
            run.announce(corpus(), Need(256 * 1024**2, memory=1, disk=1))


def test_a_training_that_does_not_fit_on_the_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(runs.psutil, "disk_usage", lambda path: SimpleNamespace(free=10 * 1024**2))
    short = r"needs about 12\.0 MB of disk and 10\.0 MB are free"
    with opened(tmp_path) as run, pytest.raises(RunError, match=short):
        run.announce(corpus(), Need(1, memory=1, disk=12 * 1024**2))


def test_what_an_earlier_attempt_wrote_counts_as_room(tmp_path, monkeypatch):
    monkeypatch.setattr(runs.psutil, "disk_usage", lambda path: SimpleNamespace(free=10 * 1024**2))
    with opened(tmp_path):
        (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "large").write_bytes(bytes(3 * 1024**2))
    with opened(tmp_path) as run:
        run.announce(corpus(), Need(1, memory=1, disk=12 * 1024**2))


# -- watching -----------------------------------------------------------------------------------------------------


def test_tensorboard_gets_what_the_log_gets(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with opened(tmp_path, tensorboard=True) as run:
        for step in (1, 2):
            run.log("training", name="stage-1", step=step, loss=0.5 / step)
        run.log("note", name="stage-1", words="no step, no point")
    drawn = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(point.step, point.value) for point in drawn.Scalars("stage-1/loss")] == [(1, 0.5), (2, 0.25)]
    assert set(drawn.Tags()["scalars"]) == {"stage-1/loss", "stage-1/memory"}


def test_tensorboard_that_is_not_installed_is_a_sentence(tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'longtail\[train\]'"), opened(tmp_path, tensorboard=True):
        pass


def test_a_run_that_needs_no_torch_never_imports_it():
    code = "import sys, longtail.train.run; print([m for m in ('torch', 'numba', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_part_of_a_run_has_stages_of_its_own(tmp_path: Path):
    def one() -> int:
        return 1

    def two() -> int:
        return 2

    with opened(tmp_path) as run:
        assert run.stage("same", one) == 1 and run.part("fold").stage("same", two) == 2
    assert (tmp_path / "parts" / "fold" / "stages" / "same").is_dir()
