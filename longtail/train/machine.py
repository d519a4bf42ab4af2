"""What a training runs on: memory, disk, and the versions of packages."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil


def versions() -> dict[str, str]:
    """What made this, for whoever finds it in two years."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("longtail", "numpy", "scipy", "numba", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


CONTAINER = Path("/sys/fs/cgroup")  # where Linux tells a container its limits


def free_memory() -> int:
    """Bytes this process may still take: the machine's, or less inside a container."""
    free = psutil.virtual_memory().available
    limit = CONTAINER / "memory.max"
    if not limit.is_file() or limit.read_text().strip() == "max":
        return free
    # Pages of files that nobody uses just now count as taken, and go as soon as anybody needs the room.
    cached = dict(line.split() for line in (CONTAINER / "memory.stat").read_text().splitlines())["inactive_file"]
    return min(free, int(limit.read_text()) - int((CONTAINER / "memory.current").read_text()) + int(cached))


def size_on_disk(directory: Path) -> int:
    """Bytes of all files below."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def size(count: float) -> str:
    """1536 -> '1.5 KB'."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"
