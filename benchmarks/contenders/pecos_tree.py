"""PECOS XR-Linear with features given, in its own environment: python -m benchmarks.contenders.pecos_tree DIR

DIR holds trn_X.npz, trn_Y.npz and tst_X.npz.  Trains with default settings unless DIR/pecos is there, writes the tree's
own weights to DIR/tree.npz, and says "ready".  Then every line of its input is {"layout", "first", "last", "alone"}:
test documents are answered one at a time or together, on one thread, and the line of the answer has the seconds and
processor seconds of each (or of all); with "file", labels and scores are written there.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

from benchmarks.contenders import load, place

K, BEAM = 10, 10
LAYOUTS = ("BINARY_SEARCH_CHUNKED", "HASH_CHUNKED", "CSC")  # of PECOS: two of siblings in chunks (MSCM), and without


def train():
    features, labels = load("trn_X"), load("trn_Y")
    tree = Indexer.gen(LabelEmbeddingFactory.create(labels, features, method="pifa"), threads=1, seed=0)
    XLinearModel.train(features, labels, C=tree, threads=1).save(str(place() / "pecos"))


def write_tree():
    """Of every level the weights (features and bias, nodes) and the parent of each node (nodes, parents)."""
    chain = XLinearModel.load(str(place() / "pecos")).model.model_chain
    arrays = {}
    for at, level in enumerate(chain):
        for name, matrix in (("W", sp.csr_matrix(level.W)), ("C", sp.csc_matrix(level.C))):
            matrix.sort_indices()
            parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
            arrays |= {f"{name}{at}.{part}": value for part, value in parts.items()}
        arrays[f"bias{at}"] = level.bias
    np.savez(place() / "tree.npz", levels=len(chain), **arrays)


def answer(model, rows, alone):
    """The answers, and the seconds and processor seconds of each or of all."""
    asked = [rows[at] for at in range(rows.shape[0])] if alone else [rows]
    found, seconds = [], []
    for one in asked:
        started, cpu = time.perf_counter(), time.process_time()
        found.append(model.predict(one, beam_size=BEAM, only_topk=K, threads=1))
        seconds.append((time.perf_counter() - started, time.process_time() - cpu))
    return sp.vstack(found, format="csr"), seconds


def write_answers(scores, path):
    labels, values = np.full((scores.shape[0], K), -1, np.int32), np.zeros((scores.shape[0], K), np.float32)
    for row in range(scores.shape[0]):
        at = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.lexsort((scores.indices[at], -scores.data[at]))
        labels[row, : len(order)], values[row, : len(order)] = scores.indices[at][order], scores.data[at][order]
    np.savez(path, labels=labels, scores=values)


def main():
    if not (place() / "pecos").is_dir():
        train()
    if not (place() / "tree.npz").is_file():
        write_tree()
    test = load("tst_X")
    models = {
        layout: XLinearModel.load(str(place() / "pecos"), is_predict_only=True, weight_matrix_type=layout)
        for layout in LAYOUTS
    }
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        rows = test[asked["first"] : asked["last"]]
        scores, seconds = answer(models[asked["layout"]], rows, asked["alone"])
        if "file" in asked:
            write_answers(scores, asked["file"])
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
