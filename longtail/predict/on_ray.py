"""Batch prediction on Ray Data: files are read, answered and written by the processes of one machine or many.

    files ─► read (a task a file) ─► answer (a pool of actors, one a core) ─► write (a part a block) ─► out/answers

Every actor maps the model from disk, so that those of a node share its pages.  A block of answers is written under a
pending checkpoint, which is renamed when the part is whole (Ray's two-phase commit); a job that is started again reads
the checkpoints and answers the records that are in none.  Ray restarts workers that die; that costs their blocks.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from pyarrow import parquet
from ray.data import ActorPoolStrategy, BlockBasedFileDatasink, DataContext, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata
from ray.data.checkpoint import CheckpointConfig
from ray.exceptions import RayError

from longtail import store
from longtail.columns import UNTOLD, Reading
from longtail.data.queries import BATCH, STANDARD_INPUT
from longtail.errors import ConfigError, CorpusError, LongtailError, RunError
from longtail.kernels.threads import available_cores, work_alone
from longtail.predict.job import Job
from longtail.predict.opening import open_model
from longtail.predict.record_tables import KEY, RECORDS, TableAnswers, record_tables

BLOCK = 4 << 20  # bytes of records or answers that travel together; a stopped job loses those under way
STORE = 1 << 30  # bytes of shared memory for blocks, where we start Ray ourselves
FILTER = 256 << 20  # bytes that Ray reserves to leave out what is answered
# Cores that are asked for.  Where a job goes on, Ray's own actor, which leaves out what is answered, takes a whole one;
# with two cores there must be room for it, a model, a reader and a writer, or nothing moves.
MODEL, LIGHT = 0.5, 0.25
PATIENCE = 10  # seconds for a cluster to let us in
FORMATS = ("jsonl", "parquet")


@dataclass(frozen=True)
class Asked:
    """What is to be predicted, and how."""

    model: Path
    files: tuple[str, ...]
    k: int | None = None
    threshold: float | str = 0.0
    format: str = "jsonl"
    reading: Reading = UNTOLD
    strict: bool = False

    def job(self, out: Path) -> Job:
        """The job with which `out` was, or is, begun."""
        manifest = store.sha256(self.model / store.MANIFEST)
        files = [[file, status.st_size, status.st_mtime_ns] for file in self.files if (status := Path(file).stat())]
        rest = {"k": self.k, "threshold": self.threshold, "output": self.format, "strict": self.strict}
        return Job(out, {"model": manifest, "files": files, "reading": self.reading.to_json(), **rest})


def asked_of(model: Path, files: Iterable[str], **settings: Any) -> Asked:  # noqa: ANN401 - fields of Asked
    """Settings whose paths hold wherever a worker runs; refuses what cannot be read there."""
    for file in files:
        if file == STANDARD_INPUT:
            raise ConfigError("--engine ray reads files, which its workers open themselves; name one or more")
        if not Path(file).is_file():
            raise CorpusError(f"{file}: no such file")
    return Asked(model.resolve(), tuple(str(Path(file).resolve()) for file in files), **settings)


def predict_on_ray(asked: Asked, out: Path, address: str | None, say: Callable[[str], None]) -> None:
    """Answer every record of the files into `out`; started again after a stop, it goes on."""
    job = asked.job(out.resolve())
    with job.alone():
        if not job.begin():
            say(f"{out}: all records are answered; nothing was done")
            return
        with _told(), _connected(address):
            bad = _run(asked, job)
        counted = job.seal()
    say(f"wrote {counted:,} answers to {out / 'answers'}")
    if bad:
        say(f"{bad:,} records that were read now could not be understood; their answers say why")


def _run(asked: Asked, job: Job) -> int:
    """Run the flow; how many of the records that it read are bad."""
    _set_context(job)
    sink = Parts(job.answers, asked.format)
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < 2:
        raise RunError(
            f"the cluster has {cores} cores for Ray's tasks, and a job needs two; start a node with --num-cpus 2"
        )
    questions = ray.data.read_datasource(Records(asked), num_cpus=LIGHT)
    answers = questions.map_batches(
        Answering,
        fn_constructor_args=(asked,),
        batch_size=BATCH,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=1, max_size=cores - 1),
        num_cpus=MODEL,
    )
    answers.write_datasink(sink, ray_remote_args={"num_cpus": LIGHT})
    return sink.bad


def _set_context(job: Job) -> None:
    context = DataContext.get_current()
    # Ray deletes checkpoints before we could say that the job is finished; killed in between, it would begin anew.
    kept = CheckpointConfig(KEY, str(job.checkpoints), delete_checkpoint_on_success=False)
    kept.checkpoint_actor_memory_bytes = FILTER
    context.checkpoint_config = kept
    context.target_max_block_size = context.target_min_block_size = BLOCK
    context.enable_progress_bars = False


class Records(Datasource):
    """The records of files: a task a file, which hands on blocks while it reads."""

    def __init__(self, asked: Asked):
        super().__init__()
        self._asked = asked

    def estimate_inmemory_data_size(self) -> int:
        """About the size of the files."""
        return sum(Path(file).stat().st_size for file in self._asked.files)

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: DataContext | None = None
    ) -> list[ReadTask]:
        """One a file, however many are asked for: a task that answers is slower than one that reads."""
        return [self._task(number, file) for number, file in enumerate(self._asked.files)]

    def _task(self, number: int, file: str) -> ReadTask:
        about = BlockMetadata(num_rows=None, size_bytes=Path(file).stat().st_size, input_files=[file], exec_stats=None)
        return ReadTask(partial(record_tables, file, number, self._asked.strict, self._asked.reading), about, RECORDS)


class Answering:
    """A model in a process of its own, on one core."""

    def __init__(self, asked: Asked):
        opened = open_model(asked.model)
        self._answers = TableAnswers(opened, asked.k, asked.threshold, asked.format == "jsonl")

    def __call__(self, table: pa.Table) -> pa.Table:
        """Answers to a block; the other cores have actors of their own."""
        work_alone()
        return self._answers(table)


class Parts(BlockBasedFileDatasink):
    """A directory of parts, each a file of lines or a Parquet file."""

    def __init__(self, place: Path, format: str):
        super().__init__(str(place), file_format=format)
        self.bad = 0

    def write_block_to_file(self, block: BlockAccessor, file: pa.NativeFile) -> None:
        """Write one part."""
        table = block.to_arrow()
        if self.file_format == "parquet":
            parquet.write_table(table.drop_columns([KEY]), file)
        else:
            file.write("".join(f"{line}\n" for line in table["answer"].to_pylist()).encode())

    def write(self, blocks: Iterable[Any], ctx: Any) -> int:  # noqa: ANN401 - Ray's own
        """Write one part; how many of its records are bad."""
        some = list(blocks)
        super().write(some, ctx)
        return sum(len(table) - table["error"].null_count for table in map(_arrow, some) if len(table))

    def on_write_complete(self, write_result: Any) -> None:  # noqa: ANN401 - Ray's own
        """Count the bad records of all parts."""
        self.bad = sum(write_result.write_returns)


def _arrow(block: Any) -> pa.Table:  # noqa: ANN401 - Ray's own
    return BlockAccessor.for_block(block).to_arrow()


# -- Ray --------------------------------------------------------------------------------------------------------------


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """A cluster that runs, or one on this machine that ends with us."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its own log files say what went wrong
    # One core more than there are, for what is not answering.
    local = {"num_cpus": available_cores() + 1, "include_dashboard": False, "object_store_memory": STORE}
    try:
        check_reachable(address)
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        ray.init(address or "local", **quiet, **({} if address else local))
    except (OSError, RuntimeError, ValueError) as error:
        where = f"at {address}" if address else "on this machine"
        raise RunError(f"no Ray {where}: {_last_line(error)}") from error
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):  # its file keeps everything
            handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ray.shutdown()


def check_reachable(address: str | None) -> None:
    """Raise OSError if nobody listens at HOST:PORT: Ray itself would try for many minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()


@contextmanager
def _told() -> Iterator[None]:
    """Errors of workers as if they had happened here; those of Ray itself as a sentence."""
    try:
        yield
    except RayError as error:
        ours = [
            cause for cause in _causes(error) if isinstance(cause, LongtailError) and not isinstance(cause, RayError)
        ]
        if ours:
            raise ours[-1] from None
        raise RunError(f"Ray could not finish the job: {_last_line(error)}; start it again to go on") from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = getattr(error, "cause", None) or error.__cause__


def _last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:300]
