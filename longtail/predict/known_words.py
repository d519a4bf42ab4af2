"""Whether a model knows the words of the texts it is asked about; in another language it knows next to none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from longtail.corpus import Texts
from longtail.features.grams import Grams, characters_of
from longtail.features.tfidf import Tfidf
from longtail.features.tokens import Words
from longtail.kernels.words import UNKNOWN
from longtail.new_label import NewLabel
from longtail.predict.predictor import Predictor

SAMPLE = 200  # texts that are looked at
HALF = 0.5  # of the words of a text, and of the texts


def foreign(model: Predictor, texts: Texts | None) -> list[str]:
    """A sentence if the model does not know half of the words in most of the texts.

    Models that have no vocabulary of words, as those of a transformer alone, say nothing.
    """
    known = None if texts is None or len(texts) == 0 else known_shares(model, texts[:: max(1, len(texts) // SAMPLE)])
    if known is None or not len(known) or (strange := int((known < HALF).sum())) <= HALF * len(known):
        return []
    return [
        f"the model knows less than half of the words in {strange:,} of {len(known):,} texts "
        f"(on average {known.mean():.0%}), so its answers mean little; is this the language that it was trained in?"
    ]


def undescribed(model: Predictor, labels: Sequence[NewLabel]) -> list[str]:
    """A sentence if the model knows no word of what describes some labels, so that no text can be like them."""
    tfidf = next(vocabularies(model.model), None)
    if tfidf is None or not labels:
        return []
    known = _known(tfidf, Texts.of([" ".join(label.texts()) for label in labels]))
    strange = [label.id for label, row in zip(labels, known) if not row.any()]
    if not strange:
        return []
    return [
        f"the model knows no word of what describes {len(strange):,} of {len(labels):,} labels, as {strange[0]!r:.60}, "
        "so no text can be like them; describe them by words of its training documents, or train again"
    ]


def known_shares(model: Predictor, texts: Texts) -> np.ndarray | None:
    """The share of known words of each text that has words; None where the model has no vocabulary of words.

    Of languages without spaces, single characters are counted.
    """
    tfidf = next(vocabularies(model.model), None)
    if tfidf is None:
        return None
    known = _known(tfidf, texts)
    return np.array([row.mean() for row in known if len(row)])


def _known(tfidf: Tfidf, texts: Texts) -> list[np.ndarray]:
    """Whether each word of each text is known."""
    if isinstance(tfidf.subwords, Grams):
        names = set(tfidf.vocabulary)
        return [np.array([name in names for name in characters_of(text)], bool) for text in texts]
    if tfidf.subwords is None:
        tokens, unknown = Words(term for term in tfidf.vocabulary if " " not in term).encode(texts), UNKNOWN
    else:
        tokens, unknown = tfidf.subwords.encode(texts), tfidf.subwords.names.index("[UNK]")
    return np.split(tokens.ids != unknown, tokens.offsets[1:-1])


def vocabularies(value: Any) -> Iterator[Tfidf]:  # noqa: ANN401 - a model, or any part of one
    """Vocabularies among the parts of a model, those of an ensemble's members too; the first is that of its words."""
    if isinstance(value, Tfidf):
        yield value
    elif isinstance(value, Predictor):
        yield from vocabularies(value.model)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from vocabularies(getattr(value, field.name))
    elif isinstance(value, tuple | list) and value and dataclasses.is_dataclass(value[0]):
        for one in value:
            yield from vocabularies(one)
