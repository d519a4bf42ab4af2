"""The command evaluate."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli.output import say, screen, write_json
from longtail.cli.words import CorpusArgument, ModelArgument, cut_offs, read_corpus, reads_corpus, to_write
from longtail.columns import Reading

if TYPE_CHECKING:
    from longtail.judge.evaluation import Answered
    from longtail.predict.predictor import Predictor

LabelsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", parser=to_write, help="Write a row for each label: .csv or .json.")
]
MistakesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", parser=to_write, help="Write the documents it is most wrong about: .csv or .jsonl."),
]
PresetOption = Annotated[
    str | None, typer.Option(metavar="DATASET", help="Take the propensity constants of this published dataset.")
]


@reads_corpus
def evaluate(
    reading: Reading,
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="trn, val or tst.")] = "tst",
    k: Annotated[str, typer.Option(help="Cut-offs, separated by commas.")] = "1,3,5",
    as_json: Annotated[
        Path | None, typer.Option("--json", parser=to_write, help="Also write the numbers here.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(parser=to_write, help="Also draw plots into this directory.")] = None,
    preset: PresetOption = None,
    a: Annotated[float | None, typer.Option("--propensity-a", help="Propensity constant A; 0.55 unless told.")] = None,
    b: Annotated[float | None, typer.Option("--propensity-b", help="Propensity constant B; 1.5 unless told.")] = None,
    per_label: LabelsOption = None,
    mistakes: MistakesOption = None,
    worst: Annotated[int, typer.Option(min=1, help="How many documents --mistakes writes.")] = 100,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the numbers in the model's card, README.md.")] = False,
) -> None:
    """Score a model on a split of a corpus."""
    from longtail.judge.evaluation import answer, score
    from longtail.judge.validation import cautions
    from longtail.predict.known_words import foreign
    from longtail.predict.opening import open_model
    from longtail.report.plots import edge_plots, evaluation_plots

    _check_before_reading(model if keep else None, per_label, mistakes)
    constants, opened, splits = _constants(preset, a, b), open_model(model), read_corpus(corpus, reading)
    answered = answer(opened, documents := splits.split(split), cut_offs(k))
    result = score(answered, **constants)
    careful = [*cautions(opened, documents, splits), *foreign(opened, documents.documents.texts)]
    for line in careful:
        say(f"careful: {line}")
    told = result.to_json() | {"careful": careful}
    if as_json:  # files first: whoever reads what is printed may leave
        write_json(as_json, told)
    _write_details(answered, per_label, mistakes, worst)
    if keep:
        _keep_in_card(opened, model, told)
    if plots:
        evaluation_plots(result, plots)
        edge_plots(opened, plots)
    _print(result, f"{opened.about.method} on {result.corpus['name']} ({split}), %")


def _check_before_reading(kept: Path | None, *files: Path | None) -> None:
    """What cannot be written should not wait for the work."""
    from longtail.report.details import check_name
    from longtail.store import MODEL, check_target

    for path in filter(None, files):
        check_name(path)
    if kept is not None:
        check_target(kept, MODEL)


def _constants(preset: str | None, a: float | None, b: float | None) -> dict[str, float]:
    from longtail.presets import USUAL, propensity

    usual_a, usual_b = propensity(preset) if preset else USUAL
    return {"a": usual_a if a is None else a, "b": usual_b if b is None else b}


def _write_details(answered: Answered, per_label: Path | None, mistakes: Path | None, worst: int) -> None:
    """Files about single labels and documents, for the largest cut-off."""
    from longtail.judge.mistakes import Mistake, worst_mistakes
    from longtail.report.details import label_rows, mistake_rows, write_rows

    k = max(answered.ks)
    if per_label:
        write_rows(per_label, rows := label_rows(answered, k))
        say(f"wrote {per_label}: {len(rows):,} labels, by the first {k} suggestions of each document")
    if mistakes:
        found = worst_mistakes(answered, worst, k)
        write_rows(mistakes, mistake_rows(found, mistakes), [field.name for field in fields(Mistake)])
        say(f"wrote {mistakes}: {len(found):,} documents that the model is most wrong about")


def _keep_in_card(opened: Predictor, model: Path, result: dict[str, Any]) -> None:
    """Save the model with the numbers of an evaluation; nothing else of it changes."""
    from dataclasses import replace

    from longtail.predict.card import kept_numbers
    from longtail.store import CARD

    about = replace(opened.about, evaluation=kept_numbers(result, model))
    replace(opened, about=about).save(model)
    say(f"the numbers are in {model / CARD}")


def _print(result: Any, title: str) -> None:  # noqa: ANN401 - an Evaluation
    from longtail.report.evaluation import scores_report, table

    screen().print(table(result, title))
    screen().print(scores_report(result))
