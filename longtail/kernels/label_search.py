"""Labels whose names begin with a word or contain it, without an index larger than the names.

Every name has its first eight bytes as one number, which prefixes are compared with, and a signature: 256 bits, one set
for each byte and each pair of neighbouring bytes in it.  A name that lacks a bit of the word's own signature cannot
contain the word, and most names lack one.
"""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check
from longtail.kernels.compiled import compiled
from longtail.kernels.threads import in_threads

WORDS = 4  # of 64 bits in a signature
NUMBERS = 8  # what one name costs to rule out, for dividing work over threads
HEAD = 8  # bytes of a name that are kept as one number


def heads(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The first eight bytes of every name, big end first, zeros behind; name i is data[starts[i]:starts[i + 1]]."""
    _check(data, starts)
    return _heads(data, starts)


def signatures(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(4, names) uint64."""
    _check(data, starts)
    return _signatures(data, starts)


def beginning(
    data: np.ndarray, starts: np.ndarray, head: np.ndarray, part: np.ndarray, limit: int
) -> tuple[np.ndarray, int]:
    """The first `limit` names that begin with `part`, and how many do."""
    check(len(head) == len(starts) - 1 and len(part) > 0 and limit > 0, "a head for every name, and a word")
    check(starts[-1] == len(data), "names fill the bytes")
    shown = np.zeros(HEAD, np.uint8)
    shown[: min(HEAD, len(part))] = part[:HEAD]
    wanted = int.from_bytes(shown.tobytes())
    mask = (1 << 64) - (1 << 8 * max(0, HEAD - len(part)))
    enough = len(part) <= HEAD and bool(part.all())  # a zero could be one of those behind a short name
    return _beginning(data, starts, head, part, np.uint64(wanted), np.uint64(mask), enough, limit)


def containing(
    data: np.ndarray, starts: np.ndarray, marks: np.ndarray, part: np.ndarray, limit: int, most: int
) -> tuple[np.ndarray, int]:
    """The first `limit` names that contain `part` behind their beginning, and how many do, if not more than `most`."""
    check(marks.shape == (WORDS, len(starts) - 1) and len(part) > 0 and limit > 0, "signatures of all, and a word")
    check(starts[-1] == len(data), "names fill the bytes")
    wanted = _signatures(part, np.array([0, len(part)]))[:, 0]

    def search(start: int, stop: int) -> tuple[np.ndarray, int]:
        return _containing(data, starts, marks, part, wanted, limit, most, start, stop)

    # Threads take names that lie together, so their finds follow each other.
    parts = in_threads(search, len(starts) - 1, numbers=NUMBERS) if len(starts) > 1 else []
    found = np.concatenate([*(names for names, _ in parts), np.zeros(0, np.int64)])
    return found[:limit], min(most, sum(total for _, total in parts))


def _check(data: np.ndarray, starts: np.ndarray) -> None:
    check(len(starts) > 0 and starts[0] == 0 and starts[-1] == len(data), "names fill the bytes")
    check(bool((np.diff(starts) >= 0).all()), "names follow each other")


@compiled
def _heads(data, starts):  # type: ignore[no-untyped-def]
    found = np.zeros(len(starts) - 1, np.uint64)
    for name in range(len(found)):
        for at in range(HEAD):
            byte = data[starts[name] + at] if starts[name] + at < starts[name + 1] else np.uint8(0)
            found[name] = (found[name] << np.uint64(8)) | np.uint64(byte)
    return found


@compiled
def _signatures(data, starts):  # type: ignore[no-untyped-def]
    marks = np.zeros((WORDS, len(starts) - 1), np.uint64)
    for name in range(len(starts) - 1):
        for at in range(starts[name], starts[name + 1]):
            _mark(marks, name, np.uint64(data[at]))
            if at + 1 < starts[name + 1]:
                _mark(marks, name, np.uint64(data[at]) * np.uint64(256) + np.uint64(data[at + 1]) + np.uint64(256))
    return marks


@compiled
def _mark(marks, name, feature):  # type: ignore[no-untyped-def]
    bit = (feature * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(56)
    marks[bit >> np.uint64(6), name] |= np.uint64(1) << (bit & np.uint64(63))


@compiled
def _beginning(data, starts, head, part, wanted, mask, enough, limit):  # type: ignore[no-untyped-def]
    found, total = np.empty(limit, np.int64), 0
    for name in range(len(head)):
        if head[name] & mask == wanted and (enough or _same(data, starts[name], starts[name + 1], part)):
            if total < limit:
                found[total] = name
            total += 1
    return found[: min(limit, total)].copy(), total


@compiled
def _containing(data, starts, marks, part, wanted, limit, most, first, last):  # type: ignore[no-untyped-def]
    found, total = np.empty(limit, np.int64), 0
    for name in range(first, last):
        possible = True
        for word in range(WORDS):
            possible = possible and marks[word, name] & wanted[word] == wanted[word]
        if possible and _is_behind(data, starts[name], starts[name + 1], part):
            if total < limit:
                found[total] = name
            total += 1
            if total >= most and total >= limit:
                break
    return found[: min(limit, total)].copy(), total


@compiled
def _is_behind(data, start, stop, part):  # type: ignore[no-untyped-def]
    """Whether a name contains the part and does not begin with it."""
    if _same(data, start, stop, part):
        return False
    for at in range(start + 1, stop - len(part) + 1):  # noqa: SIM110 - numba has no generators here
        if data[at] == part[0] and _same(data, at, stop, part):
            return True
    return False


@compiled
def _same(data, start, stop, part):  # type: ignore[no-untyped-def]
    if stop - start < len(part):
        return False
    for at in range(len(part)):  # noqa: SIM110
        if data[start + at] != part[at]:
            return False
    return True
