"""Commands about corpora: describe, convert, split, join."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli.output import say, screen, write_json
from longtail.cli.words import CorpusArgument, as_options, read_corpus, reads_corpus, to_write
from longtail.columns import Reading
from longtail.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from longtail.corpus import Splits

FormatOption = Annotated[
    str, typer.Option(help="lf (XMC repository's JSON with label features), jsonl, csv or parquet.")
]


@reads_corpus
def describe(
    reading: Reading,
    corpus: CorpusArgument,
    as_json: Annotated[
        Path | None, typer.Option("--json", parser=to_write, help="Also write the description here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(parser=to_write, help="Also draw the label frequencies into this PNG.")
    ] = None,
) -> None:
    """What is in a corpus: documents, labels, lengths, and what may go wrong with it."""
    from longtail.corpus import WITHOUT_TEST
    from longtail.data.describe import describe as described
    from longtail.features.grams import is_unspaced
    from longtail.report.description import description_tables
    from longtail.report.plots import frequency_plot

    splits = read_corpus(corpus, reading)
    found, texts = described(splits), splits.train.documents.texts
    if texts is not None and is_unspaced(texts):
        say("these texts have no spaces between words: methods read them by pieces of one to three characters")
    if "test" not in found.splits:
        say(f"{found.name} has no test split; {WITHOUT_TEST}")
    if as_json:
        write_json(as_json, found.to_json())
    if plot:
        frequency_plot(found.frequencies, plot)
    for part in description_tables(found):
        screen().print(part)
    say(f"next: {_after_description(corpus, reading, judged='test' in found.splits)}")


def _after_description(corpus: str, reading: Reading, *, judged: bool) -> str:
    """The command that comes after a look at a corpus."""
    words = f"{shlex.quote(corpus)}{as_options(reading)}"
    name = shlex.quote(Path(corpus).name.partition(".")[0] or "mine")
    return (
        f"longtail train linear {words} --run runs/{name}" if judged else f"longtail split {words} --out {name}-split"
    )


@reads_corpus
def convert(
    reading: Reading,
    source: CorpusArgument,
    target: Annotated[Path, typer.Argument(parser=to_write, metavar="TARGET", help="A new directory.")],
    to: FormatOption = "lf",
) -> None:
    """Write a corpus in another format."""
    from longtail.data.write import CORPUS, write
    from longtail.store import check_target

    check_target(target, CORPUS)  # before the corpus is read
    write(read_corpus(source, reading), target, to)
    say(f"wrote {target}")


@reads_corpus
def split(
    reading: Reading,
    corpus: CorpusArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new directory.")],
    test: Annotated[float, typer.Option(help="Share of the documents to judge models by.")] = 0.1,
    valid: Annotated[float, typer.Option(help="Share of the documents to choose by, as `calibrate` does.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Draws the documents.")] = 0,
    to: FormatOption = "lf",
    anew: Annotated[bool, typer.Option("--anew", help="Put splits that exist together first.")] = False,
) -> None:
    """Divide a corpus at random into train and test documents; equal texts stay together."""
    from longtail.data.divide import divide
    from longtail.data.write import write

    parts = divide(read_corpus(corpus, reading), test, valid, seed=seed, anew=anew)
    write(parts, out, to)
    official, judges = parts.train.official_valid, parts.split("test")
    counts = {"train": parts.train, "valid": official, "test": judges}
    said = ", ".join(f"{len(part):,} {name}" for name, part in counts.items() if part is not None)
    say(f"wrote {out}: {said} documents")
    name = shlex.quote(out.name)
    command = f"longtail train linear {shlex.quote(str(out))} --run runs/{name}"
    say(f"next: {command}   (auto instead of linear: the best mix)")


def join(
    corpora: Annotated[list[str], typer.Argument(metavar="CORPUS...", help="Files or directories, the oldest first.")],
    out: Annotated[Path, typer.Option(parser=to_write, metavar="DIR", help="A new directory.")],
    to: FormatOption = "lf",
) -> None:
    """Put corpora together, split by split: a corpus and the documents that came since.  Labels are known by id.

    Files whose columns must be named are written anew first, by `longtail convert`.
    """
    from longtail.data.describe import describe as described
    from longtail.data.join import join as joined
    from longtail.data.write import CORPUS, write
    from longtail.store import check_target

    check_target(out, CORPUS)
    if len(corpora) < 2:
        raise ConfigError(f"join takes two corpora or more; to write {corpora[0]} in another format: longtail convert")
    together = joined([_as_it_is(corpus) for corpus in corpora], out.name)
    write(together, out, to)
    found = described(together)
    for role, split in found.splits.items():
        if split.in_train:
            say(f"careful: {split.in_train:,} documents of {role} are also in train, so numbers by it will flatter")
    counts = ", ".join(f"{split.documents:,} {role}" for role, split in found.splits.items())
    say(f"wrote {out}: {counts} documents, {found.labels:,} labels")


def _as_it_is(corpus: str) -> Splits:
    """A corpus whose columns need no names from the user, who might mean those of one corpus and not of another."""
    try:
        return read_corpus(corpus, Reading())
    except CorpusError as error:
        if "--" not in str(error):
            raise
        raise CorpusError(f"{error} (options of `longtail convert {shlex.quote(corpus)} DIR`; then join DIR)") from None
