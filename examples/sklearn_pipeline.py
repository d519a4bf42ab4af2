"""Longtail inside scikit-learn: search settings, bring features of your own, cross-validate.

From a dictionary's definition, what kind of thing is it?  Run it from anywhere, it needs no files:

    python examples/sklearn_pipeline.py
"""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import longtail
from longtail.sklearn import ExtremeClassifier

FOLDS = KFold(3, shuffle=True, random_state=0)


def definitions(count: int) -> tuple[list[str], list[list[str]]]:
    """Some definitions of the demo corpus, and for each the names of its labels."""
    corpus = longtail.load("demo").train
    rows = np.random.default_rng(0).choice(len(corpus), count, replace=False)
    sample, names = corpus.subset(rows, "train"), list(corpus.label_set.names)
    each = np.split(sample.labels.indices, sample.labels.indptr[1:-1])
    return list(sample.texts), [[names[label] for label in labels] for labels in each]


def main() -> None:
    texts, labels = definitions(1500)

    # A method's settings are parameters like any other.  nDCG@5 chooses.
    search = GridSearchCV(ExtremeClassifier("linear"), {"cost": [0.3, 1.0]}, cv=FOLDS)
    search.fit(texts, labels)
    print(f"best settings {search.best_params_}, nDCG@5 {search.best_score_:.3f}")

    # Texts are read by the method itself, or become features in a step before it.
    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), ExtremeClassifier("linear"))
    print(f"with word pairs nDCG@5 {cross_val_score(pipeline, texts, labels, cv=FOLDS).mean():.3f}")

    text = "a large wild cat with a striped coat"
    for label, score in zip(*(row[0] for row in search.best_estimator_.predict_topk([text], k=3))):
        print(f"{score:.3f}  {label}")


if __name__ == "__main__":
    main()
