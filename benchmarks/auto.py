"""`train auto` beside its peers, and what it said beforehand beside what it took.

    python -m benchmarks.auto [CORPUS …] [--limit MINUTES] [--peers]

Every corpus is a run in runs/auto that resumes; times count only for members that were trained in one go.  With
--peers PECOS, omikuji and napkinXC are trained on TF-IDF rows of the same documents, in the same run of this command.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import PEERS, ROOT, corpus_path, run, write_features

CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "eurlex57k", "yso-finna-en")
MINUTES = {"eurlex57k": 30, "yso-finna-en": 40}  # others: 15
SHOWN = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "nDCG@5", "R@100")


def main() -> None:
    parser = argparse.ArgumentParser(description="train auto beside its peers")
    parser.add_argument("corpora", nargs="*", default=CORPORA, metavar="CORPUS")
    parser.add_argument("--limit", type=float, help="minutes; 15, 30 or 40 unless told")
    parser.add_argument("--peers", action="store_true", help="train the peers too")
    asked = parser.parse_args()
    for name in asked.corpora:
        row = f"{name}, {asked.limit:g} min" if asked.limit else name
        results = earlier("auto")
        results[row] = results.get(row, {}) | {"longtail auto": ours(name, asked.limit or MINUTES.get(name, 15))}
        save("auto", results)
        if asked.peers:
            results[row] |= peers(name)
            save("auto", results)
        (RESULTS / "auto.md").write_text(markdown(results), "utf-8")
    print(markdown(earlier("auto")))


def ours(name: str, minutes: float) -> dict:
    """Metrics on test, the mix, and of every member the seconds that were expected and taken."""
    splits, place = longtail.load(corpus_path(name)), ROOT / "runs" / "auto" / f"{name}-{minutes:g}"
    model = longtail.fit("auto", splits.train, run=place, say=print, time_limit=60 * minutes)
    metrics = longtail.evaluate(model, splits.split("test")).metrics
    told = [json.loads(line) for line in (place / "log.jsonl").read_text("utf-8").splitlines()]
    members = {
        each["method"]: [each["expected"], each["seconds"]] for each in reversed(told) if each["event"] == "member"
    }
    mix = next(each["members"] for each in reversed(told) if each["event"] == "mix")
    return {"metrics": {each: round(metrics[each], 2) for each in SHOWN}, "mix": mix, "expected and taken": members}


def peers(name: str) -> dict:
    """What each peer reaches on test."""
    splits = longtail.load(corpus_path(name))
    with tempfile.TemporaryDirectory() as place:
        write_features(splits, Path(place))
        rows = {peer: run(command, Path(place), corpus_path(name), splits) for peer, command in PEERS.items()}
    return {peer: row for peer, row in rows.items() if row is not None}


def markdown(results: dict) -> str:
    lines = ["# `train auto` beside its peers", "", "`python -m benchmarks.auto --peers`. Test split, %.", ""]
    for corpus, rows in results.items():
        lines += [f"## {corpus}", "", f"| | {' | '.join(SHOWN)} |", "|---" * (1 + len(SHOWN)) + "|"]
        for name, row in rows.items():
            lines.append(f"| {name} | " + " | ".join(f"{row['metrics'][metric]:.2f}" for metric in SHOWN) + " |")
        mine = rows["longtail auto"]
        lines += [
            "",
            f"The mix: {'; '.join(mine['mix'])}.",
            "",
            "| member | seconds expected | seconds taken |",
            "|---|---|---|",
        ]
        lines += [
            f"| `{name}` | {expected:.0f} | {taken:.0f} |"
            for name, (expected, taken) in mine["expected and taken"].items()
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
