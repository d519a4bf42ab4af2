"""`longtail predict --engine ray`: in a real Ray of this machine (slow), and where Ray is not installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.planted import word


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "linear"
    fit("linear", planted.train).save(place)
    return place


@pytest.fixture
def real_ray() -> None:
    """Ray, or a skip that is seen."""
    try:
        import ray  # noqa: F401
    except ImportError:
        message = "SKIPPED, NOT PASSED: ray is not installed; pip install 'longtail[ray]'"
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)


def predict(*words: object, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "longtail", "predict", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | (environment or {}))


def write_files(place: Path) -> list[Path]:
    """A file of lines with bad ones, and a table."""
    from pyarrow import Table, parquet

    lines = [json.dumps({"id": at, "text": word(at % 60)}) for at in range(3000)]
    lines[17] = "{bad"
    (place / "a.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    texts = [f"{word(at % 60)} {word((at * 7) % 60)}" for at in range(2000)]
    parquet.write_table(Table.from_pydict({"text": texts}), place / "b.parquet")
    return [place / "a.jsonl", place / "b.parquet"]


# -- without a cluster -------------------------------------------------------------------------------------------------


def test_without_ray_a_sentence_says_how_to_install_it(model: Path, tmp_path: Path):
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('No module named ray', name='ray')")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = predict(model, "x.jsonl", "--engine", "ray", "--out", tmp_path / "out", environment={"PYTHONPATH": paths})
    assert done.returncode == 2 and "pip install 'longtail[ray]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "ray"), "say where with --out"),
        (("--out", "x"), "are for --engine ray"),
        (("--format", "parquet"), "are for --engine ray"),
        (("--address", "auto"), "are for --engine ray"),
    ],
)
def test_options_of_the_other_engine_are_refused(model: Path, words: tuple[str, ...], said: str):
    done = predict(model, *words)
    assert done.returncode == 2 and said in done.stderr


def test_several_files_are_answered_one_after_the_other(model: Path, tmp_path: Path):
    files = write_files(tmp_path)
    apart = [predict(model, file).stdout for file in files]
    assert predict(model, *files).stdout == "".join(apart) and all(apart)


@pytest.mark.usefixtures("real_ray")
def test_a_cluster_that_is_not_there_is_said_at_once(model: Path, tmp_path: Path):
    files = write_files(tmp_path)[:1]
    done = predict(model, *files, "--engine", "ray", "--out", tmp_path / "out", "--address", "127.0.0.1:1")
    assert done.returncode == 2 and "no Ray at 127.0.0.1:1" in done.stderr and "refused" in done.stderr
    assert "Traceback" not in done.stderr


# -- in a real cluster -------------------------------------------------------------------------------------------------


def answered(out: Path) -> dict[tuple[str, int], dict]:
    """By file and record; none twice."""
    lines = [json.loads(line) for part in (out / "answers").iterdir() for line in part.read_text("utf-8").splitlines()]
    found = {(fields.pop("file"), fields.pop("record")): fields for fields in lines}
    assert len(found) == len(lines)
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("real_ray")
def test_ray_answers_as_the_plain_engine_does(model: Path, tmp_path: Path):
    files, out = write_files(tmp_path), tmp_path / "out"
    done = predict(model, *files, "--k", 3, "--engine", "ray", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "wrote 5,000 answers" in done.stderr and "1 records" in done.stderr
    expected = [json.loads(line) for line in predict(model, *files, "--k", 3).stdout.splitlines()]
    assert [fields for _, fields in sorted(answered(out).items())] == expected
    again = predict(model, *files, "--k", 3, "--engine", "ray", "--out", out)
    assert again.returncode == 0 and "nothing was done" in again.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("real_ray")
def test_a_job_goes_on_behind_the_parts_that_are_finished(model: Path, tmp_path: Path):
    """As if it had been killed: one part has its checkpoint, one is pending."""
    from pyarrow import Table, int64, parquet
    from pyarrow import array as arrow_array

    from longtail.predict.on_ray import asked_of

    files, out = write_files(tmp_path)[:1], tmp_path / "out"
    job = asked_of(model, [str(files[0])], k=3).job(out)
    job.begin()
    job.checkpoints.mkdir()
    lines = [json.dumps({"file": "kept", "record": at}) for at in range(1, 1001)]
    (job.answers / "w_000000.jsonl").write_text("\n".join(lines) + "\n")
    (job.answers / "w_000001.jsonl").write_text('{"cut sh')
    for name, keys in (("w_000000", range(1, 1001)), ("w_000001.pending", range(1001, 2001))):
        parquet.write_table(Table.from_pydict({"key": arrow_array(keys, int64())}), job.checkpoints / f"{name}.parquet")
    done = predict(model, *files, "--k", 3, "--engine", "ray", "--out", out)
    assert done.returncode == 0, done.stderr
    found = answered(out)
    assert sorted(record for _, record in found) == list(range(1, 3001))
    assert sum(file == "kept" for file, _ in found) == 1000, "what was finished is not answered again"


@pytest.mark.slow
@pytest.mark.usefixtures("real_ray")
def test_an_error_of_a_worker_is_the_sentence_it_would_be_here(model: Path, tmp_path: Path):
    files = write_files(tmp_path)[:1]
    done = predict(model, *files, "--strict", "--engine", "ray", "--out", tmp_path / "out")
    assert done.returncode == 2 and "a.jsonl:18: not JSON" in done.stderr
    assert "Traceback" not in done.stderr
