"""What a training will take: an estimate that every method gives before it starts."""

from __future__ import annotations

from dataclasses import dataclass

WITH_TORCH = 600_000_000  # bytes of interpreter, libraries and compiled code when training with torch


@dataclass(frozen=True)
class Need:
    """Estimated memory and disk needs of a training."""

    parameters: int
    memory: int  # bytes at the peak
    disk: int  # bytes of the run directory

    @property
    def on_gpu(self) -> int:
        """Bytes on the device at least: of every parameter its value, gradient and two moments."""
        return 16 * self.parameters
