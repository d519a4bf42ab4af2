"""Texts to predict, as they arrive: a file, a pipe, or somebody typing."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import IO

from longtail.errors import CorpusError

BATCH = 1024  # texts predicted together when they arrive faster than we answer


def read_queries(source: str) -> Iterator[list[str]]:
    """Batches of texts from a file, or from standard input ("-"): one text a line, or JSONL.

    The first line that is not empty decides: a JSON object means JSONL with `text`, or `title` and `content`.
    """
    if source == "-":
        yield from _batches(sys.stdin.buffer, "standard input")
        return
    try:
        with Path(source).open("rb") as file:
            yield from _batches(file, source)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise CorpusError(f"{source}: {error.strerror}; give a file with one text a line, or - to type them") from error


def _batches(file: IO[bytes], name: str) -> Iterator[list[str]]:
    is_json: bool | None = None
    for first, lines in _as_they_come(file):
        texts: list[str] = []
        for at, line in enumerate(lines, first):
            try:
                text = _decoded(line, name, at)
                if is_json is None and text.strip():
                    is_json = _is_object(text)
                texts += [_text_of(text, name, at)] if is_json else [text]
            except CorpusError:
                yield texts  # what came before the bad line still gets its answers
                raise
        yield texts


def _as_they_come(file: IO[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, lines): all that have arrived, at least one, at most BATCH.

    A thread reads ahead, so a pipe that sends one line and waits gets its answer, and a file is read in batches.
    """
    arrived: Queue[bytes | None] = Queue(maxsize=4 * BATCH)

    def read() -> None:
        for line in file:
            arrived.put(line)
        arrived.put(None)

    threading.Thread(target=read, daemon=True).start()
    number = 1
    while (line := arrived.get()) is not None:
        lines, ended = [line], False
        while len(lines) < BATCH and not arrived.empty() and not ended:
            following = arrived.get()
            ended = following is None
            lines += [] if following is None else [following]
        yield number, lines
        number += len(lines)
        if ended:
            return


def _decoded(line: bytes, name: str, at: int) -> str:
    try:
        return line.decode("utf-8-sig" if at == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{name}:{at}: not UTF-8 ({error.reason} at byte {error.start}); convert the file") from error


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _text_of(line: str, name: str, at: int) -> str:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise CorpusError(f"{name}:{at}: not JSON ({error}); the first line was, so every line must be") from error
    if not isinstance(record, dict):
        raise CorpusError(f"{name}:{at}: expected an object with `text`, or `title` and `content`")
    parts = [record[key] for key in (("text",) if "text" in record else ("title", "content")) if key in record]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise CorpusError(f"{name}:{at}: needs a string `text`, or strings `title` and `content`")
    return "\n".join(part for part in parts if part)
