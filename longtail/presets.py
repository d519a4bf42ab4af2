"""Settings for the datasets of the papers, shipped with the package, and the propensity constants of these datasets.

    longtail train lightxml DATA --preset wiki-500k --run runs/wiki       settings of configs/lightxml/wiki-500k.toml
    longtail evaluate runs/wiki/model DATA --preset wiki-500k             PSP with A = 0.5, B = 0.4

configs/METHOD/paper.toml has what all datasets of a paper share.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longtail.config import close_to, read_toml
from longtail.errors import ConfigError

CONFIGS = Path(__file__).parent / "configs"
USUAL = (0.55, 1.5)  # A and B where nobody has published others
# The XML repository's table.  Names are spelled out: "amazon" in a name does not make A = 0.6 (AmazonCat-13K).
PROPENSITY = {
    "amazon-670k": (0.6, 2.6),
    "amazon-3m": (0.6, 2.6),
    "amazontitles-670k": (0.6, 2.6),
    "lf-amazontitles-131k": (0.6, 2.6),
    "lf-amazon-131k": (0.6, 2.6),
    "lf-amazontitles-1.3m": (0.6, 2.6),
    "wiki-500k": (0.5, 0.4),
    "wikipedia-500k": (0.5, 0.4),
    "lf-wikititles-500k": (0.5, 0.4),
    "amazoncat-13k": USUAL,
    "eurlex-4k": USUAL,
    "wiki10-31k": USUAL,
    "wikiseealsotitles-350k": USUAL,
    "lf-wikiseealsotitles-320k": USUAL,
    "lf-wikiseealso-320k": USUAL,
}


def presets(method: str) -> list[str]:
    """Names of the presets of a method; a variant has those of its method."""
    return sorted(path.stem for path in (CONFIGS / method.partition("/")[0]).glob("*.toml"))


def preset(method: str, name: str) -> dict[str, Any]:
    """The settings of a method for a dataset.

    >>> preset("decaf", "lf-amazontitles-1.3m")["labels_per_cluster"]
    10
    """
    names = presets(method)
    if name not in names:
        raise ConfigError(f"{method} has no preset {name}; {close_to(name, names)}")
    return read_toml(CONFIGS / method.partition("/")[0] / f"{name}.toml")


def propensity(name: str) -> tuple[float, float]:
    """A and B of a dataset.

    >>> propensity("wiki-500k")
    (0.5, 0.4)
    """
    if name not in PROPENSITY:
        raise ConfigError(f"no propensity constants are known for {name}; {close_to(name, list(PROPENSITY))}")
    return PROPENSITY[name]
