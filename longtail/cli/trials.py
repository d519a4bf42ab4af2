"""Commands that train to measure: cross-validate, tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from longtail.cli.output import say, screen, write_json
from longtail.cli.training import given_settings
from longtail.cli.words import CorpusArgument, as_options, cut_offs, read_corpus, reads_corpus, to_write
from longtail.columns import Reading
from longtail.errors import ConfigError

MethodArgument = Annotated[str, typer.Argument(metavar="METHOD", help="One of `longtail methods`.")]
RunOption = Annotated[
    Path, typer.Option(parser=to_write, help="Where trials live. The same command again goes on from there.")
]
PresetOption = Annotated[str | None, typer.Option(metavar="DATASET", help="A paper's settings for it.")]
ConfigOption = Annotated[Path | None, typer.Option(help="Settings in a TOML file.")]
JsonOption = Annotated[Path | None, typer.Option("--json", parser=to_write, help="Also write the numbers here.")]


@reads_corpus
def cross_validate(
    reading: Reading,
    method: MethodArgument,
    corpus: CorpusArgument,
    run: RunOption,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the training documents; each judges once.")] = 5,
    preset: PresetOption = None,
    config: ConfigOption = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="One setting; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the folds.")] = 0,
    k: Annotated[str, typer.Option(help="Cut-offs, separated by commas.")] = "1,3,5",
    as_json: JsonOption = None,
) -> None:
    """Train and judge a method on parts of the training documents in turn: means, and how far folds are apart."""
    from longtail.judge.trials import check_place
    from longtail.judge.trials import cross_validate as validated
    from longtail.report.trials import folds_json, folds_table

    ks, settings = cut_offs(k), given_settings(config, set_ or [], preset)
    check_place(run)
    bench = _bench(method, run, [settings])
    documents = read_corpus(corpus, reading).train
    trials = validated(bench, documents, folds, settings, ks=ks, seed=seed)
    if as_json:
        write_json(as_json, folds_json(trials))
    screen().print(folds_table(trials, f"{method} on {documents.name}, {folds} folds, %"))


@reads_corpus
def tune(
    reading: Reading,
    method: MethodArgument,
    corpus: CorpusArgument,
    run: RunOption,
    set_: Annotated[
        list[str], typer.Option("--set", metavar="FIELD=A,B,…", help="Values of one setting to try; repeatable.")
    ],
    metric: Annotated[str, typer.Option(help="What is made as good as can be.")] = "nDCG@5",
    most: Annotated[int, typer.Option(min=1, help="Trials at most; of more combinations so many at random.")] = 50,
    preset: PresetOption = None,
    config: ConfigOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws combinations where there are too many.")] = 0,
    as_json: JsonOption = None,
) -> None:
    """Try values of settings on training documents that are held out; test documents take no part."""
    from longtail.judge.per_label import metric_cut_off
    from longtail.judge.trials import as_toml, check_place, choices, combinations, search
    from longtail.report.trials import trials_json, trials_table
    from longtail.store import write_whole

    depth, fixed = metric_cut_off(metric), given_settings(config, [], preset)
    asked = choices(set_)
    tried = combinations(asked, most, seed)
    check_place(run)
    bench = _bench(method, run, [fixed | one for one in tried])
    tried = _without_defaults_twice(method, fixed, tried)
    splits = read_corpus(corpus, reading)
    trials = search(bench, splits, tried, fixed, metric, depth)
    best = {name: value for name, value in trials[0].settings.items() if name in asked}
    write_whole(run / "best.toml", as_toml(best))
    if as_json:
        write_json(as_json, trials_json(trials))
    screen().print(trials_table(trials, metric, f"{method} on {trials[0].documents:,} held-out documents, %", asked))
    words = "".join(f" --set {name}={value}" for name, value in best.items())
    say(f"best: longtail train {method} {corpus}{as_options(reading)} --run DIR{words}   (also in {run / 'best.toml'})")
    say("careful: the best of several looks better on the documents that chose it than on others; judge it on test")


def _without_defaults_twice(method: str, fixed: dict[str, Any], tried: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first trial is of the defaults: left out where they are among the values."""
    usual, *others = tried
    again = _settled(method, fixed | usual) in [_settled(method, fixed | one) for one in others]
    return others if again else tried


def _settled(method: str, settings: dict[str, Any]) -> Any:  # noqa: ANN401 - the Config of a method
    """The settings of a trial with those that have their defaults."""
    from longtail import config as settings_of
    from longtail.methods import method as known
    from longtail.predict.fit import chosen_settings

    given = {name: value for name, value in settings.items() if name != "preset"}
    return settings_of.build(known(method).Config, chosen_settings(method, settings.get("preset"), given))


def _bench(method: str, run: Path, settings: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a Bench
    """How trials are trained; a misspelt method or setting should not wait for the corpus."""
    from longtail.auto.fit import AUTO, fit
    from longtail.judge.trials import Bench

    if method == AUTO:
        raise ConfigError(f"{AUTO} chooses by held-out documents itself; name one method")
    for one in settings:
        _settled(method, one)
    return Bench(fit, method, run, say)
