"""Rows of labels that no document taught, from the vectors of the texts that describe them.

    w = w̄ + g · f        f = unit(x̄ without μ) + (ρ / n) · unit(w̃ − w̄)        g such that ⟨w, x̄⟩ + b = T

x̄ is the mean vector of a label's n texts (its own words, then examples), μ that of label texts in general; w̄ and b are
the mean row and the median bias of trained labels: what makes a row say no to most documents.  What x̄ has in the
direction of μ is taken from it, so that documents in general keep the logit that w̄ gives them.  w̃ is the mean row of
the trained labels that score x̄ highest: documents of a label often carry its neighbours too.

T is the logit that trained labels give to their own words, or nearly: a row made of one text agrees with that text more
than with a document that carries the label, for it holds all that is peculiar to the text, so one trained label in five
agrees with its words more.  Of n texts it holds 1/√n, and T falls with n.

Then all logits are flattened and lowered, w ← a·w and b ← a·b − c.  Texts say for which documents a label may be right,
and less surely than training for which it is: trained labels that a document surely carries stay in front, and the new
label stands before those that it hardly carries.
docs/decisions/0017-labels-added-without-training.md has what else was measured.
"""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.features.described import Summary
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import SILENT

NEIGHBOUR_SHARE = 0.5  # ρ
SURER = 0.8  # the share of trained labels that agree less with their own words than a new one does
OF_MANY = 0.5  # how much of T above the usual logit is left of it with very many texts
FLATTER = np.float32(0.5)  # a
LOWERED = np.float32(1.5)  # c; `python -m benchmarks.new_labels --choose` compares values of these


def unseen_rows(trained: LabelRows, texts: Summary, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (labels, dim) and biases (labels,) of new labels; `neighbours` (labels, any) are near ones, or PAD."""
    taught = trained.biases > SILENT
    mean_row = trained.total / max(1, int(taught.sum()))  # rows of removed labels are 0
    bias = np.float32(np.median(trained.biases[taught])) if taught.any() else SILENT
    usual = texts.known.mean(axis=0)
    own = _beside(texts.means, usual)
    share = (NEIGHBOUR_SHARE / texts.counts).astype(np.float32)[:, None]
    toward = _unit(own) + share * _unit(_neighbourhood(trained, neighbours, mean_row))
    # A text without known words, or like texts in general, gets w̄, which says no to all documents.
    tells = np.minimum(_lengths(own), _lengths(texts.means - texts.nothing)) > SMALLEST * _lengths(texts.means)
    agreement = np.where(tells[:, 0], (toward * texts.means).sum(axis=1), 0)
    missing = _wanted(trained, texts, usual @ mean_row + bias) - bias - texts.means @ mean_row
    gains = np.maximum(missing, 0) / np.where(agreement > 0, agreement, np.inf)
    rows = FLATTER * (mean_row + gains[:, None] * toward)
    return rows.astype(np.float32), np.full(len(rows), FLATTER * bias - LOWERED, np.float32)


SMALLEST = 1e-3  # share of x̄ that must be its own


def _wanted(trained: LabelRows, texts: Summary, usual: float) -> np.ndarray:
    """T of each label, (labels,); `usual` is the logit of usual texts."""
    rows, biases = trained.of(texts.known_labels)
    own = ((rows * texts.known).sum(axis=1) + biases)[biases > SILENT]
    surest = max(float(np.quantile(own, SURER)), 0.0) if len(own) else 0.0
    return usual + (surest - usual) * (OF_MANY + (1 - OF_MANY) / np.sqrt(texts.counts))


def _beside(vectors: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """The component of vectors orthogonal to others."""
    return vectors - (vectors @ usual / max(float(usual @ usual), 1e-12))[:, None] * usual


def _neighbourhood(trained: LabelRows, labels: np.ndarray, mean_row: np.ndarray) -> np.ndarray:
    """w̃ − w̄ of each row of labels, (rows, dim); 0 where there are none."""
    inside = (labels != PAD)[:, :, None]
    rows = trained.of(np.maximum(labels, 0).ravel())[0].reshape(*labels.shape, -1)
    rows -= mean_row  # they are a copy, and there are many
    rows *= inside
    return rows.sum(axis=1) / np.maximum(inside.sum(axis=1), 1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = _lengths(vectors)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=1, keepdims=True)
