"""The format of LightXML and AttentionXML: a file of texts and a parallel file of labels, matched by line number.

    train_raw_texts.txt (or train_texts.txt)    one text per line
    train_labels.txt                            label names separated by white space

Labels are numbered as in `tables`: in order of first appearance, training first.
"""

from __future__ import annotations

from longtail.corpus import Label
from longtail.data.labelling import Appearing, from_names
from longtail.data.layout import PLAIN_NAMES, Layout, Source
from longtail.data.lines import lines
from longtail.data.mapped import Draft
from longtail.errors import CorpusError


def read(source: Source, draft: Draft) -> None:
    """Read the two files of each split."""
    vocabulary = Appearing()
    for role, (texts, labels) in source.splits.items():
        for block in lines(texts):
            draft.add(role, texts=block.rows)
        for block in lines(labels):
            draft.add(role, labels=from_names(block, list(map(str.split, block.rows)), vocabulary))
        n_texts, n_labels = draft.count(f"{role}.texts"), draft.count(f"{role}.labels")
        if n_texts != n_labels:
            raise CorpusError(
                f"{labels}: {n_labels} lines, but {texts.name} has {n_texts}; they must match line by line"
            )
    draft.add_labels(Label(name, name) for name in vocabulary)


LAYOUT = Layout(
    title="texts and label names on lines of two files (LightXML, AttentionXML)",
    parts=(("{}_raw_texts.txt", "{}_texts.txt"), ("{}_labels.txt",)),
    read=read,
    splits=PLAIN_NAMES,
)
