"""The command line.  Every command imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.errors import ConfigError, LongtailError
from longtail.kernels import notice

if TYPE_CHECKING:
    from rich.console import Console

    from longtail.corpus import Splits
    from longtail.predictor import Predictor


app = typer.Typer(
    help="The few right labels out of thousands to millions.", no_args_is_help=True, pretty_exceptions_enable=False,
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip

CorpusArgument = Annotated[str, typer.Argument(metavar="CORPUS", help="A file, a directory, or 'demo'.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, as in runs/x/model.")]

EXAMPLES = (
    "a large wild cat with a striped coat that hunts at night",
    "the branch of medicine that treats diseases of the heart",
    "a small stringed instrument played by plucking",
    "a person who writes computer programs",
)


def _print_version(asked: bool) -> None:
    if asked:
        import longtail

        print(f"longtail {longtail.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """The few right labels out of thousands to millions."""


@app.command()
def demo(
    run: Annotated[Path, typer.Option(help="Where the run lives; run again to reuse it.")] = Path("runs/demo"),
    method: Annotated[str, typer.Option(help="Which method to train; linear needs no torch.")] = "decaf",
) -> None:
    """Train, evaluate and ask a model about dictionary definitions: what kind of thing is it?"""
    from longtail import evaluate, fit, load
    from longtail.report import table

    screen = _screen()
    corpus = load("demo")
    screen.print(
        f"The demo corpus: {len(corpus.train):,} dictionary definitions, {corpus.train.n_labels:,} kinds of thing."
    )
    model = fit(method, corpus.train, run=run, say=_say)
    screen.print(table(evaluate(model, corpus.split("test")), f"{method} on held-out definitions, %"))
    for text, labels in zip(EXAMPLES, model.predict(EXAMPLES, k=5)):
        screen.print(f"\n[bold]{text}[/bold]")
        for label in labels:
            screen.print(f"  {label.score:.2f}  {label.name}", highlight=False)
    print(f"\nThe model is {run / 'model'}. Ask it:  echo 'your own definition' | longtail predict {run / 'model'}")


@app.command()
def describe(
    corpus: CorpusArgument,
    as_json: Annotated[Path | None, typer.Option("--json", help="Also write the description here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the label frequencies into this PNG.")] = None,
) -> None:
    """What is in a corpus: documents, labels, lengths, and what may go wrong with it."""
    from longtail.corpus import WITHOUT_TEST
    from longtail.data.describe import describe as described
    from longtail.data.load import load
    from longtail.report import description_tables, frequency_plot

    found = described(load(corpus))
    if "test" not in found.splits:
        _say(f"{found.name} has no test split; {WITHOUT_TEST}")
    for part in description_tables(found):
        _screen().print(part)
    if as_json:
        _write_json(as_json, found.to_json())
    if plot:
        frequency_plot(found.frequencies, plot)


@app.command()
def convert(
    source: CorpusArgument,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new directory.")],
    to: Annotated[str, typer.Option(help="lf (XMC repository's JSON with label features) or parquet.")] = "lf",
) -> None:
    """Write a corpus in another format."""
    from longtail.data.load import load
    from longtail.data.write import write

    write(load(source), target, to)
    _say(f"wrote {target}")


@app.command()
def split(
    corpus: CorpusArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new directory.")],
    test: Annotated[float, typer.Option(help="Share of the documents to judge models by.")] = 0.1,
    valid: Annotated[float, typer.Option(help="Share of the documents to choose by, as `calibrate` does.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Draws the documents.")] = 0,
    to: Annotated[str, typer.Option(help="lf (XMC repository's JSON with label features) or parquet.")] = "lf",
    anew: Annotated[bool, typer.Option("--anew", help="Put splits that exist together first.")] = False,
) -> None:
    """Divide a corpus at random into train and test documents; equal texts stay together."""
    from longtail.data.divide import divide
    from longtail.data.load import load
    from longtail.data.write import write

    parts = divide(load(corpus), test, valid, seed=seed, anew=anew)
    write(parts, out, to)
    official, judges = parts.train.official_valid, parts.split("test")
    counts = {"train": parts.train, "valid": official, "test": judges}
    said = ", ".join(f"{len(part):,} {name}" for name, part in counts.items() if part is not None)
    _say(f"wrote {out}: {said} documents")


@app.command()
def train(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="One of `longtail methods`.")],
    corpus: CorpusArgument,
    run: Annotated[Path, typer.Option(help="Where the run lives. The same command again resumes it.")],
    config: Annotated[Path | None, typer.Option(help="Settings in a TOML file.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="One setting; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draws everything that is random.")] = None,
    device: Annotated[str, typer.Option(help="Where methods that use torch train: cpu, cuda, cuda:1.")] = "cpu",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log to RUN/tensorboard.")] = False,
    hold_out: Annotated[
        bool, typer.Option("--hold-out", help="Leave the val split out, for `calibrate` and `ensemble` to choose by.")
    ] = False,
) -> None:
    """Train a method on a corpus; the model is RUN/model."""
    from longtail.config import parse_assignment, read_toml
    from longtail.data.load import load
    from longtail.methods import method as known
    from longtail.predictor import check_device, fit

    known(method)  # a misspelt method or setting should not wait for the corpus
    check_device(method, device)
    settings: dict[str, Any] = read_toml(config) if config else {}
    settings |= dict(map(parse_assignment, set_ or []))
    settings |= {} if seed is None else {"seed": seed}
    splits = load(corpus)
    documents = splits.without_valid if hold_out else splits.train
    fit(method, documents, run=run, say=_say, device=device, tensorboard=tensorboard, **settings)
    _say(f"done: {run / 'model'}")
    if splits.test is None:
        _say(_how_to_judge(run / "model", corpus, splits, hold_out=hold_out))


def _how_to_judge(model: Path, corpus: str, splits: Splits, *, hold_out: bool) -> str:
    """What to do after a training on a corpus without a test split."""
    from longtail.corpus import WITHOUT_TEST

    if hold_out or splits.train.official_valid is not None:
        return f"there is no test split; judge it by: longtail evaluate {model} {corpus} --split val"
    return f"there is no test split, and the model learned from every document; to judge one, {WITHOUT_TEST}"


@app.command()
def evaluate(
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="trn, val or tst.")] = "tst",
    k: Annotated[str, typer.Option(help="Cut-offs, separated by commas.")] = "1,3,5",
    as_json: Annotated[Path | None, typer.Option("--json", help="Also write the numbers here.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Also draw plots into this directory.")] = None,
    a: Annotated[float, typer.Option("--propensity-a", help="Propensity constant A.")] = 0.55,
    b: Annotated[float, typer.Option("--propensity-b", help="Propensity constant B.")] = 1.5,
) -> None:
    """Score a model on a split of a corpus."""
    from longtail import report
    from longtail.data.load import load
    from longtail.evaluation import evaluate as scored
    from longtail.predictor import open_model
    from longtail.validation import cautions

    opened = open_model(model)
    splits = load(corpus)
    documents = splits.split(split)
    result = scored(opened, documents, ks=_cut_offs(k), a=a, b=b)
    careful = cautions(opened, documents, splits)
    for line in careful:
        _say(f"careful: {line}")
    _screen().print(report.table(result, f"{opened.about.method} on {result.corpus['name']} ({split}), %"))
    _screen().print(report.scores_report(result))
    if as_json:
        _write_json(as_json, result.to_json() | {"careful": careful})
    if plots:
        report.plots(result, plots)
        report.edge_plots(opened, plots)


@app.command()
def predict(
    model: ModelArgument,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Texts, one a line, or JSONL; - is standard input.")
    ] = "-",
    k: Annotated[
        int | None, typer.Option(min=1, help="How many labels at most: 5, or as many as `auto` was chosen for.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Leave out labels that score less; auto: what `calibrate` chose for the model.")
    ] = "0",
) -> None:
    """Suggest labels: one JSON line per text, in order, as they come."""
    from longtail.data.queries import read_queries
    from longtail.predictor import open_model

    opened = open_model(model)
    lowest = _threshold(threshold)
    if isinstance(lowest, str):
        _say(str(opened.threshold(lowest)))
    for texts in read_queries(file):
        for labels in opened.predict(texts, k, lowest):
            sys.stdout.write(json.dumps({"labels": [label._asdict() for label in labels]}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


@app.command()
def ensemble(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model directories with the same labels.")],
    out: Annotated[Path, typer.Option(help="Where the new model goes.")],
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
    from longtail.predictor import combine, open_model

    if (weights == "learned") != (corpus is not None):
        raise ConfigError("--weights learned and --corpus CORPUS go together: the corpus has the documents to learn by")
    members = [open_model(path) for path in models]
    if corpus is None:
        combine(members, None if weights is None else _numbers("--weights", weights, float)).save(out)
    else:
        _weighed(members, corpus, split, metric).save(out)
    _say(f"wrote {out}")


def _weighed(members: list[Predictor], corpus: str, split: str, metric: str) -> Predictor:
    from longtail.data.load import load
    from longtail.metrics import cut_off
    from longtail.validation import validation_split, weigh

    cut_off(metric)  # a misspelt metric should not wait for the corpus
    documents = validation_split(load(corpus), split, members)
    together, value = weigh(members, documents, metric)
    shares = ", ".join(f"{share:.3g}" for share in together.model.weights)  # type: ignore[attr-defined]
    counted = together.about.chosen["weights"]["documents"]
    print(f"weights {shares}: {metric} {value:.2f} on {counted:,} documents of {documents.name} ({split})")
    return together


@app.command()
def info(
    model: ModelArgument,
    as_json: Annotated[Path | None, typer.Option("--json", help="Also write it here.")] = None,
) -> None:
    """What a saved model is: method, settings, training, calibration, files, and whether they are whole."""
    from longtail.info import model_info
    from longtail.report import info_table

    found = model_info(model)
    _screen().print(info_table(found))
    if as_json:
        _write_json(as_json, found.to_json())


@app.command()
def calibrate(
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="The split whose documents tell what scores are worth.")] = "val",
    threshold: Annotated[
        str | None, typer.Option(help="Also choose one, for f1, precision=0.9 or recall=0.8 over all pairs.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="How many labels of a document count, best first.")] = 100,
    out: Annotated[Path | None, typer.Option(help="Write the model here, and leave MODEL as it is.")] = None,
) -> None:
    """Turn a model's scores into probabilities, learned from documents that it never saw."""
    from longtail.calibration import Target
    from longtail.data.load import load
    from longtail.predictor import open_model
    from longtail.report import calibration_table
    from longtail.validation import FEW, validation_split
    from longtail.validation import calibrate as calibrated

    if threshold is not None:
        Target.of(threshold)  # a misspelt target should not wait for the corpus
    opened = open_model(model)
    documents = validation_split(load(corpus), split, [opened])
    result = calibrated(opened, documents, threshold=threshold, k=k)
    counted = result.model.about.chosen["calibration"]["documents"]
    if counted < FEW:
        _say(f"careful: {counted:,} documents are few to learn probabilities from; with {FEW} or more they mean more")
    title = f"{opened.about.method} on {documents.name} ({split}), {counted:,} documents"
    _screen().print(calibration_table(result.before, result.after, title))
    if threshold is not None:
        print(result.model.threshold())
    result.model.save(out or model)
    _say(f"wrote {out or model}")


@app.command()
def methods(
    method: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Explain this one's settings.")] = None,
) -> None:
    """List the methods, or every setting of one with its default, meaning and source."""
    from longtail.report import methods_table, settings_table

    _screen().print(methods_table() if method is None else settings_table(method))


def _cut_offs(text: str) -> tuple[int, ...]:
    numbers = tuple(sorted(set(_numbers("--k", text, int))))
    if not numbers or numbers[0] < 1:
        raise ConfigError(f"--k {text}: cut-offs start at 1")
    return numbers


def _threshold(text: str) -> float | str:
    """A number, or a name that the model must know."""
    try:
        return float(text)
    except ValueError:
        return text


def _numbers(option: str, text: str, kind: type) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: write numbers separated by commas") from None


def _write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error


def _say(line: str) -> None:
    """Progress goes to standard error: standard output is for answers."""
    print(line, file=sys.stderr, flush=True)


def _screen() -> Console:
    from rich.console import Console

    return Console()


def main() -> None:
    """Exit 0 when all went well, 2 for bad input, 1 for our own faults."""
    notice.tell(_say)
    try:
        app()
    except LongtailError as error:
        _say(f"longtail: {error}")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader left, as `head` does; nothing is wrong
        sys.exit(0)
    except KeyboardInterrupt:
        _say("stopped; the same command goes on from here")
        sys.exit(130)
