"""Several corpora as one: a corpus and the documents that came since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Label, LabelSet, Role, Splits, Texts
from longtail.data.labelling import renumbered
from longtail.errors import CorpusError


def join(corpora: Sequence[Splits], name: str) -> Splits:
    """The documents of all corpora, split by split and in their order; labels are matched by id.

    The name and text of a label are those of the first corpus that has them.
    """
    labels: dict[str, Label] = {}
    for splits in corpora:
        for label in splits.train.label_set:
            labels[label.id] = _richer(labels.get(label.id), label)
    places = {id: at for at, id in enumerate(labels)}
    label_set = LabelSet.of(labels.values())
    train, official, test = (
        _joined([part for part in parts if part is not None], label_set, places, name, role)
        for role, parts in _by_role(corpora).items()
    )
    assert train is not None  # every corpus has one
    return Splits(replace(train, official_valid=official), test)


def _by_role(corpora: Sequence[Splits]) -> dict[Role, list[Corpus | None]]:
    return {
        "train": [splits.train for splits in corpora],
        "valid": [splits.train.official_valid for splits in corpora],
        "test": [splits.test for splits in corpora],
    }


def _richer(known: Label | None, label: Label) -> Label:
    """The label that is known, with the name and text of another where it has none of its own."""
    if known is None:
        return label
    named = known.name if known.name != known.id else label.name
    return Label(known.id, named, known.text or label.text)


def _joined(parts: list[Corpus], label_set: LabelSet, places: dict[str, int], name: str, role: Role) -> Corpus | None:
    if not parts:
        return None
    if any(part.documents.texts is None for part in parts):
        raise CorpusError(f"{name}: a corpus has features but no text; only texts can be joined")
    ids = [part.ids for part in parts if part.ids is not None]
    columns = [np.array([places[label.id] for label in part.label_set], np.int64) for part in parts]
    filtered = [
        renumbered(part.filtered, at, len(places)) for part, at in zip(parts, columns) if part.filtered is not None
    ]
    if filtered and len(filtered) < len(parts):
        raise CorpusError(f"{name}: only some of the corpora have pairs that must not count; join them without")
    return Corpus(
        Documents(Texts.of(chain.from_iterable(part.texts for part in parts))),
        sp.csr_array(
            sp.vstack([renumbered(part.labels, at, len(places)) for part, at in zip(parts, columns)], format="csr")
        ),
        label_set,
        name,
        role,
        ids=Texts.of(chain.from_iterable(ids)) if len(ids) == len(parts) else None,
        filtered=sp.csr_array(sp.vstack(filtered, format="csr")) if filtered else None,
    ).fingerprinted()
