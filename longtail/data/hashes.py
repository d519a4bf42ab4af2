"""Hashes of what documents contain, to find equal ones."""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from longtail.corpus import Documents


def content_hashes(documents: Documents) -> np.ndarray:
    """64-bit hash of each document's content."""
    if documents.texts is not None:
        bounds = documents.texts.starts, documents.texts.stops
        return _hashes(bounds, documents.texts.data)
    features = documents.features
    assert features is not None
    return _hashes((features.indptr[:-1], features.indptr[1:]), features.indices, features.data)


def _hashes(bounds: tuple[np.ndarray, np.ndarray], *contents: np.ndarray) -> np.ndarray:
    digests = []
    for start, stop in zip(bounds[0].tolist(), bounds[1].tolist()):
        digest = hashlib.blake2b(digest_size=8)
        for content in contents:
            digest.update(content[start:stop].data)
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), np.uint64)


def hash_of(content: np.ndarray) -> np.uint64:
    """That of one content, as `content_hashes` has it."""
    return np.uint64(int.from_bytes(hashlib.blake2b(content.data, digest_size=8).digest(), sys.byteorder))
