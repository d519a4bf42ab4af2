"""Divide a corpus into train, test and validation splits without duplicate texts across splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Splits, Texts
from longtail.data.describe import content_hashes
from longtail.errors import ConfigError, CorpusError


def divide(splits: Splits, test: float, valid: float = 0.0, *, seed: int = 0, anew: bool = False) -> Splits:
    """Sample a test split, and optionally a validation split, from train; sizes are shares of its documents.

    Documents with the same text stay together, so that no test document is in train.  Documents keep their order and
    the label set is unchanged.  An existing split is an error; with `anew`, the documents of all splits are merged
    first.
    """
    if not (0 < test < 1 and 0 <= valid < 1 and test + valid < 1):
        raise ConfigError(f"test = {test:g}, valid = {valid:g}: write shares, 0.1 for a tenth, below 1 together")
    splits = Splits(_together(splits)) if anew else splits
    _refuse_existing(splits, valid)
    train, official = splits.train, splits.train.official_valid
    groups, sizes = _groups(train, official)
    side = _draw(sizes, [_room(share, len(train)) for share in (test, valid)], seed)[groups]
    learn, judge, choose = (np.flatnonzero(side == at) for at in range(3))
    if len(learn) == 0 or len(judge) == 0 or (valid and len(choose) == 0):
        raise CorpusError(f"{train.name}: {np.count_nonzero(sizes):,} different documents are too few to be divided so")
    held = train.subset(choose, "valid") if valid else official
    return Splits(replace(train.subset(learn, "train"), official_valid=held), train.subset(judge, "test"))


def _refuse_existing(splits: Splits, valid: float) -> None:
    asked = {"test": splits.test, "validation": splits.train.official_valid if valid else None}
    there = [name for name, corpus in asked.items() if corpus is not None]
    if there:
        raise CorpusError(
            f"{splits.train.name} has a {' and a '.join(there)} split already; with --anew the documents of all its "
            "splits are put together and divided anew"
        )


def _groups(train: Corpus, official: Corpus | None) -> tuple[np.ndarray, np.ndarray]:
    """The group of every document, equal for equal documents, and the size of each group.

    Documents that are also in the validation split must stay in train: they form group 0, with size 0.
    """
    hashes = content_hashes(train.documents)
    groups = 1 + np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    if official is not None:
        groups[np.isin(hashes, content_hashes(official.documents))] = 0
    sizes = np.bincount(groups)
    sizes[0] = 0
    return groups, sizes


def _room(share: float, documents: int) -> int:
    return max(1, round(share * documents)) if share else 0


def _draw(sizes: np.ndarray, rooms: Sequence[int], seed: int) -> np.ndarray:
    """The split of each group: 0 for train, 1 for the first of `rooms`, 2 for the second.

    Groups are assigned in random order; one that does not fit into the remaining room is skipped.
    """
    side = np.zeros(len(sizes), np.int64)
    waiting = np.random.default_rng(seed).permutation(len(sizes)).tolist()
    for at, room in enumerate(rooms, 1):
        for group in waiting:
            if room and side[group] == 0 and 0 < sizes[group] <= room:
                side[group], room = at, room - int(sizes[group])
    return side


def _together(splits: Splits) -> Corpus:
    """Merge the documents of all splits into one corpus."""
    parts = [part for part in (splits.train, splits.train.official_valid, splits.test) if part is not None]
    if any(part.documents.texts is None for part in parts):
        raise CorpusError(f"{splits.train.name} has features but no text; only texts can be put together")
    ids = [part.ids for part in parts if part.ids is not None]
    none = [sp.csr_array(part.labels.shape, dtype=np.float32) for part in parts]
    filtered = [empty if part.filtered is None else part.filtered for part, empty in zip(parts, none)]
    return Corpus(
        Documents(Texts.of(chain.from_iterable(part.texts for part in parts))),
        sp.csr_array(sp.vstack([part.labels for part in parts], format="csr")),
        splits.train.label_set,
        splits.train.name,
        ids=Texts.of(chain.from_iterable(ids)) if len(ids) == len(parts) else None,
        filtered=sp.csr_array(sp.vstack(filtered, format="csr")) if any(each.nnz for each in filtered) else None,
    ).fingerprinted()
