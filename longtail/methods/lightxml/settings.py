"""Settings of LightXML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longtail.methods.shared.clustered.settings import ClusteredConfig

Variant = Literal["dynamic", "static", "static-twice"]
VARIANTS: dict[str, Variant] = {"static": "static", "static-twice": "static-twice"}  # Table 5: S, BS


@dataclass(frozen=True)
class Config(ClusteredConfig):
    """Defaults suit two cores; configs/lightxml/paper.toml has the paper's settings."""
