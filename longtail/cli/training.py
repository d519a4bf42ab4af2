"""Commands that train: demo, train; and methods, which lists what can be trained."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli.output import say, screen, strict_json
from longtail.cli.words import CorpusArgument, as_options, byte_count, read_corpus, reads_corpus, to_write
from longtail.columns import Reading
from longtail.errors import ConfigError
from longtail.progress import short

if TYPE_CHECKING:
    from longtail.corpus import Splits


EXAMPLES = (
    "a large wild cat with a striped coat that hunts at night",
    "the branch of medicine that treats diseases of the heart",
    "a small stringed instrument played by plucking",
    "a person who writes computer programs",
)


def demo(
    run: Annotated[Path, typer.Option(parser=to_write, help="Where the run lives; run again to reuse it.")] = Path(
        "runs/demo"
    ),
    method: Annotated[str, typer.Option(help="Which method to train; linear needs no torch.")] = "decaf",
) -> None:
    """Train, evaluate and ask a model about dictionary definitions: what kind of thing is it?"""
    from longtail import evaluate, fit, load
    from longtail.report.evaluation import table

    terminal = screen()
    corpus = load("demo")
    terminal.print(
        f"The demo corpus: {len(corpus.train):,} dictionary definitions, {corpus.train.n_labels:,} kinds of thing."
    )
    model = fit(method, corpus.train, run=run, say=say)
    terminal.print(table(evaluate(model, corpus.split("test")), f"{method} on held-out definitions, %"))
    for text, labels in zip(EXAMPLES, model.predict(EXAMPLES, k=5)):
        terminal.print(f"\n[bold]{text}[/bold]")
        for label in labels:
            terminal.print(f"  {label.score:.2f}  {label.name}", highlight=False)
    print(f"\nThe model is {run / 'model'}. Ask it:  echo 'your own definition' | longtail predict {run / 'model'}")
    print(f"Or open http://127.0.0.1:8080/ in a browser after:  longtail serve {run / 'model'}")


@reads_corpus
def train(
    reading: Reading,
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="One of `longtail methods`, or auto: the best mix of several.")
    ],
    corpus: CorpusArgument,
    run: Annotated[Path, typer.Option(parser=to_write, help="Where the run lives. The same command again resumes it.")],
    time_limit: Annotated[
        str | None, typer.Option(metavar="10m", help="auto: after that, the best so far is the model.")
    ] = None,
    max_size: Annotated[str | None, typer.Option(metavar="200MB", help="auto: the most the model may take.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="nDCG@5", help="auto: what the mix is chosen by.")] = None,
    prefer: Annotated[
        str | None, typer.Option(metavar="rare|frequent|balanced", help="auto: which labels count most.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="DATASET", help="A paper's settings for it; see `longtail methods METHOD`."),
    ] = None,
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
    keep_documents: Annotated[
        bool, typer.Option("--keep-documents", help="Keep beginnings of training documents for `explain` to show.")
    ] = False,
) -> None:
    """Train a method on a corpus; the model is RUN/model."""
    from longtail.auto.fit import fit

    limits = _limits(time_limit=time_limit, max_size=max_size, metric=metric, prefer=prefer)
    _check_before_reading(method, device, run, limits)
    given = {
        "seed": seed,
        "tensorboard": tensorboard or None,
        "preset": preset,
        "keep_documents": keep_documents or None,
    }
    settings = given_settings(config, set_ or []) | limits | {name: it for name, it in given.items() if it is not None}
    splits, began = read_corpus(corpus, reading), time.monotonic()
    fit(method, splits.without_valid if hold_out else splits.train, run=run, say=say, device=device, **settings)
    _say_done(run / "model", f"{shlex.quote(corpus)}{as_options(reading)}", splits, time.monotonic() - began, hold_out)


def _say_done(model: Path, corpus: str, splits: Splits, seconds: float, hold_out: bool) -> None:
    """Say what was trained and what to do next; of several ranks, one does."""
    from longtail.ranks import leads

    if not leads():
        return
    say(f"done: {model}, in {short(seconds)}")
    if splits.test is None:
        say(_how_to_judge(model, corpus, splits, hold_out=hold_out))
    else:
        say(f"judge it: longtail evaluate {shlex.quote(str(model))} {corpus}")
    say(f"use it: longtail serve {shlex.quote(str(model))}")


def _limits(**given: str | None) -> dict[str, Any]:
    """Settings of `train auto` that options of their own give."""
    from longtail.auto.settings import seconds_of

    found: dict[str, Any] = {name: text for name, text in given.items() if text is not None}
    if "time_limit" in found:
        found["time_limit"] = seconds_of(found["time_limit"])
    if "max_size" in found:
        found["max_size"] = byte_count("--max-size", found["max_size"])
    return found


def _check_before_reading(method: str, device: str, run: Path, limits: dict[str, Any]) -> None:
    """A misspelt method, a device that is not there or a directory of somebody else should not wait for the corpus."""
    from longtail.auto.fit import AUTO
    from longtail.methods import method as known
    from longtail.predict.fit import check_device, check_ranks
    from longtail.train.claim import check_place

    if method != AUTO:
        known(method)
        check_device(method, device)
        check_ranks(method, run)
        if limits:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in limits)
            raise ConfigError(f"{options}: only `train auto` has it; {method} takes settings, as in --set seed=1")
    check_place(run)


def given_settings(config: Path | None, assignments: list[str], preset: str | None = None) -> dict[str, Any]:
    """Settings of a file, those of the command line on top, and the name of a preset if there is one."""
    from longtail.config import parse_assignment, read_toml

    given = (read_toml(config) if config else {}) | dict(map(parse_assignment, assignments))
    return given if preset is None else given | {"preset": preset}


def _say_what_next(model: Path, corpus: str, splits: Splits, *, hold_out: bool) -> None:
    """The commands that come after a training."""
    if splits.test is None:
        say(_how_to_judge(model, corpus, splits, hold_out=hold_out))
    else:
        say(f"judge it: longtail evaluate {shlex.quote(str(model))} {corpus}")
    say(f"use it: longtail serve {shlex.quote(str(model))}")


def _how_to_judge(model: Path, corpus: str, splits: Splits, *, hold_out: bool) -> str:
    """What to do after a training on a corpus without a test split."""
    from longtail.corpus import WITHOUT_TEST

    if hold_out or splits.train.official_valid is not None:
        return f"there is no test split; judge it by: longtail evaluate {model} {corpus} --split val"
    return f"there is no test split, and the model learned from every document; to judge one, {WITHOUT_TEST}"


def methods(
    method: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Explain this one's settings.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """List the methods, or every setting of one with its default, meaning and source."""
    from longtail.report import methods as report

    if as_json:
        print(strict_json(report.methods_json() if method is None else report.settings_json(method), indent=1))
    elif method is None:
        screen().print(report.methods_table())
    else:
        print(report.settings_list(method, screen().width))
