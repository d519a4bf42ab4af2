from __future__ import annotations

import pytest

from longtail import fit
from longtail.corpus import Splits
from longtail.predict.predictor import Predictor


@pytest.fixture(scope="package")
def model(planted: Splits) -> Predictor:
    """What most tests of this directory ask; none of them changes it."""
    return fit("centroid", planted.train)
