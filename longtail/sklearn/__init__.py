"""Longtail as a scikit-learn estimator: predictions have the form of the labels in `fit`.

    y in fit                                    predict                          score
    label lists, [["cat", "pet"], ["dog"]]      label lists, best label first    nDCG@k
    a 0/1 matrix, dense or sparse               a 0/1 matrix of the same kind    nDCG@k
    one class per document, ["cat", "dog"]      one class per document           accuracy

A row of strings is a label list, a row of numbers is a row of a matrix, as everywhere in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD, VALID_DOCUMENTS, Corpus, Documents, LabelSet
from longtail.errors import CorpusError, MissingExtraError, RunError
from longtail.judge import calibration
from longtail.judge.metrics import evaluate_ranking
from longtail.judge.validation import calibrate
from longtail.predict.fit import fit as train
from longtail.predict.predictor import AUTO, Predictor
from longtail.ranking import Ranking, check_k, check_threshold

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags, check_consistent_length
    from sklearn.utils.validation import check_is_fitted, validate_data

    from longtail.sklearn.targets import ArrayLike, Classes, iterable, target_of
except ImportError:
    raise MissingExtraError("longtail.sklearn", "sklearn") from None


MOST_CELLS = 100_000_000  # of predict_proba's dense result: about 2 GB including the ranking


AUTO_TARGETS = {AUTO: "f1"}


class ExtremeClassifier(ClassifierMixin, BaseEstimator):
    """Any method of Longtail as a scikit-learn classifier.

    `predict` returns at most the `k` best labels of a document that score at least `threshold`.  Its default is near
    the best F1 of `linear` on corpora we measured; with thousands of labels 0.5 is too strict.  It is better to choose
    it on held-out documents: "auto" or "f1" for the best F1, "precision=0.9" or "recall=0.8" for the best recall or
    precision at that value.  Then a tenth of the documents is held out of training to calibrate the scores and choose
    the threshold (`threshold_`).

    `run` is a directory from which a killed training is resumed; omit it in cross-validation, where every fold is a
    separate training.  `settings` are those of the method (see `longtail methods METHOD`), set, cloned and searched
    like any other parameter.

    X is texts, or a numeric matrix of features, dense or sparse.  `fit` sets `classes_`, `predictor_` (the
    `longtail.Predictor`, which can be saved and has the label names) and, for features, `n_features_in_`.

    >>> texts = ["a cat that purrs", "a dog that barks", "a purring cat at home", "a barking dog at home"]
    >>> tags = [["cat"], ["dog"], ["cat", "home"], ["dog", "home"]]
    >>> tagger = ExtremeClassifier("centroid", k=2, threshold=0.3).fit(texts, tags)
    >>> tagger.predict(["the cat purrs", "dog"])
    [['cat'], ['dog']]
    >>> labels, scores = tagger.predict_topk(["the cat purrs", "dog"], k=2)
    >>> labels[:, 0].tolist(), scores.shape
    (['cat', 'dog'], (2, 2))
    """

    def __init__(
        self,
        method: str = "linear",
        *,
        k: int = 5,
        threshold: float | str = 0.1,
        run: str | Path | None = None,
        seed: int = 0,
        **settings: Any,  # noqa: ANN401 - checked by the method's Config in fit
    ):
        self.method, self.k, self.threshold, self.run, self.seed = method, k, threshold, run, seed
        self._settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, including the settings of the method."""
        return super().get_params(deep) | self._settings

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - scikit-learn's signature
        """Change parameters; unknown names are settings of the method, checked in `fit`."""
        ours = params.keys() & super().get_params(deep=False).keys()
        super().set_params(**{name: params[name] for name in ours})
        self._settings = self._settings | {name: value for name, value in params.items() if name not in ours}
        return self

    def __sklearn_tags__(self) -> Tags:
        # Not `string`: in scikit-learn that means 2-d arrays of strings; our texts are one-dimensional.
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the method on documents and their labels."""
        self._check_params()
        documents = self._documents(X, reset=True)
        target = target_of(y)
        check_pairs(X, y)
        label_set = LabelSet.of(str(label) for label in target.classes)
        corpus = Corpus(documents, target.matrix(y), label_set, name="X").fingerprinted()
        if isinstance(self.threshold, str) and not isinstance(target, Classes):
            self.predictor_, self.threshold_ = self._chosen(corpus, self.threshold)
        else:  # one class per document: the best, regardless of threshold
            self.predictor_ = self._trained(corpus)
            self.threshold_ = 0.0 if isinstance(self.threshold, str) else float(self.threshold)
        self.classes_, self._target = target.classes, target
        return self

    def _trained(self, corpus: Corpus) -> Predictor:
        return train(self.method, corpus, self.run, seed=self.seed, **self._settings)

    def _chosen(self, corpus: Corpus, target: str) -> tuple[Predictor, float]:
        """A model trained on most documents, and the best threshold for the target on the others."""
        learning, held = corpus.hold_out(VALID_DOCUMENTS, self.seed)
        if held.labels.nnz == 0:
            raise CorpusError(
                f"threshold = {target!r}: a tenth of the documents is held out to choose it by, and among "
                f"{len(corpus)} there are too few with labels; give a number, or more documents"
            )
        calibrated = calibrate(self._trained(learning), held, threshold=AUTO_TARGETS.get(target, target), k=self.k)
        return calibrated.model, calibrated.model.threshold().value

    def predict(self, X: ArrayLike) -> ArrayLike:
        """The labels of each document, in the form `y` had."""
        ranking = self._rank(self._asked(X), self.k)
        return self._target.answer(ranking, self._lowest)

    def predict_topk(self, X: ArrayLike, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The k best labels of each document and their scores, (documents, k) each, best first.

        The width is k, limited to the number of labels or 1,000, whichever is more.  Where a document has fewer than k
        candidates the label is None (-1 if y was a matrix) and the score 0.
        """
        ranking = self._rank(self._asked(X), self.k if k is None else k)
        return self._target.named(ranking.labels), ranking.scores

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The score of every label, (documents, labels); with one class per document, scores sum to 1.

        Labels that are not candidates score 0.  The array is dense, as scikit-learn expects; too large ones raise.
        """
        documents = self._asked(X)
        n_labels = len(self.classes_)
        if len(documents) * n_labels > MOST_CELLS:
            raise RunError(
                f"predict_proba would fill {len(documents):,} x {n_labels:,} cells; ask predict_topk for the best "
                f"labels, or for {MOST_CELLS // n_labels:,} documents at once"
            )
        ranking = self._rank(documents, n_labels)
        return shares(ranking, n_labels) if self._one_class else dense(ranking, n_labels)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy with one class per document, else nDCG@k of the k best labels, regardless of threshold.

        Between 0 and 1.  A label unseen in training counts as missed, a document without labels as 0.
        """
        check_is_fitted(self)
        if self._one_class:
            return super().score(X, y)
        check_pairs(X, y)
        ranking, truth = self._rank(self._asked(X), self.k), self._target.matrix(y)
        return evaluate_ranking(ranking, truth, ks=[self.k]).metrics[f"nDCG@{self.k}"] / 100

    @property
    def _lowest(self) -> float:
        """The threshold in effect: a number may be changed after `fit`, a chosen one is fixed."""
        return self.threshold_ if isinstance(self.threshold, str) else self.threshold

    @property
    def _one_class(self) -> bool:
        return isinstance(self._target, Classes)

    def _rank(self, documents: Documents, k: int) -> Ranking:
        ranking = self.predictor_.rank(documents, k)
        return with_a_class(ranking, self.predictor_.counts) if self._one_class else ranking

    def _asked(self, X: ArrayLike) -> Documents:
        check_is_fitted(self)
        return self._documents(X, reset=False)

    def _documents(self, X: ArrayLike, *, reset: bool) -> Documents:
        if reset:  # set by an earlier fit
            for stale in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
                delattr(self, stale)
        texts = texts_of(X)
        if not reset and (texts is None) != hasattr(self, "n_features_in_"):
            learned = "texts" if texts is None else "a matrix of features"
            raise CorpusError(f"this model learned from {learned}, and X is something else")
        if texts is not None:
            return Documents.of(texts)
        features = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)
        return Documents(features=sp.csr_array(features))

    def _check_params(self) -> None:
        check_k(self.k)
        if isinstance(self.threshold, str):
            calibration.Target.of(AUTO_TARGETS.get(self.threshold, self.threshold))
        else:
            check_threshold(self.threshold)


# -- forms of X -----------------------------------------------------------------------------------------------------


def _only_column(X: ArrayLike) -> ArrayLike:
    """The column of a data frame or an array that has one, where it holds texts; anything else as it is."""
    if sp.issparse(X) or getattr(X, "shape", ())[1:] != (1,):
        return X
    cells = np.asarray(X)[:, 0]
    return cells if any(isinstance(cell, str) for cell in cells) else X


def texts_of(X: ArrayLike) -> Iterable[str] | None:
    """X if it consists of texts, else None."""
    if isinstance(X, str):
        raise CorpusError("X is one text; put it in a list: [text]")
    X = _only_column(X)
    _refuse_columns_of_texts(X)
    if not iterable(X) or getattr(X, "ndim", 1) != 1:
        return None
    odd = next((row for row, item in enumerate(X) if not isinstance(item, str)), None)
    if odd is None:
        return X
    if any(isinstance(item, str) for item in X):
        raise CorpusError(f"row {odd} of X is no text, others are; give every document a text, be it an empty one")
    if any(item is None or isinstance(item, bytes) for item in X):
        raise CorpusError(f"row {odd} of X is no text; a text is a string, and bytes become one by .decode()")
    return None


def _refuse_columns_of_texts(X: ArrayLike) -> None:
    """Raise if several columns hold texts, which scikit-learn would read as numbers."""
    if sp.issparse(X) or len(getattr(X, "shape", ())) != 2 or not hasattr(X, "columns"):
        return
    named = [name for name in X.columns if any(isinstance(cell, str) for cell in X[name][:1])]
    if named:
        raise CorpusError(f"X has {X.shape[1]} columns, and {named[0]!r} holds texts; pass one column: X[{named[0]!r}]")


def check_pairs(X: ArrayLike, y: ArrayLike) -> None:
    """Raise unless X and y have the same length."""
    try:
        check_consistent_length(X, y)
    except ValueError as error:
        raise LengthsError(f"X and y differ in length; give every document its labels ({error})") from error


class LengthsError(CorpusError, ValueError):
    """Also a ValueError, as scikit-learn requires."""


# -- rankings in scikit-learn's forms ------------------------------------------------------------------------------


def with_a_class(ranking: Ranking, counts: np.ndarray) -> Ranking:
    """Fill rows without labels with the most frequent label, so that every document has a class."""
    labels = ranking.labels.copy()
    labels[labels[:, 0] == PAD, 0] = counts.argmax()
    return Ranking(labels, ranking.scores)


def dense(ranking: Ranking, n_labels: int) -> np.ndarray:
    """The score of every label, 0 for those not ranked."""
    cells = np.zeros((len(ranking), n_labels + 1))
    np.put_along_axis(cells, ranking.labels, ranking.scores, axis=1)
    return cells[:, :n_labels]  # PAD (-1) went to the last, extra column


def shares(ranking: Ranking, n_labels: int) -> np.ndarray:
    """Scores normalised to sum 1 per document; uniform over the ranked labels if all are 0."""
    scores = np.where(ranking.scores[:, :1] == 0, np.float32(1), ranking.scores)
    cells = dense(Ranking(ranking.labels, scores), n_labels)
    cells /= cells.sum(axis=1, keepdims=True)
    return cells
