"""Raw texts in, label names out, by one contender in a process of its own: python -m benchmarks.contenders.answering …

    … longtail MODEL          a model directory
    … pecos DIR, omikuji DIR  TF-IDF by scikit-learn and the peer's tree; trained in DIR the first time

DIR holds train.jsonl ({"text", "labels"} a line) and names.json.  The process says "ready" after its first answer.
Then every line of its input is {"texts": […], "cores": n, "alone": bool, "what": …}, answered by the seconds that each
text took, or all of them together, and by the processor seconds of all.  What: "answer"; of `longtail` also "explain",
an explanation of each, and "to_json", the same as a value for programs.  Only `longtail` imports longtail: libpecos has
an environment of its own.
"""

import json
import os
import pickle
import sys
import time
from pathlib import Path

K = 5  # labels that are asked for


def longtail_model(place):
    import longtail

    model = longtail.open(place)

    def answer(texts, cores):
        return [[suggestion.name for suggestion in row] for row in model.predict(texts, k=K)]

    answer.explain = lambda texts, cores: model.explain(texts[0], K)
    answer.to_json = lambda texts, cores: model.explain(texts[0], K).to_json()
    return answer


def pecos_model(place):
    from pecos.xmc.xlinear.model import XLinearModel

    vectorizer, names = prepared(place, "pecos", train_pecos)
    model = XLinearModel.load(str(place / "pecos"), is_predict_only=True)

    def answer(texts, cores):
        scores = model.predict(vectorizer.transform(texts), only_topk=K, threads=cores)
        rows = zip(scores.indptr, scores.indptr[1:])
        return [[names[label] for label in scores.indices[start:stop]] for start, stop in rows]

    return answer


def train_pecos(features, labels, place):
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    tree = Indexer.gen(LabelEmbeddingFactory.create(labels, features, method="pifa"), seed=0)
    XLinearModel.train(features, labels, C=tree).save(str(place))


def omikuji_model(place):
    import omikuji

    vectorizer, names = prepared(place, "omikuji", train_omikuji)
    model = omikuji.Model.load(str(place / "omikuji"))

    def answer(texts, cores):
        rows = vectorizer.transform(texts)
        found = []
        for start, stop in zip(rows.indptr, rows.indptr[1:]):
            pairs = list(zip(rows.indices[start:stop].tolist(), rows.data[start:stop].tolist()))
            found.append([names[label] for label, _ in model.predict(pairs, top_k=K)] if pairs else [])
        return found

    return answer


def train_omikuji(features, labels, place):
    import omikuji

    path = place.with_suffix(".txt")
    with path.open("w") as file:
        rows = [row for row in range(features.shape[0]) if features.indptr[row + 1] > features.indptr[row]]
        file.write(f"{len(rows)} {features.shape[1]} {labels.shape[1]}\n")
        for row in rows:
            ours = slice(features.indptr[row], features.indptr[row + 1])
            pairs = " ".join(f"{f}:{v:.6g}" for f, v in zip(features.indices[ours], features.data[ours]))
            true = labels.indices[labels.indptr[row] : labels.indptr[row + 1]]
            file.write(",".join(map(str, true)) + f" {pairs}\n")
    omikuji.Model.train_on_data(str(path), omikuji.Model.default_hyper_param()).save(str(place))
    path.unlink()


def prepared(place, name, train):
    """The vectoriser and the names of labels; with the model, which is trained the first time."""
    names, kept = json.loads((place / "names.json").read_text("utf-8")), place / f"{name}.vectorizer"
    if not kept.is_file():
        import numpy as np
        import scipy.sparse as sp
        from sklearn.feature_extraction.text import TfidfVectorizer

        with (place / "train.jsonl").open(encoding="utf-8") as file:
            documents = [json.loads(line) for line in file]
        vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
        features = sp.csr_matrix(vectorizer.fit_transform(each["text"] for each in documents))
        features.sort_indices()
        rows = np.repeat(np.arange(len(documents)), [len(each["labels"]) for each in documents])
        columns = [label for each in documents for label in each["labels"]]
        entries = np.ones(len(columns), np.float32), (rows, columns)
        train(features, sp.csr_matrix(entries, shape=(len(documents), len(names))), place / name)
        kept.write_bytes(pickle.dumps(vectorizer))
    return pickle.loads(kept.read_bytes()), names


def timed(answer, texts, cores):
    started = time.perf_counter()
    answer(texts, cores)
    return time.perf_counter() - started


MODELS = {"longtail": longtail_model, "pecos": pecos_model, "omikuji": omikuji_model}

if __name__ == "__main__":
    kind, place = sys.argv[1:]
    answer = MODELS[kind](Path(place))
    answer(["a tool to resize images"], 1)
    print("ready", flush=True)
    everywhere = sorted(os.sched_getaffinity(0))
    for line in sys.stdin:
        asked = json.loads(line)
        os.sched_setaffinity(0, everywhere[: asked["cores"]])
        parts = [[text] for text in asked["texts"]] if asked["alone"] else [asked["texts"]]
        before = time.process_time()
        ask = answer if asked["what"] == "answer" else getattr(answer, asked["what"])
        seconds = [timed(ask, part, asked["cores"]) for part in parts]
        print(json.dumps({"seconds": seconds, "cpu": time.process_time() - before}), flush=True)
