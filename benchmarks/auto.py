"""`train auto` beside its peers, mix by mix, and what it said beforehand beside what it took.

    python -m benchmarks.auto [CORPUS …] [--limit MINUTES] [--kinds NAME,…] [--peers]

Every corpus is a run in runs/auto that resumes.  After every member that the mix gains by, the model is judged on test;
nothing is chosen by that.  Costs count only for members that were trained in one go.  Limits are minutes of
wall-clock time; on a machine that others use give a large one, and read processor seconds.  With --kinds only these
kinds of members are tried.  With --peers PECOS, omikuji and napkinXC are trained on TF-IDF rows of the same documents,
in the same run of this command.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import PEERS, ROOT, corpus_path, run, write_features
from longtail.auto import plan
from longtail.corpus import Splits

CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "eurlex57k", "yso-finna-en")
MINUTES = {"eurlex57k": 30, "yso-finna-en": 40}  # others: 15
SHOWN = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "nDCG@5", "R@100")
COSTS = ("processor", "peak")  # seconds, bytes
OURS, PEER, TOOK = "longtail auto", "peers", "members"


def main() -> None:
    parser = argparse.ArgumentParser(description="train auto beside its peers")
    parser.add_argument("corpora", nargs="*", default=CORPORA, metavar="CORPUS")
    parser.add_argument("--limit", type=float, help="minutes; 15, 30 or 40 unless told")
    parser.add_argument("--kinds", help="only these kinds of members, as in linear,centroid")
    parser.add_argument("--peers", action="store_true", help="train the peers too")
    parser.add_argument("--peers-only", action="store_true", help="train the peers and nothing else")
    asked = parser.parse_args()
    if asked.kinds:
        plan.KINDS = tuple(kind for kind in plan.KINDS if kind.name in asked.kinds.split(","))
    for name in asked.corpora:
        if not asked.peers_only:
            ours(name, asked.limit or MINUTES.get(name, 15), asked.kinds)
        if asked.peers or asked.peers_only:
            peers(name)
    print(markdown(earlier("auto")))


def ours(name: str, minutes: float, kinds: str | None) -> None:
    """Metrics of every mix on test, and of every member what was expected and taken."""
    row = f"{name}, {kinds.replace(',', ' + ')}" if kinds else name
    place = ROOT / "runs" / "auto" / row.replace(" ", "")
    splits, stages = longtail.load(corpus_path(name)), {}

    def told(line: str) -> None:
        print(line, flush=True)
        if line.endswith(": saved"):
            stages[line.removesuffix(": saved").rpartition(" by ")[2]] = judged(splits, place)
            keep(row, {OURS: stages, TOOK: costs(place)})

    longtail.fit("auto", splits.train, run=place, say=told, time_limit=60 * minutes)


def judged(splits: Splits, place: Path) -> dict:
    metrics = longtail.evaluate(longtail.open(place / "model"), splits.split("test")).metrics
    return {each: round(metrics[each], 2) for each in SHOWN}


def costs(place: Path) -> dict:
    """By member: what was expected and taken, of those that were trained in one go."""
    told = [json.loads(line) for line in (place / "log.jsonl").read_text("utf-8").splitlines()]
    return {
        f"{each['method']}, {each['of']}": {cost: [each["expected"][cost], each["taken"][cost]] for cost in COSTS}
        for each in told
        if each["event"] == "member" and each["fresh"]
    }


def peers(name: str) -> None:
    """What each peer reaches on test."""
    splits = longtail.load(corpus_path(name))
    with tempfile.TemporaryDirectory() as place:
        write_features(splits, Path(place))
        for peer, command in PEERS.items():
            row = run(command, Path(place), corpus_path(name), splits)
            if row is not None:
                found = earlier("auto").get(name, {}).get(PEER, {})
                shown = {each: row["metrics"][each] for each in SHOWN}
                keep(name, {PEER: found | {peer: shown | {"train cpu seconds": row["train cpu seconds"]}}})


def keep(row: str, part: dict) -> None:
    """Into results/auto.json and .md; the file is read again, since another process may have added to it."""
    results = earlier("auto")
    results[row] = results.get(row, {}) | part
    save("auto", results)
    (RESULTS / "auto.md").write_text(markdown(results), "utf-8")


def markdown(results: dict) -> str:
    lines = ["# `train auto` beside its peers", "", "`python -m benchmarks.auto --peers`. Test split, %.", ""]
    for corpus, parts in results.items():
        lines += [f"## {corpus}", "", f"| | {' | '.join(SHOWN)} |", "|---" * (1 + len(SHOWN)) + "|"]
        for name, row in (parts.get(OURS, {}) | parts.get(PEER, {})).items():
            lines.append(f"| {name} | " + " | ".join(f"{row[metric]:.2f}" for metric in SHOWN) + " |")
        lines += ["", *of_costs(parts.get(TOOK, {}))]
    return "\n".join(lines)


def of_costs(members: dict) -> list[str]:
    """Expected and taken, and the ratio of these."""
    if not members:
        return []
    lines = ["| member | CPU s expected | CPU s taken | ratio | MB expected | MB taken | ratio |", "|---" * 7 + "|"]
    for name, (time, memory) in ((name, costs.values()) for name, costs in members.items()):
        megabytes = [each / 1e6 for each in memory]
        numbers = [*(f"{each:.0f} | {of:.0f} | {each / max(of, 0.1):.2f}" for each, of in (time, megabytes))]
        lines.append(f"| `{name}` | {' | '.join(numbers)} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
