"""A value with every kind of part, and how tests store one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from longtail import store
from longtail.corpus import Texts


@dataclass(frozen=True)
class Part:
    words: list[str]
    weights: np.ndarray


@dataclass(frozen=True)
class Whole:
    part: Part
    texts: Texts
    matrix: sp.csr_array
    absent: np.ndarray | None
    present: sp.csr_array | None
    parts: tuple[Part, ...]
    number: float
    name: str


def whole() -> Whole:
    matrix = sp.csr_array(np.array([[0, 2.5, 0], [1, 0, 0]], np.float32))
    part = Part(["été", "a\nb"], np.arange(6, dtype=np.int32).reshape(2, 3))
    return Whole(
        part, Texts.of(["x", ""]), matrix, None, matrix, (part, Part([], np.zeros((0, 4), np.float16))), 0.5, "n"
    )


def kept(directory: Path, value: object) -> Path:
    with store.whole_directory(directory) as building:
        store.write(building, value)
    return directory
