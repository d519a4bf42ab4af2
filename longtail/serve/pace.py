"""How long a model takes for a text, of late."""

from __future__ import annotations

import math


class Pace:
    """Seconds of the processor that a text takes: a mean that forgets; infinite before the first is measured."""

    def __init__(self, seconds: float = math.inf):
        self.seconds = seconds

    def took(self, texts: int, seconds: float) -> None:
        """So many texts took so long."""
        each = seconds / texts
        self.seconds = each if math.isinf(self.seconds) else self.seconds + (each - self.seconds) / MEMORY

    def allows(self, texts: list[str]) -> bool:
        """Whether these take so little that handing them to another thread, and waiting for it, would take longer."""
        # What was measured tells nothing of texts that are much longer.
        return len(texts) * self.seconds <= SHORT and sum(map(len, texts)) <= CHARACTERS


MEMORY = 8  # measurements, about, that count
SHORT = 0.0005  # seconds
CHARACTERS = 4096
