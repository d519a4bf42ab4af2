"""Commands about trained models: ensemble, export, info, calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli.output import say, screen, write_json
from longtail.cli.words import (
    CorpusArgument,
    ModelArgument,
    byte_count,
    numbers,
    read_corpus,
    reads_corpus,
    to_write,
)
from longtail.columns import Reading
from longtail.errors import ConfigError

if TYPE_CHECKING:
    from longtail.corpus import Splits
    from longtail.predict.predictor import Predictor


@reads_corpus
def ensemble(
    reading: Reading,
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model directories with the same labels.")],
    out: Annotated[Path, typer.Option(parser=to_write, help="Where the new model goes.")],
    weights: Annotated[
        str | None, typer.Option(help="One number per model, separated by commas; or: learned, by --corpus.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Learned weights: a file, a directory, or 'demo'.")
    ] = None,
    split: Annotated[str, typer.Option(help="Learned weights: the split whose documents choose them.")] = "val",
    metric: Annotated[str, typer.Option(help="Learned weights: what they make as good as can be.")] = "nDCG@5",
) -> None:
    """Make one model of several: it ranks by the mean of their scores."""
    from longtail.predict.ensemble import combine
    from longtail.predict.opening import open_model
    from longtail.store import MODEL, check_target

    check_target(out, MODEL)
    if (weights == "learned") != (corpus is not None):
        raise ConfigError("--weights learned and --corpus CORPUS go together: the corpus has the documents to learn by")
    members = [open_model(path) for path in models]
    if corpus is None:
        combine(members, None if weights is None else numbers("--weights", weights, float)).save(out)
    else:
        _save_weighed(members, corpus, reading, split, metric, out)
    say(f"wrote {out}")


def _save_weighed(members: list[Predictor], corpus: str, reading: Reading, split: str, metric: str, out: Path) -> None:
    from longtail.judge.gains import cut_off
    from longtail.judge.validation import validation_split, weigh

    cut_off(metric)  # a misspelt metric should not wait for the corpus
    documents = validation_split(read_corpus(corpus, reading), split, members)
    together, value = weigh(members, documents, metric)
    together.save(out)
    shares = ", ".join(f"{share:.3g}" for share in together.model.weights)  # type: ignore[attr-defined]
    counted = together.about.chosen["weights"]["documents"]
    print(f"weights {shares}: {metric} {value:.2f} on {counted:,} documents of {documents.name} ({split})")


@reads_corpus
def export(
    reading: Reading,
    model: ModelArgument,
    out: Annotated[Path, typer.Option(parser=to_write, help="Where the smaller model goes.")],
    precision: Annotated[
        str | None, typer.Option(help="fp16 or int8: what rows and token vectors are stored as.  [default: int8]")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(help="As 50MB: use the first of fp32, fp16 and int8 that fits.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Measure the change on this: a file, a directory, or 'demo'.")
    ] = None,
    split: Annotated[str, typer.Option(help="The split of CORPUS to measure it on.")] = "val",
    recall: Annotated[
        float, typer.Option(help="The share of the top 10 labels to find by two levels of clusters; 1 scans all.")
    ] = 0.99,
) -> None:
    """Make a model smaller: its rows in fewer bits, measured before it is written."""
    from longtail.predict.export import smaller
    from longtail.predict.opening import open_model
    from longtail.store import MODEL, check_target
    from longtail.train.machine import size

    check_target(out, MODEL)
    limit = None if max_size is None else byte_count("--max-size", max_size)
    opened, splits = open_model(model), None if corpus is None else read_corpus(corpus, reading)
    made = smaller(opened, precision, limit, None if splits is None else splits.train.documents, recall)
    share = made.after / made.before
    print(f"{made.precision}: {size(made.before)} before, {size(made.after)} after ({share:.0%})")
    if splits is None:
        say("careful: what this costs in accuracy is not measured; --corpus CORPUS measures it")
    else:
        _print_change(opened, made.model, splits, split)
    made.model.save(out)
    say(f"wrote {out}")


def _print_change(before: Predictor, after: Predictor, splits: Splits, split: str) -> None:
    """P and PSP of both models on documents of a split, and whose documents these are."""
    from longtail.judge.evaluation import evaluate as scored
    from longtail.judge.validation import cautions
    from longtail.report.evaluation import change_table

    documents = splits.split(split)
    for line in cautions(before, documents, splits):
        say(f"careful: {line}")
    first, second = (scored(one, documents).metrics for one in (before, after))
    whose = (
        "held out of the training split"
        if split == "val" and splits.train.official_valid is None
        else f"the {split} split"
    )
    title = f"{before.about.method} on {len(documents):,} documents of {documents.name} ({whose}), %"
    screen().print(change_table(first, second, title))


def info(
    model: ModelArgument,
    as_json: Annotated[Path | None, typer.Option("--json", parser=to_write, help="Also write it here.")] = None,
) -> None:
    """What a saved model is: method, settings, training, calibration, files, and whether they are whole."""
    from longtail.predict.info import model_info
    from longtail.report.info import info_table

    found = model_info(model)
    if as_json:
        write_json(as_json, found.to_json())
    screen().print(info_table(found))


@reads_corpus
def calibrate(
    reading: Reading,
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="The split whose documents tell what scores are worth.")] = "val",
    threshold: Annotated[
        str | None, typer.Option(help="Also choose one, for f1, precision=0.9 or recall=0.8 over all pairs.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="How many labels of a document count, best first.")] = 100,
    out: Annotated[Path | None, typer.Option(parser=to_write, help="Write the calibrated model here.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace MODEL by the calibrated model.")] = False,
) -> None:
    """Turn a model's scores into probabilities, learned from documents that it never saw."""
    from longtail.judge.calibration import Target
    from longtail.judge.validation import FEW, validation_split
    from longtail.judge.validation import calibrate as calibrated
    from longtail.predict.opening import open_model
    from longtail.report.evaluation import calibration_table
    from longtail.store import MODEL, check_target

    if (out is None) != in_place:
        raise ConfigError(
            "say where the calibrated model goes: --out DIR for a new one, or --in-place to replace MODEL"
        )
    target = out or model
    if threshold is not None:
        Target.of(threshold)  # a misspelt target should not wait for the corpus
    opened = open_model(model)
    check_target(target, MODEL)
    documents = validation_split(read_corpus(corpus, reading), split, [opened])
    result = calibrated(opened, documents, threshold=threshold, k=k)
    result.model.save(target)
    counted = result.model.about.chosen["calibration"]["documents"]
    if counted < FEW:
        say(f"careful: {counted:,} documents are few to learn probabilities from; with {FEW} or more they mean more")
    title = f"{opened.about.method} on {documents.name} ({split}), {counted:,} documents"
    screen().print(calibration_table(result.before, result.after, title))
    if threshold is not None:
        print(result.model.threshold())
    say(f"wrote {target}")
