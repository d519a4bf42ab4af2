"""A model of a million labels: file size, memory, time to open, time of one text, and what the shortcuts miss.

    python -m benchmarks.million [LABELS …]        1,300,000 labels of 512 numbers in int8 unless told
    python -m benchmarks.million curve             10³ … 3·10⁶ labels
    python -m benchmarks.million pecos [LABELS …]  PECOS at 10³ … 10⁶ labels
    python -m benchmarks.million again             what is kept, ours and PECOS', measured again
    python -m benchmarks.million drawn             how far drawn labels are like trained ones
    python -m benchmarks.million plot              the plot of all of them

The model is a trained DECAF (`longtail demo`) with more rows drawn around its own (benchmarks/drawn.py); queries are
test documents.  Models are made once and kept in runs/million; contenders/million_measure.py measures one of them.

Exact means: all clusters opened, so all labels scored, by the same int8 rows.  The two knobs, clusters opened (beam)
and clusters of clusters opened (probes), are chosen on test documents of their own: those that find AIM of the exact
top K with the fewest rows compared.  What is reported are other test documents.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.contenders.million_measure import BEAMS, JUDGED, QUERIES, K, instance_of, with_beam, with_probes
from benchmarks.drawn import Trained, drawn_model, nearness, with_fitted_clusters
from benchmarks.machine import earlier, save
from benchmarks.million_plot import PECOS_SIZES, measured_pecos, plot, trained_pecos
from longtail.corpus import Documents, Texts
from longtail.predict.export import found_of, in_two_levels
from longtail.predict.predictor import Predictor
from longtail.rankers.coarse import compared, ladder
from longtail.shortlist import Shortlist

KEPT = Path("runs/million")
AIM = 0.965  # of the exact top K of the documents that choose; the goal is 0.95 of those that are reported
TRIED = (4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 50, 64, 80, 100)  # beams
CURVE = (1_000, 10_000, 100_000, 1_000_000, 3_000_000)
SIZE = 1_300_000


# -- a model and its knobs ---------------------------------------------------------------------------------------------


def kept(labels: int) -> Path:
    """Where the model of so many labels is; it is made if it is not there."""
    place = KEPT / str(labels)
    if not (place / "about.json").is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        about = made(labels, place)
        (place / "about.json").write_text(json.dumps(about, indent=1), "utf-8")
    return place


def made(labels: int, place: Path) -> dict:
    """Save a model of so many labels, a small one, queries and their exact answers; what is known of the model."""
    trained = Trained()
    drawn_model(trained, 2000, 10).save(place / "small")
    texts = trained.queries(JUDGED + QUERIES)
    model = in_two_levels(drawn_model(trained, labels, TRIED[-1]), trained.corpus.train.documents)
    exact = exactly(model, texts[: 2 * JUDGED])
    model, found = with_knobs(model, texts[:JUDGED], exact[:JUDGED])
    model.save(place / "model")
    np.save(place / "exact.npy", exact[JUDGED:])
    np.save(place / "exact_of_choosers.npy", exact[:JUDGED])
    (place / "queries.json").write_text(json.dumps(texts[JUDGED:]), "utf-8")
    (place / "choosers.json").write_text(json.dumps(texts[:JUDGED]), "utf-8")
    return described(model, place / "model") | {"on the documents that chose, %": round(100 * found, 2)}


def exactly(model: Predictor, texts: list[str]) -> np.ndarray:
    """The exact top K of each text."""
    everything = with_probes(with_beam(model, len(instance_of(model).shortlister.rows)), None)
    return everything.rank(Documents(Texts.of(texts)), K).labels


def with_knobs(model: Predictor, texts: list[str], exact: np.ndarray) -> tuple[Predictor, float]:
    """The model with the beam and the probes that find enough by the fewest rows, and what share they find."""
    documents, labels = Documents(Texts.of(texts)), labels_compared(model, texts)

    def share(tried: Predictor) -> float:
        return found_of(exact, tried.rank(documents, K).labels)

    best = np.inf, model, share(model)
    for beam in TRIED:
        for probes in rungs(model):
            tried = with_probes(with_beam(model, beam), probes)
            rows = clusters_compared(tried) + labels[instance_of(tried).beam - 1]
            if rows >= best[0]:
                break
            if (found := share(tried)) >= AIM:
                best = rows, tried, found
                break
    return best[1:]


def rungs(model: Predictor) -> list[int | None]:
    """Numbers of probes to choose from; in one level there is nothing to choose."""
    rows = instance_of(model).shortlister.rows
    return [None] if rows.coarse is None else [*ladder(rows)]


def clusters_compared(model: Predictor) -> float:
    """With how many rows of clusters, and of clusters of clusters, a text is compared."""
    heads = instance_of(model).shortlister.rows
    return len(heads) if heads.coarse is None else compared(heads, heads.coarse.probes)


def labels_compared(model: Predictor, texts: list[str]) -> np.ndarray:
    """With how many labels a text is compared by each beam; some clusters are passed over (kernels/tables.py)."""
    one = instance_of(model)
    vectors, labels = one.ranker.vectors(one.ranker.encoder.read(Documents.of(texts))), one.ranker.rows
    beam = min(TRIED[-1], len(one.shortlister.rows))
    opened = with_probes(model, None).model.instances[0].shortlister.rows.top(vectors, beam)  # type: ignore[attr-defined]
    beliefs, worst = opened.belief**one.belief_weight, np.zeros(len(texts))
    sizes, counts = np.diff(labels.clusters.starts)[opened.labels], np.zeros(beam)  # type: ignore[union-attr]
    for at in range(beam):
        counts[at] = (sizes[:, at] * (beliefs[:, at] >= worst)).mean()
        some = Shortlist(opened.labels[:, : at + 1], beliefs[:, : at + 1])
        worst = labels.top_inside(vectors, some, K).scores[:, -1]
    return np.cumsum(counts)


def described(model: Predictor, place: Path) -> dict:
    files = {path.name: path.stat().st_size for path in place.iterdir()}
    heads, encoder = instance_of(model).shortlister.rows, instance_of(model).ranker.encoder
    return {
        "labels": len(model.labels),
        "clusters": len(heads),
        "tokens": encoder.n_tokens,
        "weights MB": round(files["weights.safetensors"] / 1e6, 1),
        "directory MB": round(sum(files.values()) / 1e6, 1),
        "beam": instance_of(model).beam,
        "coarse rows": None if heads.coarse is None else len(heads.coarse.rows),
        "probes": None if heads.coarse is None else heads.coarse.probes,
    }


def one_size(labels: int) -> dict:
    """What is known and measured of a model, in a process of its own, so that memory is this model's alone."""
    place = kept(labels)
    asked = [sys.executable, "-m", "benchmarks.contenders.million_measure", str(place)]
    found = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads((place / "about.json").read_text("utf-8")) | json.loads(found)


# -- drawn labels beside trained ones ----------------------------------------------------------------------------------


def drawn_beside_trained() -> dict:
    """How much of the exact top K a beam finds: with trained cluster rows, with fitted ones, and among drawn labels."""
    trained = Trained()
    texts = trained.queries(JUDGED)
    models = {"trained": trained.model, "trained labels, fitted clusters": with_fitted_clusters(trained)}
    models |= {f"drawn, {labels} labels": drawn_model(trained, labels, 20) for labels in (19_000, 76_000)}
    found: dict = {"distance to the nearest row, and its power": [round(x, 3) for x in nearness(trained)]}
    for name, model in models.items():
        exact = exactly(model, texts)
        answers = {beam: with_beam(model, beam).rank(Documents(Texts.of(texts)), K).labels for beam in BEAMS}
        found[name] = {"clusters": len(instance_of(model).shortlister.rows)}
        found[name] |= {f"beam {beam}, %": round(100 * found_of(exact, one), 1) for beam, one in answers.items()}
        print(name, found[name], flush=True)
    return found


# -- the program -------------------------------------------------------------------------------------------------------


def main(words: list[str]) -> None:
    results = earlier("million")
    if words == ["drawn"]:
        results["drawn beside trained"] = drawn_beside_trained()
    elif words[:1] == ["pecos"]:
        measure_pecos(results, [int(word) for word in words[1:]] or PECOS_SIZES)
    elif words == ["again"]:
        measure(results, sorted(int(path.parent.name) for path in KEPT.glob("*/about.json")))
        measure_pecos(results, sorted(int(path.parent.name[6:]) for path in KEPT.glob("pecos-*/trained.json")))
    elif words != ["plot"]:
        measure(results, CURVE if words == ["curve"] else [int(word) for word in words] or [SIZE])
    print(save("million", results), plot(results))


def measure(results: dict, sizes: list[int] | tuple[int, ...]) -> None:
    for labels in sizes:
        results[str(labels)] = one_size(labels)
        print(results[str(labels)], save("million", results), flush=True)


def measure_pecos(results: dict, sizes: list[int] | tuple[int, ...]) -> None:
    for labels in sizes:
        place = trained_pecos(labels, KEPT / f"pecos-{labels}")
        results["pecos"] = results.get("pecos", {}) | {str(labels): measured_pecos(labels, place)}
        print(results["pecos"][str(labels)], save("million", results), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
