"""Free memory, disk use, and package versions."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil


def versions() -> dict[str, str]:
    """Versions of Python and packages, recorded with a run."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("longtail", "numpy", "scipy", "numba", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def arithmetic() -> list[str | int]:
    """What decides how torch and our kernels round: kind of processor, and threads."""
    import torch
    from llvmlite import binding

    return [binding.get_host_cpu_name(), torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()]


CONTAINER = Path("/sys/fs/cgroup")  # Linux: limits of a container


def free_memory() -> int:
    """Bytes this process may still allocate, respecting the limit of a container."""
    free = psutil.virtual_memory().available
    limit = CONTAINER / "memory.max"
    if not limit.is_file() or limit.read_text().strip() == "max":
        return free
    # Inactive file pages count as used but are reclaimed when needed.
    cached = dict(line.split() for line in (CONTAINER / "memory.stat").read_text().splitlines())["inactive_file"]
    return min(free, int(limit.read_text()) - int((CONTAINER / "memory.current").read_text()) + int(cached))


def size_on_disk(directory: Path) -> int:
    """Total size of all files below a directory, in bytes."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def size(count: float) -> str:
    """1536 -> '1.5 KB'."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"
