"""One tree of PECOS in both layouts, with features given: python -m benchmarks.mscm [--corpus NAME]

PECOS trains an XR-Linear tree with its default settings.  Its very weights are then put into our layout
(methods/linear): feature by feature, the nodes of a level in order, so that siblings stand together.  PECOS' own, MSCM
(Etter et al., 2022), has a chunk of siblings for each parent, and finds features in it by binary search or by a hash
table; CSC is its layout without chunks.

Both answer the same test documents from the same features on one core, in turn in one run: one document at a time, and
all of a round together.  Before that, answers are compared: labels but for ties, and scores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.machine import RESULTS, earlier, machine, save
from benchmarks.side_by_side import PECOS, ROOT, corpus_path
from longtail.corpus import PAD
from longtail.features.bags import Bags
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Tree
from longtail.methods.linear.model import Descent, Level
from longtail.ranking import Ranking
from longtail.sparse import Rows, rows_of, take

K, BEAM, POWER = 10, 10, 3  # PECOS' defaults: l3-hinge, and beliefs of a path multiplied
ROUNDS, ALONE, BATCH = 10, 300, 2000
LAYOUTS = {
    "PECOS, MSCM by binary search": "BINARY_SEARCH_CHUNKED",
    "PECOS, MSCM by hash tables": "HASH_CHUNKED",
    "PECOS, without chunks": "CSC",
}
OURS = "Longtail"
CLOSE = 1e-5  # how far scores may differ


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="debian-related")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    place = ROOT / "runs" / "mscm" / asked.corpus
    features = prepared(asked.corpus, place)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    peer = Peer(place)
    descent = converted(place)
    agreed = agreement(rank(descent, features), peer.answers(place))
    print(agreed, flush=True)
    rows = measure(peer, descent, features, asked.rounds)
    peer.end()
    found = {"labels": len(descent.tree.labels), "levels": descent.tree.depth, "beam": BEAM, **agreed, "times": rows}
    results = earlier("mscm") | {asked.corpus: found}
    print(save("mscm", results))
    (RESULTS / "mscm.md").write_text(markdown(results), "utf-8")


# -- the same tree for both --------------------------------------------------------------------------------------------


def prepared(corpus: str, place: Path) -> Rows:
    """Features of the test documents; what PECOS trains on is written once."""
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "tst_X.npz").is_file():
        splits = longtail.load(corpus_path(corpus))
        bags = Bags.fit(splits.train.documents, TfidfOptions())
        sp.save_npz(place / "trn_X.npz", sp.csr_matrix(bags.rows(splits.train.documents)))
        sp.save_npz(place / "trn_Y.npz", sp.csr_matrix(splits.train.labels, dtype=np.float32))
        sp.save_npz(place / "tst_X.npz", sp.csr_matrix(bags.rows(splits.split("test").documents)))
    rows = sp.csr_array(sp.load_npz(place / "tst_X.npz"))
    rows.sort_indices()
    return rows_of(rows)


def converted(place: Path) -> Descent:
    """PECOS' tree with its weights in our layout; nodes are numbered anew, so that siblings follow each other."""
    stored = np.load(place / "tree.npz")
    order, levels, starts = np.zeros(1, np.int64), [], []
    for at in range(int(stored["levels"])):
        weights, parents = sp.csr_array(matrix(stored, f"W{at}")), sp.csc_array(matrix(stored, f"C{at}"))[:, order]
        starts.append(parents.indptr.astype(np.int64))
        order = parents.indices.astype(np.int64)
        levels.append(level_of(sp.csr_array(weights[:, order]), float(stored[f"bias{at}"])))
    return Descent(Tree(starts, order.astype(np.int32)), levels)


def matrix(stored: np.lib.npyio.NpzFile, name: str) -> sp.csr_matrix | sp.csc_matrix:
    kind = sp.csr_matrix if name.startswith("W") else sp.csc_matrix
    data, indices, indptr, shape = (stored[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
    return kind((data, indices, indptr), shape=tuple(shape))


def level_of(weights: sp.csr_array, bias: float) -> Level:
    """Weights (features and bias, nodes): the last row is what the bias is multiplied with."""
    biases = bias * weights[[-1]].toarray()[0]
    own = sp.csr_array(weights[:-1])
    own.sort_indices()
    return Level(own.indptr.astype(np.int64), own.indices.astype(np.int32), own.data, biases.astype(np.float32))


def rank(descent: Descent, features: Rows) -> Ranking:
    return descent.rank(features, K, BEAM, POWER, 1.0)


def agreement(ours: Ranking, theirs: Ranking) -> dict:
    """Where labels differ, the scores must be the same: a tie, or one that is a tie but for rounding."""
    apart = np.abs(ours.scores - theirs.scores)
    other = (ours.labels != theirs.labels) & (theirs.labels != PAD)
    assert apart.max() <= CLOSE, f"scores differ by up to {apart.max()}"
    assert ((ours.labels == PAD) == (theirs.labels == PAD)).all(), "one of the two finds fewer labels"
    return {"largest difference of scores": float(apart.max()), "labels in another place, %": 100 * float(other.mean())}


# -- asking ------------------------------------------------------------------------------------------------------------


class Peer:
    """PECOS, a process that answers on the same core."""

    def __init__(self, place: Path):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [PECOS, "-m", "benchmarks.contenders.pecos_tree", str(place)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, **pipes)
        while (line := self.process.stdout.readline()) != "ready\n":  # what else it prints is of its training
            if not line:
                raise SystemExit(f"{' '.join(command)} ended with {self.process.wait()}")

    def ask(self, **what) -> dict:
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def answers(self, place: Path) -> Ranking:
        """Of all test documents."""
        path = place / "answers.npz"
        self.ask(layout="BINARY_SEARCH_CHUNKED", first=0, last=1 << 30, alone=False, file=str(path))
        found = np.load(path)
        return Ranking(found["labels"], found["scores"])

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(peer: Peer, descent: Descent, features: Rows, rounds: int) -> dict[str, dict]:
    """All in turn; the first round is not counted."""
    alone, together = ({name: [] for name in (OURS, *LAYOUTS)} for _ in range(2))  # (seconds, processor seconds)
    for number in range(rounds + 1):
        for times, many, is_alone in ((alone, ALONE, True), (together, BATCH, False)):
            first = number * many % (len(features[0]) - 1 - many)
            asked = {"first": first, "last": first + many, "alone": is_alone}
            found = {OURS: ask_ours(descent, features, **asked)}
            found |= {name: peer.ask(layout=layout, **asked)["seconds"] for name, layout in LAYOUTS.items()}
            for name, pairs in found.items() if number else ():
                times[name] += pairs
    return {name: row(alone[name], together[name]) for name in alone}


def ask_ours(descent: Descent, features: Rows, first: int, last: int, alone: bool) -> list[tuple[float, float]]:
    asked = np.arange(first, last)
    parts = [take(features, asked[at : at + 1]) for at in range(len(asked))] if alone else [take(features, asked)]
    seconds = []
    for part in parts:
        started, cpu = time.perf_counter(), time.process_time()
        rank(descent, part)
        seconds.append((time.perf_counter() - started, time.process_time() - cpu))
    return seconds


SHOWN = ("one document ms", "99th percentile ms", "one document CPU ms", "batch ms/document", "batch CPU ms/document")


def row(alone: list[tuple[float, float]], together: list[tuple[float, float]]) -> dict:
    one, batch = 1e3 * np.array(alone), 1e3 * np.array(together) / BATCH
    numbers = np.median(one[:, 0]), np.percentile(one[:, 0], 99), np.median(one[:, 1]), *np.median(batch, axis=0)
    return {what: round(float(number), 4) for what, number in zip(SHOWN, numbers)}


def markdown(results: dict) -> str:
    about = machine()
    lines = [
        "# One tree in two layouts",
        "",
        "A tree that PECOS trained, with its own weights, answered by PECOS and in our layout; made by",
        "`python -m benchmarks.mscm`.  Features in, labels and scores out, from Python on one core, in turn.",
        f"{about['processor']}, {about['cores']} cores, {time.strftime('%Y-%m-%d')}.",
    ]
    for corpus, found in results.items():
        lines += [
            "",
            f"`{corpus}`: {found['labels']:,} labels, {found['levels']} levels, beam {found['beam']}.  Scores",
        ]
        lines[-1] += f" differ by at most {found['largest difference of scores']:.1e}; labels stand in another place in"
        lines += [f"{found['labels in another place, %']:.3f} % of places, where scores tie.", ""]
        lines += [f"| | {' | '.join(SHOWN)} |", f"|---|{'---|' * len(SHOWN)}"]
        lines += [f"| {name} | {' | '.join(f'{each[c]}' for c in SHOWN)} |" for name, each in found["times"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
