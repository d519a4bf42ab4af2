"""Which library finds the nearest of many label vectors best: recall, latency, time to build, determinism, one thread.

    python -m benchmarks.nearest [LABELS [DIM]]

Vectors lie in clusters, as labels do; a document lies near a label.  Every library builds the same kind of graph
(M links, efC candidates) and is asked for the 100 nearest by cosine at several widths of search, document by document.
Times are of the processor, so that neighbours on a shared machine change them little.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

import numpy as np

from benchmarks.machine import installed, save
from longtail.index.nearest import Search, nearest_over
from longtail.kernels.label_rows import likeliest

M, BUILD_WIDTH, WIDTHS, K, DOCUMENTS, ROUNDS = 32, 200, (100, 200, 400), 100, 300, 3


class Library(Protocol):
    """One library's graph over unit vectors."""

    def __init__(self, labels: np.ndarray): ...
    def find(self, documents: np.ndarray, width: int) -> np.ndarray: ...
    def size(self) -> int: ...


class Faiss:
    def __init__(self, labels):
        import faiss

        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexHNSWFlat(labels.shape[1], M, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = BUILD_WIDTH
        self.index.add(labels)

    def find(self, documents, width):
        self.index.hnsw.efSearch = width
        return self.index.search(documents, K)[1]

    def size(self):
        import faiss

        return len(faiss.serialize_index(self.index))


class Hnswlib:
    def __init__(self, labels):
        import hnswlib

        self.index = hnswlib.Index(space="ip", dim=labels.shape[1])
        self.index.init_index(len(labels), ef_construction=BUILD_WIDTH, M=M, random_seed=0)
        self.index.add_items(labels, num_threads=1)

    def find(self, documents, width):
        self.index.set_ef(width)
        return self.index.knn_query(documents, K, num_threads=1)[0].astype(np.int64)

    def size(self):
        return self.index.index_file_size()


class Ours:
    """The walk of longtail through the graph that faiss built."""

    def __init__(self, labels):
        self.index = nearest_over(labels, Search(links=M, width=BUILD_WIDTH))

    def find(self, documents, width):
        return self.index.find(documents, width).labels[:, :K]

    def size(self):
        return self.index.vectors.nbytes + self.index.graph.links.nbytes + self.index.graph.starts.nbytes


class Usearch:
    def __init__(self, labels):
        import usearch.index

        self.index = usearch.index.Index(
            ndim=labels.shape[1], metric="ip", dtype="f32", connectivity=M, expansion_add=BUILD_WIDTH
        )
        self.index.add(np.arange(len(labels)), labels, threads=1)

    def find(self, documents, width):
        self.index.expansion_search = width
        return np.atleast_2d(self.index.search(documents, K, threads=1).keys).astype(np.int64)

    def size(self):
        return len(self.index.save())


LIBRARIES: dict[str, type[Library]] = {"longtail": Ours, "faiss-cpu": Faiss, "hnswlib": Hnswlib, "usearch": Usearch}


def main(n_labels: int = 100_000, dim: int = 300) -> None:
    labels, documents = clustered(n_labels, dim)
    zeros = np.zeros(n_labels, np.float32)
    truth = likeliest(documents, labels, zeros, K)[0]
    exact = latency(lambda document: likeliest(document, labels, zeros, K), documents)
    results: dict[str, Any] = {"labels": n_labels, "dim": dim, "M": M, "efC": BUILD_WIDTH, "comparing all, ms": exact}
    print(results, flush=True)
    for name, library in LIBRARIES.items():
        if name != "longtail" and not installed(name):
            print(f"{name} is not installed: left out")
            continue
        results[name] = measured(library, labels, documents, truth)
        print(name, results[name], flush=True)
    print(save("nearest", results))


def measured(library: type[Library], labels, documents, truth) -> dict[str, Any]:
    started = time.process_time()
    index = library(labels)
    found: dict[str, Any] = {"build s": round(time.process_time() - started, 1), "MB": round(index.size() / 1e6)}
    if not isinstance(index, Ours):
        found["version"] = installed({name: kind for kind, name in LIBRARIES.items()}[library])
    small = labels[:5000]
    found["same again"] = bool(np.array_equal(library(small).find(documents, 200), library(small).find(documents, 200)))
    found["alone as in a batch"] = bool(
        np.array_equal(np.concatenate([index.find(row[None], 200) for row in documents]), index.find(documents, 200))
    )
    for width in WIDTHS:
        near = index.find(documents, width)
        recall = np.mean([len(set(one) & set(other)) / K for one, other in zip(near.tolist(), truth.tolist())])
        ms = latency(lambda document, width=width: index.find(document, width), documents)
        found[f"ef {width}"] = {"recall@100": round(float(recall), 4), "ms": ms}
    return found


def latency(find, documents) -> float:
    """Milliseconds a document, asked one by one: the best of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for row in documents:
            find(row[None])
        rounds.append((time.process_time() - started) / len(documents) * 1000)
    return round(min(rounds), 3)


def clustered(n_labels: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_labels // 100 + 1, dim))
    labels = centres[rng.integers(len(centres), size=n_labels)] + rng.standard_normal((n_labels, dim))
    documents = labels[rng.integers(n_labels, size=DOCUMENTS)] + 0.7 * rng.standard_normal((DOCUMENTS, dim))
    return unit(labels), unit(documents)


def unit(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
