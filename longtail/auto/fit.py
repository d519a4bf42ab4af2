"""`longtail.fit`: one method by name, or `auto`, which trains several and mixes them."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longtail import config as settings_of
from longtail import store
from longtail.auto.search import search
from longtail.auto.settings import Config
from longtail.corpus import Corpus, one_split
from longtail.errors import ConfigError
from longtail.predict import fit as one
from longtail.predict.opening import open_model
from longtail.predict.predictor import Predictor
from longtail.train.device import check_device
from longtail.train.run import open_run, silent

AUTO = "auto"


def fit(
    name: str, corpus: Corpus, run: str | Path | None = None, *, say: Callable[[str], None] = silent,
    device: str = "cpu", **settings: Any,  # noqa: ANN401 - Config and `fit` of a method check them
) -> Predictor:  # fmt: skip
    """Train a method on a corpus.  With a run directory, a killed training goes on where it stopped.

    `auto` trains several methods, cheap ones first, and returns the best mix of them by held-out documents
    (`auto/settings.py` has its settings).  What a method takes beside its settings: `longtail.predict.fit.fit`.
    """
    one.check_ranks(name, run)
    if name != AUTO:
        return one.fit(name, corpus, run, say=say, device=device, **settings)
    return fit_auto(one_split(corpus, "train"), run, say, device, settings)


def fit_auto(
    corpus: Corpus, run: str | Path | None, say: Callable[[str], None], device: str, settings: dict[str, Any]
) -> Predictor:
    """Search in a run directory; the same call again goes on with what did not fit before."""
    if refused := settings.keys() & {"preset", "keep_documents", "tensorboard"}:
        raise ConfigError(f"{', '.join(sorted(refused))}: train auto has none; pass it to one method")
    config = settings_of.build(Config, settings)
    check_device(device, AUTO, cpu_only=False)
    one.check_corpus(corpus)
    deadline = math.inf if config.time_limit is None else time.monotonic() + config.time_limit
    # What may be spent does not make another run: with more time the same one goes on.
    kept = dataclasses.asdict(dataclasses.replace(config, time_limit=None, max_size=None))
    with (
        one.place_of(run) as place,
        open_run(place, AUTO, kept, corpus, say, device=device, deadline=deadline) as started,
    ):
        store.check_target(place / "model", store.MODEL)
        search(corpus, config, started, device)
        return open_model(place / "model")
