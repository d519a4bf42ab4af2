"""Models that lie: copies of a saved model with something changed and a manifest that vouches for it.

`changed` makes one, `judge` opens many in another process and says what came of each.  A model that lies may be opened
and answer something, or be refused with a sentence; it may not kill the interpreter, raise anything else, or hang.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from longtail import store

ROOT = Path(__file__).parents[1]
SECONDS = 60  # for one model; opening one takes milliseconds
MEMORY = 12 << 30  # bytes of address space: who asks for more has believed a number that lies


# -- making one ----------------------------------------------------------------------------------------------------


def changed(model: Path, place: Path, seed: int) -> str:
    """Put a copy of a model there that differs in one thing; returns what that is."""
    shutil.copytree(model, place)
    chance = random.Random(seed)
    unread = (store.MANIFEST, store.CARD)  # nothing is read from a card
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.name not in unread)
    kinds = [path.suffix for path in files]
    # Arrays are what compiled code trusts, so half of all changes are theirs.
    path = chance.choices(files, [4 if kind == ".safetensors" else 1 for kind in kinds])[0]
    what = CHANGES[path.suffix](path, chance)
    vouch(place)
    return f"{path.relative_to(place)}: {what}"


def vouch(place: Path) -> None:
    """Write the manifest anew, so that it names whatever is there now."""
    files = [path for path in place.rglob("*") if path.is_file() and path.name != store.MANIFEST]
    digests = {str(path.relative_to(place)): store.sha256(path) for path in files}
    store.write_json(place / store.MANIFEST, {"sha256": digests})


def change_arrays(path: Path, chance: random.Random) -> str:
    """One array differs in its numbers, its type, its shape or its name; or the header does."""
    if chance.random() < 0.15:
        return change_bytes(path, chance, up_to=400)
    arrays = {name: np.array(array) for name, array in load_file(path).items()}
    name = chance.choice(sorted(arrays))
    what = chance.choice(sorted(ARRAY_CHANGES))
    changed = ARRAY_CHANGES[what](arrays[name], chance)
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(changed)
    save_file(arrays, path)
    return f"{name} {what}"


def _put(array: np.ndarray, where: Any, chance: random.Random) -> np.ndarray:
    numbers = [-5, -2, -1, 0, 1, len(array) if array.ndim else 1, 100, 2**31 - 1]
    numbers += [float("nan"), float("inf"), -float("inf"), 1e30, -1e30] if array.dtype.kind == "f" else [2**15]
    if array.size:
        array.flat[where] = np.array(chance.choice(numbers), np.float64).astype(array.dtype)
    return array


def _shuffled(array: np.ndarray, chance: random.Random) -> np.ndarray:
    return np.random.default_rng(chance.randrange(1 << 30)).permutation(array.ravel()).reshape(array.shape)


ARRAY_CHANGES: dict[str, Callable[[np.ndarray, random.Random], np.ndarray | None]] = {
    "one number": lambda array, chance: _put(array, chance.randrange(max(array.size, 1)), chance),
    "the first number": lambda array, chance: _put(array, 0, chance),
    "the last number": lambda array, chance: _put(array, -1, chance),
    "every number": lambda array, chance: _put(array, slice(None), chance),
    "shuffled": _shuffled,
    "reversed": lambda array, _: array[::-1],
    "without its last row": lambda array, _: array[:-1],
    "with a row more": lambda array, _: np.concatenate([array, array[-1:]]),
    "empty": lambda array, _: array[:0],
    "flat": lambda array, _: array.ravel(),
    "with an axis more": lambda array, _: array[..., None],
    "turned round": lambda array, _: array.T,
    "narrower": lambda array, _: array[..., :-1],
    "as float64": lambda array, _: array.astype(np.float64),
    "as int64": lambda array, _: np.nan_to_num(array).astype(np.int64),
    "as int32": lambda array, _: np.nan_to_num(array).astype(np.int32),
    "as float16": lambda array, _: array.astype(np.float16),
    "as int8": lambda array, _: np.nan_to_num(array).clip(-128, 127).astype(np.int8),
    "gone": lambda *_: None,
}


def change_json(path: Path, chance: random.Random) -> str:
    """A value somewhere in it is another, is gone, or the file is no JSON."""
    if chance.random() < 0.1:
        return change_bytes(path, chance, up_to=path.stat().st_size)
    content = json.loads(path.read_text("utf-8"))
    holder, key, trail = _somewhere(content, chance)
    what = chance.choice(["gone", "other", "other", "other"])
    if what == "gone":
        del holder[key]
    else:
        holder[key] = _other(holder[key], chance)
        what = f"is {holder[key]!r:.60}"
    if chance.random() < 0.03:
        path.write_text("[" * 100_000 + "]" * 100_000)
        return "deep"
    path.write_text(json.dumps(content))
    return f"{'.'.join(map(str, trail))} {what}"


# Where other parts of a model may be, of the same kind or of another.
PATHS = ("encoder", "encoder.reader", "proposer.encoder", "instances.0.shortlister", "instances.0.shortlister.encoder")


def _somewhere(value: Any, chance: random.Random) -> tuple[Any, Any, list]:
    """A place in nested JSON, found by going down at random: what holds it, its key, and the way there."""
    trail: list = []
    while True:
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        trail.append(key)
        if not isinstance(value[key], (dict, list)) or not value[key] or chance.random() < 0.15:
            return value, key, trail
        value = value[key]


def _other(value: Any, chance: random.Random) -> Any:
    others = [None, True, False, -1, 0, 1, 7, 10**9, 10**30, 0.5, float("nan"), float("inf"), "", "x", "a b c", [], {}]
    others += [[[]], {"a": {}}, "\ud800", "../../../etc/passwd", "kernels/other"]
    if isinstance(value, dict):  # a part of a model
        others += [{"same as": path} for path in (*PATHS, "", 3, {"same as": PATHS[0]})]
        others += [value | {"same as": PATHS[0]}, dict(list(value.items())[:-1])]
    if isinstance(value, list):
        others += [value + value, value[:-1], value[::-1]]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        others += [value + 1, value * 2, value - 1, -value]
    return chance.choice(others)


def change_lines(path: Path, chance: random.Random) -> str:
    """A label is gone, is there twice, or is none."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = chance.randrange(len(lines))
    kinds = {
        "gone": "", "twice": lines[at] * 2, "no JSON": "{\n", "a list": "[]\n", "a number": '{"id": 1, "name": "x"}\n',
        "too much": '{"id": "1", "name": "x", "size": 3}\n', "deep": "[" * 50_000 + "]" * 50_000 + "\n", "no end": "x",
    }  # fmt: skip
    what = chance.choice(sorted(kinds))
    path.write_text("".join([*lines[:at], kinds[what], *lines[at + 1 :]]), "utf-8")
    return f"line {at + 1} {what}"


def change_counts(path: Path, chance: random.Random) -> str:
    """Counts of another shape or type, or no array at all."""
    counts = np.load(path)
    kinds: dict[str, Any] = {
        "negative": -counts - 1, "shorter": counts[:-1], "longer": np.append(counts, 1), "flat": counts[:, None],
        "float": counts.astype(float), "texts": counts.astype(str), "boolean": counts > 0, "none": counts[:0],
        "small": counts.astype(np.int8), "one": counts[0],
    }  # fmt: skip
    what = chance.choice([*sorted(kinds), "objects", "bytes"])
    if what == "bytes":
        return change_bytes(path, chance, up_to=128)
    np.save(path, np.array([{}], object) if what == "objects" else kinds[what], allow_pickle=what == "objects")
    return what


def change_bytes(path: Path, chance: random.Random, up_to: int) -> str:
    """Some bytes near the beginning differ, or the end is missing."""
    content = bytearray(path.read_bytes())
    if chance.random() < 0.3:
        kept = chance.randrange(len(content))
        path.write_bytes(content[:kept])
        return f"cut after {kept} bytes"
    places = [chance.randrange(min(up_to, len(content))) for _ in range(chance.choice([1, 1, 4]))]
    for at in places:
        content[at] = chance.randrange(256)
    path.write_bytes(content)
    return f"bytes {places} differ"


CHANGES: dict[str, Callable[[Path, random.Random], str]] = {
    ".safetensors": change_arrays, ".json": change_json, ".jsonl": change_lines, ".npy": change_counts,
    ".gz": lambda path, chance: change_bytes(path, chance, up_to=path.stat().st_size),
}  # fmt: skip


# -- judging them --------------------------------------------------------------------------------------------------


def judge(models: list[Path]) -> Iterator[str]:
    """What comes of opening each and asking it: "answered", "refused: …", or what should not be."""
    worker = None
    for model in models:
        worker = worker or _worker()
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(f"{model}\n")
        worker.stdin.flush()
        ready, _, _ = select.select([worker.stdout], [], [], SECONDS + 60 * (worker.poll() is None))
        said = worker.stdout.readline().strip() if ready else "hangs"
        if not said or said == "hangs":
            worker.kill()
            said = said or f"died with {worker.wait()}: {worker.stderr.read()[-2000:]}"  # type: ignore[union-attr]
            worker = None
        yield said
    if worker is not None:
        worker.communicate("")


def wrong(model: Path, place: Path, seeds: range) -> list[str]:
    """The lies of these seeds that ended in neither an answer nor a sentence, each with what came of it."""
    lies = {place / str(seed): changed(model, place / str(seed), seed) for seed in seeds}
    verdicts = zip(lies.values(), judge(list(lies)))
    return [f"{what} => {came}" for what, came in verdicts if not came.startswith(("answered", "refused: "))]


def _worker() -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.mutants"], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT), "RUST_BACKTRACE": "0"},
    )  # fmt: skip


def answer(model: str, texts: list[str]) -> str:
    """Open a model and ask it; what came of it in one line."""
    import traceback

    import longtail

    try:
        opened = longtail.open(model)
        ranking = opened.rank(longtail.Documents.of(texts), k=7)
        opened.predict(texts, k=3)
        for text in (texts[0], texts[-1], ""):
            json.dumps(opened.explain(text, k=3).to_json(), allow_nan=False)
    except longtail.LongtailError as error:
        return f"refused: {error!s:.300}".replace("\n", " ")
    except BaseException as error:
        return f"raised {error!r:.200} at {traceback.format_exc()[-1500:]}".replace("\n", " | ")
    if not np.isfinite(ranking.scores).all() or ranking.labels.max() >= len(opened.labels):
        return "answers what is no score or no label"
    return "answered"


if __name__ == "__main__":
    from tests.planted import WORDS

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    asked = [" ".join(WORDS[at : at + 3]) for at in range(0, 60, 7)] + ["", "unheard", " ".join(WORDS * 3)]
    for line in sys.stdin:
        sys.stdout.write(answer(line.strip(), asked) + "\n")
        sys.stdout.flush()
