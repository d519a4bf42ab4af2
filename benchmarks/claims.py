"""Every claim of the five papers that can be tested here: python -m benchmarks claims [--only PAPER] [--page].

Trains what claims_table.py names, cheapest first, three seeds each, and writes results/claims.json and docs/claims.md
after every training.  Each training leaves its model and its Ranking of the test documents under runs/claims, so that a
call that was killed goes on where it was, and judging again costs seconds.  A claim whose trainings are not on this
machine keeps its earlier result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import longtail
from benchmarks.claims_judge import COSTS, Judge, interval, verdict
from benchmarks.claims_page import write
from benchmarks.claims_table import CLAIMS, PEER, VARIANTS, Claim, Variant
from benchmarks.deep import part_of
from benchmarks.elias import without_index
from benchmarks.lightdxml_claims import reranked
from benchmarks.machine import earlier, save
from benchmarks.side_by_side import PEERS, corpus_path, run, write_features
from benchmarks.unchanged import processor_seconds
from longtail.config import build, merged, nested
from longtail.corpus import Corpus, Splits
from longtail.judge.ensemble import average
from longtail.methods import method
from longtail.predict.predictor import Predictor
from longtail.presets import preset
from longtail.ranking import Ranking

RUNS = Path("runs") / "claims"
DEPTH = 120  # R@100 after filtered pairs have left


# -- what is on disk ------------------------------------------------------------------------------------------------


def place_of(variant: Variant, seed: int) -> Path:
    """The run of a variant; ways to ask one model share it."""
    trained = [variant.corpus, variant.documents, variant.method, settings_of(variant), variant.shuffled]
    digest = hashlib.sha256(json.dumps(trained, sort_keys=True).encode()).hexdigest()[:8]
    name = "".join(each for each in variant.method if each.isalnum() or each == "+")
    return RUNS / f"{variant.corpus}-{name}-{digest}" / str(seed)


def settings_of(variant: Variant) -> dict:
    """All that differs from the defaults: the preset's settings, and its own on top."""
    return merged(preset(variant.method, variant.preset) if variant.preset else {}, nested(variant.settings))


def ranking_of(variant: Variant, seed: int) -> Path:
    return place_of(variant, seed) / f"ranking-{variant.way or 'plain'}.npz"


def read(path: Path) -> Ranking:
    with np.load(path) as arrays:
        return Ranking(arrays["labels"], arrays["scores"])


def keep(ranking: Ranking, path: Path) -> None:
    """Written whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez(file, labels=ranking.labels, scores=ranking.scores)
    Path(file.name).replace(path)


def rankings_of(name: str) -> list[Ranking] | None:
    """One for each seed, or one of all seeds together; none before all are there."""
    variant = VARIANTS[name]
    paths = [ranking_of(variant, seed) for seed in variant.seeds]
    if not all(path.is_file() for path in paths):
        return None
    rankings = [read(path) for path in paths]
    return [average(rankings)] if variant.together else rankings


# -- training -------------------------------------------------------------------------------------------------------


@cache
def splits_of(corpus: str, documents: int | None) -> Splits:
    splits = longtail.load(corpus_path(corpus))
    return replace(splits, train=part_of(splits.train, documents))


def shuffled(train: Corpus) -> Corpus:
    """With every label's id, name and text at the place of another; documents keep their places in the label matrix."""
    order = np.random.default_rng(0).permutation(train.n_labels)
    return replace(train, label_set=train.label_set[order]).fingerprinted()


def add_ranking(variant: Variant, seed: int) -> None:
    """Train, unless another way to ask had the model trained, and keep the answers."""
    splits, place = splits_of(variant.corpus, variant.documents), place_of(variant, seed)
    if variant.shuffled:
        splits = replace(splits, train=shuffled(splits.train))
    if variant.method.startswith(PEER):
        ranking = ask_peer(variant, splits, place)
    else:
        model = trained(variant, splits, seed, place)
        ranking = WAYS[variant.way.partition("=")[0]](model, splits, variant)
    keep(ranking, ranking_of(variant, seed))


def ask_peer(variant: Variant, splits: Splits, place: Path) -> Ranking:
    """A contender in a process of its own, with the same features as everybody."""
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as features:
        write_features(splits, Path(features))
        told = run(PEERS[variant.method.removeprefix(PEER)], Path(features), corpus_path(variant.corpus), splits, place)
    assert told is not None
    cost = {"MB": told["model MB"], "ms": told["alone ms/document"], "processor seconds": told["train cpu seconds"]}
    (place / "cost.json").write_text(json.dumps(cost))
    return read(place / "ranking.npz")


def trained(variant: Variant, splits: Splits, seed: int, place: Path) -> Predictor:
    """The model, from disk where it is; checkpoints of a finished training are deleted."""
    if (place / "cost.json").is_file():
        return longtail.open(place / "model")
    before = processor_seconds()
    model = longtail.fit(variant.method, splits.train, run=place, **settings_of(variant), seed=seed)
    spent = processor_seconds() - before
    size = sum(path.stat().st_size for path in (place / "model").rglob("*") if path.is_file())
    cost = {"MB": size / 1e6, "ms": milliseconds(model, splits), "processor seconds": spent}
    (place / "cost.json").write_text(json.dumps(cost))
    for spare in ("stages", "training"):
        shutil.rmtree(place / spare, ignore_errors=True)
    return model


def milliseconds(model: Predictor, splits: Splits, documents: int = 300) -> float:
    """Median processor time of one document at a time, which a busy machine does not lengthen much."""
    took, test = [], splits.split("test")
    for at in range(min(documents, len(test))):
        one = test.documents[np.array([at])]
        begun = time.process_time()
        model.rank(one, k=5)
        took.append(time.process_time() - begun)
    return 1000 * float(np.median(took))


# -- ways to ask a trained model --------------------------------------------------------------------------------------


def plainly(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    return model.rank(splits.split("test").documents, DEPTH)


def with_beta(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    """LightDXML with another β."""
    fusion = replace(model.model.fusion, beta=float(variant.way.partition("=")[2]))
    return plainly(replace(model, model=replace(model.model, fusion=fusion)), splits, variant)


def with_reranker(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    """LightDXML, and a second network that learns to rank what it ranks first."""
    return reranked(model, splits, build(method("lightdxml").Config, settings_of(variant)))


def with_every_label(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    return plainly(without_index(model), splits, variant)


def without_tree(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    return plainly(replace(model, model=replace(model.model, tree=None)), splits, variant)


def of_proposer(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    return plainly(replace(model, model=model.model.proposer), splits, variant)


def of_instances(model: Predictor, splits: Splits, variant: Variant) -> Ranking:
    """DECAF's first instances alone."""
    few = replace(model.model, instances=model.model.instances[: int(variant.way.partition("=")[2])])
    return plainly(replace(model, model=few), splits, variant)


Way = Callable[[Predictor, Splits, Variant], Ranking]
WAYS: dict[str, Way] = {
    "": plainly,
    "beta": with_beta,
    "re-ranker": with_reranker,
    "every label": with_every_label,
    "no tree": without_tree,
    "proposer": of_proposer,
    "instances": of_instances,
}


# -- the queue and the verdicts ---------------------------------------------------------------------------------------


def wanted(papers: list[str]) -> list[Claim]:
    return [claim for claim in CLAIMS if not papers or claim.paper in papers]


def queue(claims: list[Claim], results: dict) -> Iterator[tuple[Variant, int]]:
    """Trainings of claims without a result, cheapest first."""
    names = {name for claim in claims if claim.key not in results for name in (claim.a, claim.b) if name}
    for variant in sorted((VARIANTS[name] for name in names), key=lambda variant: variant.seconds):
        for seed in variant.seeds:
            if not ranking_of(variant, seed).is_file():
                yield variant, seed


def judged(claim: Claim) -> dict | None:
    """Both sides' values, the difference with its interval, and the verdict; none before both are trained."""
    ours, theirs = rankings_of(claim.a), rankings_of(claim.b) if claim.b else []
    if ours is None or theirs is None:
        return None
    variant = VARIANTS[claim.a]
    splits = splits_of(variant.corpus, variant.documents)
    judge = Judge(splits.train, splits.split("test"))
    a, b = values(claim.a, ours, claim.metric, judge), values(claim.b, theirs, claim.metric, judge)
    published = 0.0 if claim.published is None else claim.published
    per_document = claim.metric not in COSTS and not claim.metric.startswith("coverage")
    between = interval(judge, ours, theirs, claim.metric, published) if per_document else None
    said = verdict(claim.expects, a, b or [published], between)
    return {"metric": claim.metric, "a": a, "b": b, "difference": float(np.mean(a) - np.mean(b or [published])),
            "interval": between, "verdict": said, "trained": trained_for(claim)}  # fmt: skip


def values(name: str, rankings: list[Ranking], metric: str, judge: Judge) -> list[float]:
    """The metric of each seed."""
    if metric in COSTS:
        variant = VARIANTS[name]
        places = [place_of(variant, seed) / "cost.json" for seed in variant.seeds]
        return [json.loads(place.read_text())[metric] for place in places]
    return [judge.value(ranking, metric) for ranking in rankings]


def trained_for(claim: Claim) -> list[str]:
    """The trainings that a result is of: with other settings it is void."""
    return [place_of(VARIANTS[name], 0).parent.name for name in (claim.a, claim.b) if name]


def judge_all(results: dict) -> dict:
    """Earlier results of the same trainings, and those of claims that were trained since, in the table's order."""
    now = {}
    for claim in CLAIMS:
        before = results.get(claim.key)
        if before is None or before["trained"] != trained_for(claim):
            before = judged(claim) if claim.a else None
        if before is not None:
            now[claim.key] = before
    return now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="PAPER", help="claims of one paper")
    parser.add_argument("--page", action="store_true", help="train nothing; judge what is there and write the page")
    parser.add_argument("--most", type=int, default=10**6, metavar="SECONDS", help="leave out longer trainings")
    asked = parser.parse_args()
    results = judge_all(earlier("claims"))
    for variant, seed in [] if asked.page else list(queue(wanted(asked.only), results)):
        if variant.seconds > asked.most or ranking_of(variant, seed).is_file():
            continue
        began = processor_seconds()
        try:
            add_ranking(variant, seed)
        except longtail.LongtailError as error:
            print(f"{place_of(variant, seed)}: left out, {error}", flush=True)
            continue
        print(ranking_of(variant, seed), f"{processor_seconds() - began:.0f} s", flush=True)
        if seed == variant.seeds[-1]:
            write(record(judge_all(earlier("claims"))))
    write(record(judge_all(earlier("claims"))))


def record(results: dict) -> dict:
    save("claims", results)
    return results


if __name__ == "__main__":
    main()
