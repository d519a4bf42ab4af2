"""What a training took: seconds, processor seconds and the most memory, for estimates to be checked against."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

PEAK = Path("/proc/self/status"), "VmHWM:"  # Linux: the most memory since the last reset
RESET = Path("/proc/self/clear_refs"), "5"


class Spent:
    """Counts from when it is made."""

    def __init__(self) -> None:
        with suppress(OSError):  # on another system, or without permission, the peak is that of the whole process
            RESET[0].write_text(RESET[1])
        self._wall, self._processor = time.monotonic(), time.process_time()

    def so_far(self) -> dict[str, Any]:
        """Seconds and processor seconds since then, and the largest memory of the process in bytes."""
        taken = {"seconds": time.monotonic() - self._wall, "processor": time.process_time() - self._processor}
        return {name: round(value, 1) for name, value in taken.items()} | {"peak": peak_memory()}


def peak_memory() -> int:
    """Bytes; where the system does not say, what the process has now."""
    path, name = PEAK
    lines = path.read_text().splitlines() if path.is_file() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith(name)]
    return found[0] if found else psutil.Process().memory_info().rss
