"""Run directories to try things in; imports nothing heavy, for children that are started to be killed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.train.run import Run, open_run

CONFIG = {"beam": 10, "optim": {"lr": 0.1, "row_lr": (0.5, 0.75)}, "seed": 0}


def corpus(fingerprint: str = "abc") -> Corpus:
    return Corpus(
        Documents.of(["a", "b"]),
        sp.csr_array(np.eye(2, dtype=np.float32)),
        LabelSet.of("ab"),
        fingerprint=fingerprint,
    )


def opened(
    directory: Path, config: dict | None = None, method: str = "linear", fingerprint: str = "abc", **options
) -> AbstractContextManager[Run]:
    return open_run(directory, method, config or CONFIG, corpus(fingerprint), **options)
