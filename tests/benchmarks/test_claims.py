"""Rows of the papers' claims: every setting and every variant that they name is there."""

from __future__ import annotations

import pytest

from benchmarks import decaf_claims, elias, ensemble, lightdxml_claims
from longtail.config import build
from longtail.methods import method

ROWS = {
    **{f"decaf: {row}": (name, decaf_claims.SHORT | own) for row, (name, own) in decaf_claims.VARIANTS.items()},
    **{f"lightdxml: {row}": ("lightdxml", own) for row, own in lightdxml_claims.variants().items()},
    **{f"ensemble: {row}": each for row, each in ensemble.MEMBERS.items()},
    **{f"elias: {corpus}": ("elias", elias.settings_for(corpus)) for corpus in elias.CORPORA},
}


@pytest.mark.parametrize("row", ROWS)
def test_settings_of_every_row_are_there(row: str):
    name, settings = ROWS[row]
    build(method(name).Config, settings)
