"""Stages of LightDXML before and after training: label texts as documents, and the choice of β.  No torch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.encoders.encoder import vectors_of
from longtail.judge.frequencies import Frequencies
from longtail.methods.lightdxml.model import LightDXML
from longtail.methods.lightdxml.settings import Config
from longtail.methods.shared.choice import choose
from longtail.methods.shared.preparation import with_label_texts
from longtail.sparse import sp

if TYPE_CHECKING:
    from longtail.train.run import Run


def with_labels_as_documents(corpus: Corpus, wanted: bool) -> Corpus:
    """The corpus with each label's text as an additional document of that label."""
    if not wanted or corpus.documents.texts is None:
        return corpus
    own = sp.eye_array(corpus.n_labels, dtype=corpus.labels.dtype, format="csr")
    labels = sp.csr_array(sp.vstack([corpus.labels, own]))
    return Corpus(with_label_texts(corpus.documents, corpus.label_set), labels, corpus.label_set, corpus.name)


# -- step 6: choice of β -----------------------------------------------------------------------------------------------

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def choose_beta(model: LightDXML, train: Corpus, valid: Corpus, config: Config, run: Run) -> float:
    """The best β on the held-out documents."""
    x = vectors_of(model.encoder, valid.documents)
    shortlist = model.nearest.find(x, model.shortlist)
    chosen = choose(
        GRID, lambda beta, k: replace(model.fusion, beta=beta).rank(x, shortlist, k), valid,
        train=Frequencies.of(train.labels),
        hidden=own_labels(valid.documents, valid.label_set, config.label_text != "none"),
    )  # fmt: skip
    for beta, metrics in chosen.judged.items():
        run.log("beta", beta=beta, **metrics)
    run.validation = chosen.judged[chosen.value]
    return chosen.value


def own_labels(documents: Documents, label_set: LabelSet, read: bool) -> sp.csr_array | None:
    """Pairs of documents and labels with identical texts, which the model was trained on."""
    if not read or documents.texts is None:
        return None
    label_of = {text: label for label, text in enumerate(label_set.words())}
    found = [label_of.get(text) for text in documents.texts]
    rows = [row for row, label in enumerate(found) if label is not None]
    columns = [label for label in found if label is not None]
    entries = np.ones(len(rows), np.float32), (rows, columns)
    return sp.csr_array(entries, shape=(len(found), len(label_set)))
