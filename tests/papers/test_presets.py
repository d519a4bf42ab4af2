"""Presets: the papers' settings for each of their datasets, checked against the tables and trained on planted data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longtail import evaluate, fit
from longtail.config import build, explain, merged, nested
from longtail.corpus import Splits
from longtail.errors import ConfigError
from longtail.index.balanced import halvings_of
from longtail.methods import method
from longtail.presets import CONFIGS, PROPENSITY, preset, presets, propensity

LABELS = {
    "eurlex-4k": 3_993, "wiki10-31k": 30_938, "amazoncat-13k": 13_330, "amazon-670k": 670_091, "wiki-500k": 501_008,
    "wikipedia-500k": 501_008, "amazon-3m": 2_812_281, "amazontitles-670k": 670_091, "wikiseealsotitles-350k": 352_072,
    "lf-amazontitles-131k": 131_073, "lf-amazon-131k": 131_073, "lf-wikiseealsotitles-320k": 312_330,
    "lf-wikiseealso-320k": 312_330, "lf-wikititles-500k": 501_070, "lf-amazontitles-1.3m": 1_305_265,
}  # fmt: skip
# Every dataset of every paper.
PAPERS = {
    "lightxml": {"eurlex-4k", "wiki10-31k", "amazoncat-13k", "amazon-670k", "wiki-500k"},
    "elias": {"lf-amazontitles-131k", "amazon-670k", "wikipedia-500k", "amazon-3m"},
    "elias++": {"lf-amazontitles-131k", "amazon-670k", "wikipedia-500k", "amazon-3m"},
    "decaf": {
        "lf-amazontitles-131k", "lf-amazon-131k", "lf-wikiseealsotitles-320k", "lf-wikiseealso-320k",
        "lf-wikititles-500k", "lf-amazontitles-1.3m",
    },
    "gudn": {"eurlex-4k", "wiki10-31k", "amazoncat-13k", "wiki-500k"},
    "lightdxml": {"eurlex-4k", "wiki10-31k", "amazoncat-13k", "wikiseealsotitles-350k", "amazontitles-670k"},
}  # fmt: skip
EACH = [(name, dataset) for name, datasets in PAPERS.items() for dataset in sorted(datasets)]
SHRUNK = {"epochs": 1, "recluster": 1, "encoder": "", "max_tokens": 16, "label_tokens": 16, "valid_documents": 60}


def settings(name: str, dataset: str) -> dict[str, Any]:
    """All settings of a preset, by dotted names."""
    built = build(method(name).Config, preset(name, dataset))
    return {line.name: line.default for line in explain(built)}


@pytest.mark.parametrize("name", PAPERS)
def test_every_dataset_of_a_paper_has_a_preset_and_propensity_constants(name: str):
    assert PAPERS[name] <= set(presets(name))
    assert all(propensity(dataset) in {(0.55, 1.5), (0.6, 2.6), (0.5, 0.4)} for dataset in PAPERS[name])


def test_constants_are_of_datasets_and_not_of_words_in_their_names():
    """reference: the XML repository's table; AmazonCat-13K and Wiki10-31K have the usual constants."""
    assert PROPENSITY["amazoncat-13k"] == PROPENSITY["wiki10-31k"] == PROPENSITY["lf-wikiseealso-320k"] == (0.55, 1.5)
    assert PROPENSITY["amazon-3m"] == (0.6, 2.6) and PROPENSITY["wiki-500k"] == (0.5, 0.4)
    assert set(PROPENSITY) == set(LABELS)


@pytest.mark.parametrize(
    ("name", "dataset", "clusters"),
    [
        ("lightxml", "amazon-670k", 8192), ("lightxml", "wiki-500k", 8192), ("gudn", "wiki-500k", 8192),
        ("elias", "lf-amazontitles-131k", 2048), ("elias", "amazon-670k", 8192), ("elias", "wikipedia-500k", 8192),
        ("elias", "amazon-3m", 32768), ("decaf", "lf-amazontitles-131k", 2**15), ("decaf", "lf-amazon-131k", 2**15),
        ("decaf", "lf-wikiseealsotitles-320k", 2**17), ("decaf", "lf-wikiseealso-320k", 2**17),
        ("decaf", "lf-wikititles-500k", 2**17), ("decaf", "lf-amazontitles-1.3m", 2**17),
    ],
)  # fmt: skip
def test_as_many_clusters_as_the_authors_have(name: str, dataset: str, clusters: int):
    assert 2 ** halvings_of(LABELS[dataset], settings(name, dataset)["labels_per_cluster"]) == clusters


TABLES = {
    (
        "lightxml",
        "eurlex-4k",
    ): "transformer.max_tokens=512 optim.epochs=20 optim.average_from=10 optim.average_every=200",
    (
        "lightxml",
        "wiki10-31k",
    ): "transformer.max_tokens=512 optim.epochs=30 optim.batch_size=16 optim.average_every=300",
    ("lightxml", "amazoncat-13k"): "optim.epochs=5 optim.average_from=2 optim.average_every=10000",
    ("lightxml", "amazon-670k"): "beam=75 label_dim=400 optim.epochs=15 optim.batch_size=16 optim.lr=0.0001",
    ("lightxml", "wiki-500k"): "beam=32 label_dim=500 optim.epochs=10 optim.batch_size=32",
    (
        "elias",
        "lf-amazontitles-131k",
    ): "optim.epochs=(20,50) optim.lr=(0.0002,3e-05) optim.row_batches=(1,10) edges=1000",
    ("elias", "amazon-670k"): "optim.epochs=(15,30) walk.beta=150.0 walk.paths=product transformer.max_tokens=128",
    (
        "elias++",
        "amazon-670k",
    ): "reads=both elias.optim.cluster_lr=(0.01,0.0003) elias.shortlist_loss=(0.0,5.0)",
    ("decaf", "lf-wikititles-500k"): "optim.row_lr=(0.005,0.004,0.004) bag.dim=512",
    ("decaf", "lf-amazontitles-1.3m"): "dropout=(0.5,) optim.row_lr=(0.01,0.008,0.008) instances=3",
    (
        "decaf",
        "lf-amazontitles-131k",
    ): "bag.dim=300 optim.schedule=0.5,0.75 dropout=(0.5,0.2,0.2) optim.batch_size=255",
    ("gudn", "eurlex-4k"): "optim.epochs=40 optim.batch_size=8 transformer.layers=10 optim.lr=5e-05",
    ("gudn", "amazoncat-13k"): "optim.epochs=20 guide_by=distance",
    ("lightdxml", "eurlex-4k"): "shortlist=500 reindex=8 beta=0.75 optim.row_lr=0.006 optim.epochs=16",
    ("lightdxml", "amazontitles-670k"): "shortlist=650 reindex=9 label_encoder.hidden=2400 optim.row_lr=0.007",
}


@pytest.mark.parametrize(("name", "dataset"), TABLES)
def test_values_of_the_papers_tables(name: str, dataset: str):
    chosen, table = settings(name, dataset), dict(each.split("=") for each in TABLES[name, dataset].split())
    assert {key: str(chosen[key]).replace(" ", "") for key in table} == table


@pytest.mark.parametrize("dataset", presets("lightdxml"))
def test_lightdxml_has_one_rate_for_all(dataset: str):
    chosen = settings("lightdxml", dataset)
    assert chosen["optim.lr"] == chosen["optim.row_lr"]


FIRST = {"lightxml": "wiki-500k", "elias": "amazon-3m", "elias++": "amazon-670k", "decaf": "lf-amazontitles-131k",
         "gudn": "wiki-500k", "lightdxml": "eurlex-4k"}  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_a_preset_of_each_method_trains(name: str, planted: Splits, tiny_encoder: Path):
    check_training(name, FIRST[name], planted, tiny_encoder)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dataset"), [each for each in EACH if each not in FIRST.items()])
def test_every_other_preset_trains(name: str, dataset: str, planted: Splits, tiny_encoder: Path):
    check_training(name, dataset, planted, tiny_encoder)


def check_training(name: str, dataset: str, planted: Splits, tiny_encoder: Path) -> None:
    """Train a preset, shrunk in epochs and encoder alone; those on a bag must learn, too."""
    on_a_bag = name in ("decaf", "lightdxml")
    epochs = 10 if name == "lightdxml" else 1  # the others take more steps where documents are few
    shrunk = SHRUNK | {"encoder": "bag" if on_a_bag else str(tiny_encoder), "epochs": epochs}
    chosen = {
        key: shrunk[key.rpartition(".")[2]]
        for key, value in settings(name, dataset).items()
        if key.rpartition(".")[2] in shrunk and value
    }
    model = fit(name, planted.train, preset=dataset, **chosen)
    ranking = model.rank(planted.test.documents, k=5)
    assert np.isfinite(ranking.scores).all() and (ranking.labels >= 0).any(axis=1).all()
    if on_a_bag:
        assert evaluate(model, planted.split("test")).metrics["P@1"] > 50


def test_a_preset_is_what_is_not_told_otherwise():
    chosen = merged(preset("decaf", "lf-wikititles-500k"), nested({"bag.dim": 64}))
    assert chosen["bag"] == {"subwords": 0, "dim": 64} and chosen["optim"]["epochs"] == [20, 10, 10]


def test_a_misspelt_preset_is_told_its_neighbour():
    with pytest.raises(ConfigError, match=r"decaf has no preset lf-amazon-131; did you mean lf-amazon-131k\?"):
        preset("decaf", "lf-amazon-131")
    with pytest.raises(ConfigError, match="no propensity constants are known for wiki-500; did you mean wiki-500k"):
        propensity("wiki-500")


def test_every_file_of_the_folder_belongs_to_a_method():
    assert all(method(path.parent.name) for path in CONFIGS.glob("*/*.toml"))
