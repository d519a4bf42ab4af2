"""Longtail: the few right labels out of thousands to millions.

>>> import longtail
>>> corpus = longtail.load("demo")                                   # doctest: +SKIP
>>> model = longtail.fit("linear", corpus.train, run="runs/demo")    # doctest: +SKIP
>>> model.predict(["a large wild cat with a striped coat"], k=2)     # doctest: +SKIP
>>> longtail.evaluate(model, corpus.test).metrics["P@1"]             # doctest: +SKIP
"""

from __future__ import annotations

import os
import typing
from importlib import import_module

# torch's threads otherwise spin while they wait for work, on the cores that our own threads need: training steps took
# four times as long beside one other busy process.  Read when torch is first imported; set it yourself to keep yours.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if typing.TYPE_CHECKING:
    from longtail.auto.fit import fit
    from longtail.corpus import Corpus, Documents, Label
    from longtail.data.load import load
    from longtail.errors import LongtailError
    from longtail.judge.evaluation import evaluate
    from longtail.judge.validation import calibrate, weigh
    from longtail.methods import METHODS
    from longtail.predict.ensemble import combine
    from longtail.predict.opening import open_model as open
    from longtail.predict.predictor import Predictor
    from longtail.ranking import Ranking

__all__ = [
    "METHODS",
    "Corpus",
    "Documents",
    "Label",
    "LongtailError",
    "Predictor",
    "Ranking",
    "calibrate",
    "combine",
    "evaluate",
    "fit",
    "load",
    "open",
    "weigh",
]

# Imported when first used: `import longtail` stays fast and brings in neither numba nor torch.
_HOMES = {
    "Corpus": "longtail.corpus.Corpus",
    "Documents": "longtail.corpus.Documents",
    "Label": "longtail.corpus.Label",
    "LongtailError": "longtail.errors.LongtailError",
    "METHODS": "longtail.methods.METHODS",
    "Predictor": "longtail.predict.predictor.Predictor",
    "Ranking": "longtail.ranking.Ranking",
    "calibrate": "longtail.judge.validation.calibrate",
    "combine": "longtail.predict.ensemble.combine",
    "evaluate": "longtail.judge.evaluation.evaluate",
    "fit": "longtail.auto.fit.fit",
    "load": "longtail.data.load.load",
    "open": "longtail.predict.opening.open_model",
    "weigh": "longtail.judge.validation.weigh",
}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - whichever of the names above
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].rpartition(".")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("longtail")
    except PackageNotFoundError:  # the source tree on the path, not installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
