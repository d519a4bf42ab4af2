"""The server under load, overload and faults; everything on this machine, over loopback.

    python -m benchmarks.serve [MODEL] [--quick] [--minutes 5] [--within 25] [--resume] [--only steady,…]
                               [--annif VENV/bin/annif] [--schemathesis VENV/bin/schemathesis]

Scenarios run in the order of their importance.  results/serve.json and results/serve.md are written as each ends, and
keep what earlier runs measured of others.  --within leaves out what would take longer than the minutes that are left,
--resume what was measured today by a run of the same kind on a machine with nothing else to do; so a run that was
stopped goes on with the same command.  --quick takes ten minutes instead of thirty.  The load generator (load.py) is
open-loop; answers are compared with the predictor's.  MODEL is that of `longtail demo`, and is trained if it is not
there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path

from benchmarks import serve_faults as faults
from benchmarks import serve_overload as overloads
from benchmarks import serve_rates as rates
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.served import Subject, trained

SCENARIOS = {
    "steady": rates.steady, "overload": overloads.overload, "overload_32": overloads.overload_32,
    "overload_256": overloads.overload_256, "batches": rates.batches, "annif": rates.annif, "kills": faults.kills,
    "reloads": faults.reloads, "corrupt": faults.corrupt, "crowd": faults.crowd, "full_disk": faults.full_disk,
    "fuzz": faults.fuzz, "schema": faults.schema, "search": rates.search, "many": rates.many,
}  # fmt: skip
MINUTES = {  # that a whole run of each takes, about; 1 where it is not said
    "steady": 5.2, "batches": 5.2, "annif": 3, "kills": 2, "reloads": 2, "fuzz": 3, "schema": 9, "many": 7,
}  # fmt: skip
QUIET = 4.0  # load average that a machine may have from the scenario before
AMOUNTS = {  # what a whole run does, and a quick one
    "seconds": (300.0, 20.0), "requests": (1_000_000, 20_000), "reloads": (100, 8), "kills": (20, 4),
    "fuzz": (100_000, 5_000), "seeds": (3, 1),
}  # fmt: skip
OVERLOAD = (
    ("refusals within 5 ms, p50", "refusal p50 ms"), ("refusals within 5 ms, p99", "refusal p99 ms"),
    ("refusals within 5 ms, p99 inside the server", "refusal p99 in the server ms"),
    ("p99 of accepted ≤ 2 × idle", "accepted p99 / idle p99"), ("broken connections", "broken"),
    ("recovery within 2 s", "recovered after s"),
)  # fmt: skip
# (what is promised, scenario, what of it was measured)
GOALS = (
    ("1,000 texts/s: p99 ≤ 20 ms", "steady", "p99 ms"),
    ("1,000 texts/s: 0 errors", "steady", "errors"),
    ("1,000 texts/s: every answer the predictor's", "steady", "wrong"),
    ("5,000 documents/s in batches of 32", "batches", "documents/s"),
    ("memory flat over 10⁶ requests: MB before", "many", "MB before"),
    ("memory flat over 10⁶ requests: MB after", "many", "MB after"),
    *(
        (f"5 × capacity, {texts}: {promise}", name, what)
        for texts, name in (("1 text", "overload"), ("32 texts", "overload_32"), ("256 texts", "overload_256"))
        for promise, what in OVERLOAD
    ),
    ("100 reloads: 0 wrong", "reloads", "wrong"),
    ("100 reloads: 0 errors", "reloads", "errors"),
    ("20 killed workers: 0 wrong", "kills", "wrong"),
    ("20 killed workers: answers again within 2 s", "kills", "longest time without an answer s"),
    ("damaged new model: refused, 0 errors", "corrupt", "errors"),
    ("1,000 idle and 200 slow clients: 0 errors", "crowd", "errors"),
    ("full disk for logs: 0 errors", "full_disk", "errors"),
    ("10⁵ fuzzed requests: no 5xx", "fuzz", "5xx"),
    ("schemathesis, own description: runs that found something", "schema", "openapi.json: runs that found something"),
    ("schemathesis, Annif's: runs that found something", "schema", "openapi-annif.json: runs that found something"),
    ("search of 10⁶ labels ≤ 10 ms", "search", "slowest ms"),
    (
        "Annif: × documents/s that its client allows a server that only repeats an answer",
        "annif",
        "alone: ratio documents/s",
    ),
    ("Annif: the same in batches", "annif", "alone: ratio documents/s in batches"),
    ("Annif: ≥ 10 × documents/s, demo model", "annif", "demo: ratio documents/s"),
    ("Annif: ≥ 10 × documents/s in batches, demo model", "annif", "demo: ratio documents/s in batches"),
    ("Annif: ≥ 10 × documents/s, `linear`", "annif", "linear: ratio documents/s"),
    ("Annif: ≥ 10 × documents/s in batches, `linear`", "annif", "linear: ratio documents/s in batches"),
)


def main() -> None:
    options = _options()
    subject, stamp = Subject(trained("decaf", options.model)), {"run": options.run, "day": time.strftime("%Y-%m-%d")}
    for name in options.only.split(","):
        if reason := why_not(name, options, stamp):
            print(f"== {name}: {reason}", flush=True)
            continue
        print(f"== {name}", flush=True)
        load = round(os.getloadavg()[0], 1)  # what else the machine did when it began
        found = SCENARIOS[name](subject, options)
        if found:
            results = earlier("serve") | {name: found | {"load average before": load} | stamp}
            print(json.dumps(found, indent=1), save("serve", results), flush=True)
            (RESULTS / "serve.md").write_text(page(results), "utf-8")


def why_not(name: str, options: argparse.Namespace, stamp: dict) -> str:
    """Why a scenario is left out; nothing where it is not."""
    before = earlier("serve").get(name, {})
    if options.resume and stamp.items() <= before.items() and before["load average before"] < QUIET:
        return "measured today"
    if time.monotonic() + 60 * (1 if options.quick else MINUTES.get(name, 1)) > options.until:
        return "there is no time left"
    return ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", default=Path("runs/demo/model"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--resume", action="store_true")
    for name, (whole, _) in AMOUNTS.items():
        parser.add_argument(f"--{name}", type=type(whole))
    parser.add_argument("--minutes", type=float, help="of steady and batches; the same as --seconds, in minutes")
    parser.add_argument("--within", type=float, default=math.inf, help="minutes that all scenarios may take together")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--annif", type=Path, help="Annif's command, in an environment of its own")
    parser.add_argument("--schemathesis", type=Path, help="its command, in an environment of its own")
    parser.add_argument("--only", default=",".join(SCENARIOS))
    options = parser.parse_args()
    options.until = time.monotonic() + 60 * options.within
    if options.minutes is not None:
        options.seconds = 60 * options.minutes
    given = [name for name in AMOUNTS if getattr(options, name) not in (None, AMOUNTS[name][options.quick])]
    for name, amounts in AMOUNTS.items():
        if name not in given:
            setattr(options, name, amounts[options.quick])
    kind = "quick" if options.quick else "whole"
    options.run = ", ".join([kind, *(f"{name} {getattr(options, name):g}" for name in given)])
    return options


def page(results: dict) -> str:
    """What is promised beside what was measured, then one table a scenario."""
    lines = ["# The server under load", "", "`python -m benchmarks.serve`; machine and versions are in serve.json.", ""]
    lines += ["| promised | measured | run |", "|---|---|---|"]
    for promise, name, what in GOALS:
        found = results.get(name, {})
        lines.append(f"| {promise} | {found.get(what, 'not measured')} | {found.get('run', '')} |")
    lines.append("")
    for name in (one for one in SCENARIOS if one in results):
        about = (SCENARIOS[name].__doc__ or "").strip()
        lines += [f"## {name}", "", about, "", "| measured | value |", "|---|---|"]
        lines += [f"| {what} | {value} |" for what, value in results[name].items()] + [""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
