"""The command line.  Every command imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import errno
import json
import os
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from longtail import progress
from longtail.errors import ConfigError, LongtailError, system_error
from longtail.kernels import notice

if TYPE_CHECKING:
    from rich.console import Console

    from longtail.corpus import Splits
    from longtail.predict.predictor import Predictor, Suggestion


class Commands(TyperGroup):
    """All commands.  Exceptions are handled here, before typer does it: its exit codes are not the ones we promise."""

    def make_context(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - typer's
        """Parse the words before a command, and print the help."""
        with _exit_codes(None):
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's
        """Run the command."""
        with _exit_codes(ctx):
            return super().invoke(ctx)


def _to_write(text: str) -> Path:
    """A path to write to: see `store.named`."""
    from longtail.store import named

    return named(text)


app = typer.Typer(
    cls=Commands,
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
    run: Annotated[Path, typer.Option(parser=_to_write, help="Where the run lives; run again to reuse it.")] = Path(
        "runs/demo"
    ),
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
    as_json: Annotated[
        Path | None, typer.Option("--json", parser=_to_write, help="Also write the description here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(parser=_to_write, help="Also draw the label frequencies into this PNG.")
    ] = None,
) -> None:
    """What is in a corpus: documents, labels, lengths, and what may go wrong with it."""
    from longtail.corpus import WITHOUT_TEST
    from longtail.data.describe import describe as described
    from longtail.data.load import load
    from longtail.report import description_tables, frequency_plot

    found = described(load(corpus))
    if "test" not in found.splits:
        _say(f"{found.name} has no test split; {WITHOUT_TEST}")
    if as_json:
        _write_json(as_json, found.to_json())
    if plot:
        frequency_plot(found.frequencies, plot)
    for part in description_tables(found):
        _screen().print(part)


@app.command()
def convert(
    source: CorpusArgument,
    target: Annotated[Path, typer.Argument(parser=_to_write, metavar="TARGET", help="A new directory.")],
    to: Annotated[str, typer.Option(help="lf (XMC repository's JSON with label features) or parquet.")] = "lf",
) -> None:
    """Write a corpus in another format."""
    from longtail.data.load import load
    from longtail.data.write import CORPUS, write
    from longtail.store import check_target

    check_target(target, CORPUS)  # before the corpus is read
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
    run: Annotated[
        Path, typer.Option(parser=_to_write, help="Where the run lives. The same command again resumes it.")
    ],
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
    from longtail.predict.predictor import check_device, fit
    from longtail.train.run import check_place

    known(method)  # a misspelt method or setting should not wait for the corpus
    check_device(method, device)
    check_place(run)
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
    as_json: Annotated[
        Path | None, typer.Option("--json", parser=_to_write, help="Also write the numbers here.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(parser=_to_write, help="Also draw plots into this directory.")] = None,
    a: Annotated[float, typer.Option("--propensity-a", help="Propensity constant A.")] = 0.55,
    b: Annotated[float, typer.Option("--propensity-b", help="Propensity constant B.")] = 1.5,
) -> None:
    """Score a model on a split of a corpus."""
    from longtail import report
    from longtail.data.load import load
    from longtail.judge.evaluation import evaluate as scored
    from longtail.judge.validation import cautions
    from longtail.predict.predictor import open_model

    opened = open_model(model)
    splits = load(corpus)
    documents = splits.split(split)
    result = scored(opened, documents, ks=_cut_offs(k), a=a, b=b)
    careful = cautions(opened, documents, splits)
    for line in careful:
        _say(f"careful: {line}")
    if as_json:  # files first: whoever reads what is printed may leave
        _write_json(as_json, result.to_json() | {"careful": careful})
    if plots:
        report.plots(result, plots)
        report.edge_plots(opened, plots)
    _screen().print(report.table(result, f"{opened.about.method} on {result.corpus['name']} ({split}), %"))
    _screen().print(report.scores_report(result))


@app.command()
def predict(
    model: ModelArgument,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|-]",
            help="Texts: one a line, or JSON lines, CSV, TSV or Parquet, plain, .gz or .xz; - is standard input.",
        ),
    ] = "-",
    k: Annotated[
        int | None, typer.Option(min=1, help="How many labels at most: 5, or as many as `auto` was chosen for.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Leave out labels that score less; auto: what `calibrate` chose for the model.")
    ] = "0",
) -> None:
    """Suggest labels: one JSON line per text, in order, as they come."""
    from longtail.data.queries import STANDARD_INPUT, read_queries
    from longtail.predict.predictor import open_model

    opened = open_model(model)
    lowest = _threshold(threshold)
    if isinstance(lowest, str):
        _say(str(opened.threshold(lowest)))
    if file == STANDARD_INPUT and sys.stdin is not None and sys.stdin.isatty():
        _say("type one text a line; Ctrl-D ends")
    # Answers on a terminal are all the progress there is to see; behind a pipe, too, a terminal may be written to.
    progress.watch(None if sys.stdout.isatty() else _say, bar=not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode))
    for queries in read_queries(file):
        suggested = opened.predict([query.text for query in queries], k, lowest)
        sys.stdout.buffer.writelines(_answer(query.id, labels) for query, labels in zip(queries, suggested))
        sys.stdout.buffer.flush()


def _answer(id: str | float | None, labels: list[Suggestion]) -> bytes:
    """The line of JSON for one text, in UTF-8 whatever the terminal speaks; an id comes back as it was given."""
    given = {} if id is None else {"id": id}
    return _json(given | {"labels": [label._asdict() for label in labels]}).encode() + b"\n"


@app.command()
def ensemble(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model directories with the same labels.")],
    out: Annotated[Path, typer.Option(parser=_to_write, help="Where the new model goes.")],
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
    from longtail.predict.predictor import combine, open_model
    from longtail.store import MODEL, check_target

    check_target(out, MODEL)
    if (weights == "learned") != (corpus is not None):
        raise ConfigError("--weights learned and --corpus CORPUS go together: the corpus has the documents to learn by")
    members = [open_model(path) for path in models]
    if corpus is None:
        combine(members, None if weights is None else _numbers("--weights", weights, float)).save(out)
    else:
        _save_weighed(members, corpus, split, metric, out)
    _say(f"wrote {out}")


def _save_weighed(members: list[Predictor], corpus: str, split: str, metric: str, out: Path) -> None:
    from longtail.data.load import load
    from longtail.judge.metrics import cut_off
    from longtail.judge.validation import validation_split, weigh

    cut_off(metric)  # a misspelt metric should not wait for the corpus
    documents = validation_split(load(corpus), split, members)
    together, value = weigh(members, documents, metric)
    together.save(out)
    shares = ", ".join(f"{share:.3g}" for share in together.model.weights)  # type: ignore[attr-defined]
    counted = together.about.chosen["weights"]["documents"]
    print(f"weights {shares}: {metric} {value:.2f} on {counted:,} documents of {documents.name} ({split})")


@app.command()
def info(
    model: ModelArgument,
    as_json: Annotated[Path | None, typer.Option("--json", parser=_to_write, help="Also write it here.")] = None,
) -> None:
    """What a saved model is: method, settings, training, calibration, files, and whether they are whole."""
    from longtail.predict.info import model_info
    from longtail.report import info_table

    found = model_info(model)
    if as_json:
        _write_json(as_json, found.to_json())
    _screen().print(info_table(found))


@app.command()
def calibrate(
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="The split whose documents tell what scores are worth.")] = "val",
    threshold: Annotated[
        str | None, typer.Option(help="Also choose one, for f1, precision=0.9 or recall=0.8 over all pairs.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="How many labels of a document count, best first.")] = 100,
    out: Annotated[Path | None, typer.Option(parser=_to_write, help="Write the calibrated model here.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace MODEL by the calibrated model.")] = False,
) -> None:
    """Turn a model's scores into probabilities, learned from documents that it never saw."""
    from longtail.data.load import load
    from longtail.judge.calibration import Target
    from longtail.judge.validation import FEW, validation_split
    from longtail.judge.validation import calibrate as calibrated
    from longtail.predict.predictor import open_model
    from longtail.report import calibration_table
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
    documents = validation_split(load(corpus), split, [opened])
    result = calibrated(opened, documents, threshold=threshold, k=k)
    result.model.save(target)
    counted = result.model.about.chosen["calibration"]["documents"]
    if counted < FEW:
        _say(f"careful: {counted:,} documents are few to learn probabilities from; with {FEW} or more they mean more")
    title = f"{opened.about.method} on {documents.name} ({split}), {counted:,} documents"
    _screen().print(calibration_table(result.before, result.after, title))
    if threshold is not None:
        print(result.model.threshold())
    _say(f"wrote {target}")


@app.command()
def methods(
    method: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Explain this one's settings.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """List the methods, or every setting of one with its default, meaning and source."""
    from longtail import report

    if as_json:
        print(_json(report.methods_json() if method is None else report.settings_json(method), indent=1))
    elif method is None:
        _screen().print(report.methods_table())
    else:
        print(report.settings_list(method, _screen().width))


def _cut_offs(text: str) -> tuple[int, ...]:
    numbers = tuple(sorted(set(_numbers("--k", text, int))))
    if not numbers or numbers[0] < 1:
        raise ConfigError(f"--k {text}: cut-offs start at 1")
    return numbers


def _threshold(text: str) -> float | str:
    """A score, or a name that the model must know."""
    from longtail.ranking import check_threshold

    try:
        number = float(text)
    except ValueError:
        return text
    return check_threshold(number)


def _numbers(option: str, text: str, kind: type) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: write numbers separated by commas") from None


def _json(value: Any, indent: int | None = None) -> str:  # noqa: ANN401 - whatever JSON can hold
    """JSON that every parser reads: Python would write NaN and Infinity, which JSON does not have."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def _write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    from longtail import store

    with store.told(path, ConfigError):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_whole(path, store.json_text(value))


def _say(line: str) -> None:
    """Progress goes to standard error: standard output is for answers."""
    try:
        print(line, file=sys.stderr, flush=True)
    except BrokenPipeError:
        _discard(sys.stderr)  # a training goes on when nobody watches it any more


def _screen() -> Console:
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit with 1

    return Screen()


# -- how a command ends ---------------------------------------------------------------------------------------------

RESUMABLE = ("train", "demo")


@contextmanager
def _exit_codes(ctx: Any) -> Iterator[None]:  # noqa: ANN401 - typer's
    """Exit with 0 when done or when the reader leaves, 2 for bad input, 130 for Ctrl-C; let our own faults through."""
    try:
        yield
        sys.stdout.flush()
    except LongtailError as error:
        _end(2, f"longtail: {error}")
    except KeyboardInterrupt:
        goes_on = ctx is not None and ctx.invoked_subcommand in RESUMABLE
        _end(130, "stopped; the same command goes on from here" if goes_on else "stopped")
    except OSError as error:
        place = _refused(error)
        if place is None:
            raise
        if isinstance(error, BrokenPipeError):
            _end(0)
        _end(2, f"longtail: {system_error(place, error)}")


def _refused(error: OSError) -> str | None:
    """The place where the system refused what the user asked for; None where it is a fault of ours."""
    if isinstance(error.filename, (str, bytes, os.PathLike)):
        path = os.fsdecode(error.filename)
        return None if Path(path).is_relative_to(Path(__file__).parent) else path
    # Files that we write have their path in the error, so what the system says without one is about our output.
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return "standard output" if full or (isinstance(error, BrokenPipeError) and _nobody_reads()) else None


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has left."""
    poll = select.poll()
    poll.register(sys.stdout, 0)  # errors are told unasked
    return bool(poll.poll(0))


def _discard(stream: IO[str]) -> None:
    """Send what is left of a stream nowhere, or Python would try once more when it exits, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _end(code: int, line: str = "") -> NoReturn:
    """Exit from a command."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
    if line:
        _say(line)
    raise typer.Exit(code) from None


def main() -> None:
    """Run the command that the words of the command line name: see `_exit_codes`."""
    for name in ("stdout", "stderr"):  # closed by whoever started us, as services do
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open to the end
    notice.tell(_say)
    progress.watch(_say)
    app()
