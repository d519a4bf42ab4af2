"""What in a corpus is likely a mistake of its files: blank texts, strange labels, labels that differ in capitals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from longtail.corpus import Role
from longtail.data.lonely import SEPARATORS
from longtail.data.mapped import Draft
from longtail.label_cells import parted


def oddities(draft: Draft, roles: Iterable[Role], described: bool) -> Iterator[str]:
    """The warnings about a corpus; `described`: a file says which labels there are."""
    for role in roles:
        if warning := blank_texts(draft, role):
            yield warning
    if described or not draft.count("train.texts"):
        return
    for role in roles:
        if role != "train" and (warning := strange_labels(draft, role)):
            yield warning
    if warning := capitals(draft):
        yield warning


def blank_texts(draft: Draft, role: Role) -> str:
    """A warning where half of the texts or more have no word."""
    blank, texts = draft.blank[role], draft.count(f"{role}.texts")
    if texts == 0 or 2 * blank < texts:
        return ""
    return f"careful: {blank:,} of {texts:,} texts of {role} are empty; is the text in another column? --text names it"


def strange_labels(draft: Draft, role: Role) -> str:
    """A warning where labels that train has not look like several that it has, as in `herb|summer`."""
    known = np.zeros(draft.n_labels, bool)
    known[draft.written("train.labels.columns")] = True
    new = np.unique(draft.written(f"{role}.labels.columns"))
    new = new[~known[new]]
    if len(new) == 0:
        return ""
    ids = draft.label_ids(draft.n_labels)
    mixed = [ids[at] for at in new if any(separator in ids[at] for separator in SEPARATORS)]
    if 2 * len(mixed) < len(new):
        return ""
    trained = {ids[at] for at in known.nonzero()[0]}
    several = [id for id in mixed if _is_made_of(id, trained)]
    if 2 * len(several) < len(new):
        return ""
    return (
        f"careful: {len(several):,} labels of {role} are not in train, though their parts are, as {several[0]!r:.60}: "
        f"write the same separator in both, for {role} is read as train is"
    )


def _is_made_of(id: str, labels: set[str]) -> bool:
    return any(len(parts) > 1 and labels.issuperset(parts) for parts in (parted(id, by) for by in SEPARATORS))


def capitals(draft: Draft) -> str:
    """A warning where labels differ in capitals alone, with an example."""
    ids = sorted(draft.label_ids(draft.n_labels), key=lambda id: (id.casefold(), id))
    pairs = [(one, two) for one, two in pairwise(ids) if one.casefold() == two.casefold()]
    if not pairs:
        return ""
    one, two = pairs[0]
    return (
        f"labels that differ from another one in capitals alone stay labels of their own: {len(pairs):,}, "
        f"as {one!r:.60} and {two!r:.60}"
    )
