"""The model card: `README.md` in a model directory, for people.  No code reads it.

Whatever comes from outside (names of corpora, labels and settings) is escaped: it may hold Markdown or HTML.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longtail import store
from longtail.store import CARD, MANIFEST, UNFINISHED

if TYPE_CHECKING:
    from longtail.predict.predictor import Predictor

SHOWN_LABELS, SHOWN_SETTINGS, LONGEST = 10, 40, 120  # in the card; characters of a name
NOT_ARRAYS = (CARD, MANIFEST, UNFINISHED, "model.json")


def write_card(predictor: Predictor, directory: Path) -> None:
    """Write the card of a model whose other files are there."""
    sections = [
        _head(predictor),
        _data(predictor),
        _metrics(predictor, directory),
        _scores(predictor),
        _use(),
        _limits(predictor),
    ]
    (directory / CARD).write_text("\n\n".join("\n".join(lines) for lines in sections) + "\n", "utf-8")


def content_digest(directory: Path) -> str:
    """A digest of everything that answers come from: all files but the card, the manifest and `model.json`."""
    digest = hashlib.sha256()
    for path in store.files_below(directory):
        if path.name not in NOT_ARRAYS:
            digest.update(f"{path.relative_to(directory)}\0{store.sha256(path)}\n".encode())
    return digest.hexdigest()


def kept_numbers(result: dict[str, Any], directory: Path) -> dict[str, Any]:
    """What `About.evaluation` keeps of an evaluation as JSON, and which model it is about."""
    deciles = [
        {name: decile[name] for name in ("decile", "labels", "most_frequent", "least_frequent", "pairs")}
        | {"within": decile["within"], "contribution": decile["contribution"]}
        for decile in result["by_decile"]
    ]
    ece = {"ece": result["reliability"]["ece"], "ece_k": result["reliability"]["k"]}
    corpus = {name: result["corpus"][name] for name in ("name", "fingerprint", "split", "documents", "labels")}
    kept = {"metrics": result["metrics"], "by_decile": deciles, "corpus": corpus, "careful": result.get("careful", [])}
    return kept | ece | {"content": content_digest(directory)}


# -- sections ------------------------------------------------------------------------------------------------------


def _head(predictor: Predictor) -> list[str]:
    about = predictor.about
    changed = f", of which {about.added:,} were added without training" if about.added else ""
    changed += f"; {len(about.removed):,} are not suggested any more" if about.removed else ""
    return [
        "---", "library_name: longtail", "pipeline_tag: text-classification", "tags:",
        "- multi-label-classification", "- extreme-classification", "---", "",
        f"# {plain(about.method)} model of {plain(about.corpus.get('name', ''))}", "",
        f"It suggests the few right labels for a text, out of {len(predictor.labels):,}{changed}. The method "
        f"`{code(about.method)}` of Longtail {plain(about.versions.get('longtail', ''))} trained it.", "",
        "This card was written when the model was saved. `longtail info` shows the same from the files.",
    ]  # fmt: skip


def _data(predictor: Predictor) -> list[str]:
    about, corpus = predictor.about, predictor.about.corpus
    names = [plain(label.name) for label, _ in zip(predictor.labels, range(SHOWN_LABELS))]
    more = f" and {len(predictor.labels) - len(names):,} more" if len(predictor.labels) > len(names) else ""
    lines = [
        "## Data", "",
        f"* Trained on {corpus['documents']:,} documents of {plain(corpus.get('name', ''))}, "
        f"fingerprint `{code(corpus['fingerprint'])}`.",
        f"* Training documents of a label: {int(predictor.counts.max(initial=0)):,} of the most frequent one; "
        f"{int((predictor.counts == 0).sum()):,} labels have none.",
        f"* Labels: {', '.join(names)}{more}.",
    ]  # fmt: skip
    if predictor.kept_documents is not None:
        lines.append(
            f"* Beginnings of {len(predictor.kept_documents.texts):,} training documents are inside this model."
        )
    for what, whose in about.chosen.items():
        lines.append(f"* Its {plain(what)} were chosen by {_whose(whose)}.")
    return lines + _settings(about.config)


def _settings(config: dict[str, Any]) -> list[str]:
    rows = list(_flat(config))[:SHOWN_SETTINGS]
    return (
        ["", "| setting | value |", "|---|---|", *(f"| {cell(name)} | {cell(value)} |" for name, value in rows)]
        if rows
        else []
    )


def _flat(config: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", json.dumps(value, ensure_ascii=False)


def _whose(whose: dict[str, Any]) -> str:
    if "name" not in whose:
        return "the validation split"
    return f"{plain(whose.get('documents'))} documents of {plain(whose['name'])} ({plain(whose.get('split'))})"


def _metrics(predictor: Predictor, directory: Path) -> list[str]:
    lines, about = ["## Metrics", ""], predictor.about
    known = about.evaluation if about.evaluation.get("content") == content_digest(directory) else {}
    if about.validation:
        numbers = ", ".join(f"{plain(name)} {value:.2f}" for name, value in about.validation.items())
        lines += [f"On validation documents while it was trained, in percent: {numbers}.", ""]
    if not known:
        return [*lines, "No evaluation is kept with this model: `longtail evaluate MODEL CORPUS --keep` adds one."]
    corpus = known["corpus"]
    lines.append(
        f"On {corpus['documents']:,} documents of {plain(corpus['name'])} ({plain(corpus['split'])} split, fingerprint "
        f"`{code(corpus['fingerprint'])}`), in percent:"
    )
    lines += ["", *_metric_table(known["metrics"]), *_decile_table(known["by_decile"]), ""]
    lines.append(f"Expected calibration error of the first {known['ece_k']} scores: {known['ece']:.2f} %.")
    return lines + [f"* Careful: {plain(line)}" for line in known["careful"]]


def _metric_table(metrics: dict[str, float]) -> list[str]:
    names = list(dict.fromkeys(name.partition("@")[0] for name in metrics))
    ks = sorted({int(name.partition("@")[2]) for name in metrics})
    rows = [[name, *(_number(metrics.get(f"{name}@{k}")) for k in ks)] for name in names]
    return _table(["", *(f"@{k}" for k in ks)], rows)


def _decile_table(deciles: list[dict[str, Any]]) -> list[str]:
    if not deciles:
        return []
    names = [
        name for name in deciles[0]["within"] if name.partition("@")[0] in ("P", "R", "PSP") and name.endswith("@5")
    ]
    rows = [
        [str(one["decile"]), f"{one['least_frequent']:,}–{one['most_frequent']:,}", f"{one['pairs']:,}"]
        + [_number(one["within"][name] if one["pairs"] else None) for name in names]
        for one in deciles
        if one["labels"]
    ]
    head = ["decile", "training documents", "true pairs", *(f"{name} within" for name in names)]
    return ["", "By label frequency, the most frequent labels first:", "", *_table(head, rows)]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _scores(predictor: Predictor) -> list[str]:
    if predictor.calibration is None:
        return [
            "## Scores",
            "",
            "Scores lie between 0 and 1 and are not calibrated: they rank labels, and are no probabilities.",
        ]
    lines = ["## Scores", "", "Scores are calibrated: they estimate the probability that a label is right."]
    if predictor.calibration.threshold is not None:
        lines.append(f"The threshold `auto` is {plain(str(predictor.calibration.threshold))}.")
    return lines


def _use() -> list[str]:
    return [
        "## How to use", "",
        "```console", "$ echo 'a text' | longtail predict MODEL --k 5", "$ longtail serve MODEL", "```", "",
        "```python", "import longtail", "", 'model = longtail.open("MODEL")', 'model.predict(["a text"], k=5)', "```",
    ]  # fmt: skip


def _limits(predictor: Predictor) -> list[str]:
    lines = [
        "## Limits", "",
        "* It suggests only the labels that it has, and always some, also for texts about something else.",
        "* It knows the language and the kind of texts that it was trained on.",
        "* Labels with few training documents are found less often; the table by label frequency shows how much.",
    ]  # fmt: skip
    if predictor.own is not None:
        lines.append("* Documents are labels themselves: the label that a text is itself is never suggested.")
    return lines


# -- what comes from outside ---------------------------------------------------------------------------------------


def plain(text: object) -> str:
    """A text in one line that Markdown shows as it is.

    >>> plain("a *b* <c>\\n# d | [e](f)")
    'a \\\\*b\\\\* &lt;c&gt; \\\\# d \\\\| \\\\[e\\\\]\\\\(f\\\\)'
    """
    line = " ".join(str(text).split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$:-])", r"\\\1", line).encode("utf-8", "replace").decode()


def code(text: object) -> str:
    """A text inside of backquotes, which nothing can escape but another one.

    >>> code("a`b\\nc")
    "a'b c"
    """
    return " ".join(str(text).split()).replace("`", "'").encode("utf-8", "replace").decode()[:LONGEST]


def cell(text: object) -> str:
    """Code in a cell of a table."""
    shown = code(text).replace("|", "\\|")
    return f"`{shown}`" if shown else ""
