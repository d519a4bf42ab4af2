"""The directory of a batch job: it goes on only with the same job, and counts no record twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from longtail.errors import RunError
from longtail.predict.record_tables import KEY

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402 - needs pyarrow

from longtail.predict.job import Job  # noqa: E402

ASKED = {"model": "abc", "files": [["a.jsonl", 10, 5]], "k": 5}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "out", ASKED)


def part(job: Job, name: str, keys: list[int], checkpoint: str = "{}.parquet") -> None:
    """A part as a task writes it, and its checkpoint."""
    job.checkpoints.mkdir(exist_ok=True)
    (job.answers / f"{name}.jsonl").write_text("{}\n" * len(keys), "utf-8")
    if checkpoint:
        parquet.write_table(pa.table({KEY: pa.array(keys, pa.int64())}), job.checkpoints / checkpoint.format(name))


def test_a_finished_job_has_nothing_left_to_do(job: Job):
    assert job.begin() and job.begin()
    part(job, "x_000000", [1, 2, 3])
    assert job.seal() == 3
    assert not job.begin() and not job.checkpoints.exists()


@pytest.mark.parametrize(
    "changed", [{"model": "abd"}, {"files": [["a.jsonl", 11, 5]]}, {"files": [["a.jsonl", 10, 6]]}, {"k": 4}]
)
def test_another_model_file_or_setting_is_refused_by_name(job: Job, changed: dict):
    job.begin()
    with pytest.raises(RunError, match=f"another {next(iter(changed))}"):
        Job(job.place, ASKED | changed).begin()


def test_a_directory_of_somebody_else_is_left_alone(job: Job):
    job.place.mkdir()
    (job.place / "thesis.tex").write_text("mine")
    with pytest.raises(RunError, match="new or empty"):
        job.begin()
    assert [path.name for path in job.place.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("checkpoint", ["", "{}.pending.parquet"])
def test_parts_that_no_checkpoint_vouches_for_are_deleted(job: Job, checkpoint: str):
    job.begin()
    part(job, "x_000000", [1, 2])
    part(job, "y_000000", [2, 3], checkpoint)
    part(job, "x_000001", [3])
    assert job.seal() == 3
    assert sorted(path.name for path in job.answers.iterdir()) == ["x_000000.jsonl", "x_000001.jsonl"]


def test_a_record_in_two_finished_parts_is_an_error(job: Job):
    job.begin()
    part(job, "x_000000", [1, 2])
    part(job, "y_000000", [2, 3])
    with pytest.raises(RunError, match="1 records were answered by two"):
        job.seal()
    assert job.begin(), "the job is not finished"


def test_two_processes_cannot_work_on_one_job(job: Job):
    with job.alone(), pytest.raises(RunError, match="another process"), job.alone():
        pass
    with job.alone():
        assert job.begin()


def test_a_job_without_records_is_finished_too(job: Job):
    job.begin()
    assert job.seal() == 0
