"""The command line with a predictor that takes as long as a text says, as in "nap 0.5": python -m tests.slow_server."""

from __future__ import annotations

import re
import time

from longtail.corpus import Documents
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking

rank = Predictor.rank


def slow_rank(self: Predictor, documents: Documents, k: int = 5) -> Ranking:
    naps = [float(found[1]) for text in documents.texts or () if (found := re.match(r"nap ([\d.]+)", text))]
    time.sleep(sum(naps))
    if any(text == "fail" for text in documents.texts or ()):
        raise RuntimeError("this text fails on purpose")
    return rank(self, documents, k)


if __name__ == "__main__":
    from longtail.cli import main

    Predictor.rank = slow_rank  # type: ignore[method-assign]
    main()
