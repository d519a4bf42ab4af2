"""fastText's lines: `__label__cooking __label__baking how do I thicken a sauce`."""

from __future__ import annotations

import re

from longtail.corpus import Label
from longtail.data.labelling import from_names, growing_vocabulary
from longtail.data.layout import PLAIN_NAMES, Layout, Source
from longtail.data.lines import Block, lines
from longtail.data.mapped import Draft

# As in fastText, every word with the prefix is a label, at any position.
_LABEL = re.compile(r"(?<!\S)__label__(\S*)\s*")


def read(source: Source, draft: Draft) -> None:
    """Read all splits; labels are numbered in order of first appearance, blank lines are skipped."""
    vocabulary = growing_vocabulary()
    for role, (path,) in source.splits.items():
        for block in lines(path):
            filled = [at for at, line in enumerate(block.rows) if line and not line.isspace()]
            block = Block(path, [block.numbers[at] for at in filled], [block.rows[at] for at in filled])
            labels = from_names(block, list(map(_LABEL.findall, block.rows)), vocabulary)
            draft.add(role, texts=[_LABEL.sub("", line).strip() for line in block.rows], labels=labels)
    draft.add_labels(Label(name, name) for name in vocabulary)


LAYOUT = Layout(
    title="fastText, __label__ before every label",
    parts=(("{}.txt",),),
    read=read,
    splits=PLAIN_NAMES,
    begins=lambda line: "__label__" in line,
)
