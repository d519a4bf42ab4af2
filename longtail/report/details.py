"""Files that `longtail evaluate` writes about single labels and documents: CSV, JSON or JSON lines, by their name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longtail import store
from longtail.errors import ConfigError
from longtail.judge.per_label import label_counts

if TYPE_CHECKING:
    from longtail.judge.evaluation import Answered
    from longtail.judge.mistakes import Mistake

Row = dict[str, Any]
ENDS = (".csv", ".json", ".jsonl")


def check_name(path: Path) -> None:
    """Raise unless the name of a file tells how it is written; before the work, not after."""
    if path.suffix.lower() not in ENDS:
        raise ConfigError(f"{path}: its name must end in one of {', '.join(ENDS)}, which says how it is written")


def label_rows(answered: Answered, k: int) -> list[Row]:
    """One row a label that is true or suggested for some document: what the first k suggestions are worth.

    Labels with most true documents come first.
    """
    counts, seen = label_counts(*answered.counted(), k), answered.seen.counts
    rows = np.flatnonzero(counts.true + counts.suggested)
    rows = rows[np.argsort(-counts.true[rows], kind="stable")]
    return [
        {
            "id": (label := answered.label(at)).id,
            "name": label.name,
            "training_documents": int(seen[at]),
            **{name: int(values[at]) for name, values in counts._asdict().items()},
            **{name: _number(getattr(counts, name)[at]) for name in ("precision", "recall", "f1")},
        }
        for at in rows.tolist()
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 2)


def mistake_rows(mistakes: list[Mistake], path: Path) -> list[Row]:
    """One row a document; in CSV lists of labels are names with | between them."""
    rows = [mistake.to_json() for mistake in mistakes]
    if path.suffix.lower() != ".csv":
        return rows
    return [
        row | {
            "suggested": "|".join(f"{one['name']} ({one['score']:.2f})" for one in row["suggested"]),
            "true": "|".join(f"{one['name']} ({one['place'] or 'not ranked'})" for one in row["true"]),
        }
        for row in rows
    ]  # fmt: skip


def write_rows(path: Path, rows: list[Row], names: Sequence[str] = ()) -> None:
    """A table, whole or not at all; its directory is made if it is not there.  `names` head a table without rows."""
    kind = path.suffix.lower()
    if kind == ".csv":
        text = _csv(rows, list(rows[0]) if rows else names)
    elif kind == ".json":
        text = store.json_text(rows)
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with store.told(path, ConfigError):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_whole(path, text)


def _csv(rows: list[Row], names: Sequence[str]) -> str:
    written = io.StringIO()
    table = csv.DictWriter(written, names, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()
