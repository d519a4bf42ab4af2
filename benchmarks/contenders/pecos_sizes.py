"""PECOS XR-Linear at one number of labels, in its own environment: python -m benchmarks.contenders.pecos_sizes DIR WHAT

DIR holds features.npz, labels.npz and queries.npz.  `train` trains with default settings, saves the model to DIR/pecos
and prints what that took; `measure` opens it and prints time to open, memory, and the time of one query on one core,
from features to labels (reading the text is not in it).  Both print JSON.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

K = 10


def train(place):
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    features, labels = (sp.csr_matrix(sp.load_npz(place / name)) for name in ("features.npz", "labels.npz"))
    features.sort_indices()
    started = time.process_time()
    tree = Indexer.gen(LabelEmbeddingFactory.create(labels, features, method="pifa"), seed=0)
    XLinearModel.train(features, labels, C=tree).save(str(place / "pecos"))
    return time.process_time() - started


def measured(place):
    from pecos.xmc.xlinear.model import XLinearModel

    queries = sp.csr_matrix(sp.load_npz(place / "queries.npz"))
    queries.sort_indices()
    before, started = anonymous(), time.perf_counter()
    model = XLinearModel.load(str(place / "pecos"), is_predict_only=True)
    opened = time.perf_counter() - started
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    times = np.array([timed(model, queries[at]) for at in range(queries.shape[0])])[20:]
    memory = (anonymous() - before) / 1e6
    of_query = {
        f"features to ranking, p{share} {kind} ms": round(1000 * float(np.percentile(times[:, at], share)), 3)
        for share in (50, 99)
        for at, kind in enumerate(("wall", "CPU"))
    }
    return {"open s": round(opened, 3), "MB after opening": round(memory, 1)} | of_query


def timed(model, row):
    wall, cpu = time.perf_counter(), time.process_time()
    model.predict(row, only_topk=K, threads=1)
    return time.perf_counter() - wall, time.process_time() - cpu


def anonymous():
    """Bytes of memory that are not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


if __name__ == "__main__":
    place, what = Path(sys.argv[1]), sys.argv[2]
    if what == "measure":
        print(json.dumps(measured(place)))
    else:
        started, spent = time.perf_counter(), train(place)
        size = sum(path.stat().st_size for path in (place / "pecos").rglob("*") if path.is_file())
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        about = {"train CPU s": round(spent, 1), "train s": round(time.perf_counter() - started, 1)}
        print(json.dumps(about | {"train MB": round(largest), "directory MB": round(size / 1e6, 1)}))
