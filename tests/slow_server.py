"""The command line with a predictor that takes as long as a text says: python -m tests.slow_server.

"nap 0.5" takes half a second, "until FILE" until the file is there; FILE.begun is there when it begins.  The event loop
does not answer by itself: it would take these for texts that are short.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from longtail.corpus import Documents
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from longtail.serve.pace import Pace

rank = Predictor.rank


def wait_for_file(path: Path) -> None:
    path.with_suffix(".begun").touch()
    while not path.exists():
        time.sleep(0.01)


def slow_rank(self: Predictor, documents: Documents, k: int = 5) -> Ranking:
    naps = [float(found[1]) for text in documents.texts or () if (found := re.match(r"nap ([\d.]+)", text))]
    time.sleep(sum(naps))
    for text in documents.texts or ():
        if text.startswith("until "):
            wait_for_file(Path(text.removeprefix("until ")))
    if any(text == "fail" for text in documents.texts or ()):
        raise RuntimeError("this text fails on purpose")
    return rank(self, documents, k)


if __name__ == "__main__":
    from longtail.cli import main

    Predictor.rank = slow_rank  # type: ignore[method-assign]
    Pace.allows = lambda self, texts: False  # type: ignore[method-assign]
    main()
