"""docs/claims.md from results/claims.json."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.claims_judge import terms
from benchmarks.claims_table import BEFORE, CLAIMS, PEER, VARIANTS, Claim
from benchmarks.machine import earlier
from longtail.report.methods import as_set

PAGE = Path(__file__).parents[1] / "docs" / "claims.md"
PAPERS = ("LightXML", "ELIAS", "DECAF", "GUDN", "LightDXML")
ABOUT = """# The papers' claims, tested

Made by `python -m benchmarks claims`, which goes on where it was stopped; `--only PAPER` tests the claims of one paper.
Numbers: [claims.json](../benchmarks/results/claims.json). What is compared, with all settings:
[claims_table.py](../benchmarks/claims_table.py).

* **ours** and **against**: mean ± standard deviation over seeds 0, 1 and 2, in percent. Peers (omikuji's Parabel and
  Bonsai) are trained once. A model "× 3" is the mean of the three seeds, so there is one of it.
* **difference**: ours − against, with the 95 % interval of a paired bootstrap over test documents
  (2,000 draws) of the means over seeds. Where *against* is a number of the paper, the difference is from that number.
* **holds**: the interval lies on the claimed side of 0, and every seed does. **does not hold**: the same on the other
  side. **not shown**: neither. A claim *as good as* holds if the interval lies above −0.5, a number of a paper is
  reproduced if the mean is within 0.5 of it. Costs and coverage have no interval: all seeds must agree.
* **titles**: `debian-related`; all models learned from the same 10,000 of its 34,230 documents, DECAF with half the
  default epochs. **laws**: `eurlex57k`, 10,000 of 45,000 documents. `eurlex-4k` is whole. Test splits are whole.
* **earlier**: the difference in our other tables ([results](../benchmarks/results/README.md)), one seed, no interval.
  DECAF, ELIAS and LightDXML learned from all of `debian-related` there. It decides nothing.
* (131K), (670K): the paper's number is of LF-AmazonTitles-131K or Amazon-670K, which are not here.
"""
HEAD = "| | paper | claim | ours | against | difference | earlier | verdict |\n" + "|---" * 8 + "|"
OF = {"eurlex-4k": "EURLex-4K", "debian-related": "titles", "eurlex57k": "laws"}


def write(results: dict) -> None:
    """The whole page."""
    parts = [ABOUT, tally(results)]
    for paper in PAPERS:
        rows = [row(claim, results) for claim in CLAIMS if claim.paper == paper]
        parts.append(f"\n## {paper}\n\n{HEAD}\n" + "\n".join(rows) + "\n")
    PAGE.write_text("".join(parts) + "\n" + trainings(), "utf-8")


def tally(results: dict) -> str:
    """How many claims have which verdict."""
    said = [verdict_of(claim, results).partition(":")[0].strip("*") for claim in CLAIMS]
    kinds = ("holds", "does not hold", "not shown", "not testable here", "not run yet")
    return f"\n{len(said)} claims: " + ", ".join(f"{said.count(kind)} {kind}" for kind in kinds) + ".\n"


def found(claim: Claim, results: dict) -> dict | None:
    return results.get(claim.key)


def verdict_of(claim: Claim, results: dict) -> str:
    if claim.untestable:
        return f"not testable here: {claim.untestable}"
    result = found(claim, results)
    return "not run yet" if result is None else f"**{result['verdict']}**"


def row(claim: Claim, results: dict) -> str:
    """One claim."""
    result = found(claim, results)
    where = OF[VARIANTS[claim.a].corpus] if claim.a else "–"
    says = claim.says if where in claim.says or not claim.a else f"{claim.says} ({where})"
    numbers = ["–", "–", "–"] if result is None else told(claim, result)
    cells = [claim.place, claim.number, says, *numbers, before(claim), verdict_of(claim, results)]
    return f"| {' | '.join(cells)} |"


def before(claim: Claim) -> str:
    """The difference where another table has both sides."""
    for ours in BEFORE.get(claim.a, []):
        for theirs in BEFORE.get(claim.b, []):
            if ours[:2] == theirs[:2]:
                gaps = [value_before(ours, term) - value_before(theirs, term) for _, term in terms(claim.metric)]
                gap = sum(sign * gap for (sign, _), gap in zip(terms(claim.metric), gaps))
                return "–" if np.isnan(gap) else f"{gap:+.2f}"
    return "–"


def value_before(where: tuple[str, str, str], metric: str) -> float:
    """NaN where that table lacks the metric."""
    table, corpus, name = where
    return earlier(table)[corpus][name]["metrics"].get(metric, float("nan"))


def told(claim: Claim, result: dict) -> list[str]:
    """Ours, against, difference."""
    against = spread(result["b"]) if result["b"] else f"{claim.published:.2f}"
    low_high = "" if result["interval"] is None else " ({:+.2f} … {:+.2f})".format(*result["interval"])
    return [spread(result["a"]), against, f"{result['difference']:+.2f}{low_high}"]


def spread(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{np.mean(values):.2f}" + (f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else "")


def trainings() -> str:
    """What each side of a claim is, and how to train it alone."""
    lines = ["## What is compared", "", "| claim on | ours | against |", "|---|---|---|"]
    seen = dict.fromkeys((claim.a, claim.b) for claim in CLAIMS if claim.a)
    lines += [f"| {OF[VARIANTS[a].corpus]} | {a} | {b or 'the paper'} |" for a, b in seen]
    lines += ["", "| name | command (`--seed 0`, 1, 2) |", "|---|---|"]
    lines += [
        f"| {name} | `{command(name)}` |" for name in dict.fromkeys(each for pair in seen for each in pair if each)
    ]
    return "\n".join(lines) + "\n"


def command(name: str) -> str:
    """How to train it, but for the part of the documents and the way of asking."""
    variant = VARIANTS[name]
    if variant.method.startswith(PEER):
        return variant.method
    preset = f" --preset {variant.preset}" if variant.preset else ""
    settings = "".join(f" --set {setting}={as_set(value)}" for setting, value in variant.settings.items())
    way = f" # asked: {variant.way}" if variant.way else " # mean of the seeds" if variant.together else ""
    return f"longtail train {variant.method} {variant.corpus}{preset}{settings}{way}"
