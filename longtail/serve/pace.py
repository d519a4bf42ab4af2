"""How long a model takes for a text, of late."""

from __future__ import annotations

import math


class Pace:
    """Seconds that a text takes by the clock: about their median; infinite before the first is measured.

    Not their mean: on a busy machine one of a hundred takes twenty times as long, and says nothing of the model.
    """

    def __init__(self, seconds: float = math.inf):
        self.seconds = seconds

    def took(self, texts: int, seconds: float) -> None:
        """So many texts took so long."""
        each = seconds / texts
        if math.isinf(self.seconds):
            self.seconds = each
        else:
            self.seconds *= STEP if each > self.seconds else 1 / STEP

    def allows(self, texts: list[str]) -> bool:
        """Whether these take so little that handing them to another thread, and waiting for it, would take longer."""
        # What was measured tells nothing of texts that are much longer.
        return len(texts) * self.seconds <= SHORT and sum(map(len, texts)) <= CHARACTERS


STEP = 1.1  # each measurement moves the median by so much
SHORT = 0.001  # seconds
CHARACTERS = 4096
