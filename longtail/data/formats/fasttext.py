"""fastText's lines: `__label__cooking __label__baking how do I thicken a sauce`."""

from __future__ import annotations

import re
from pathlib import Path

from longtail.corpus import Label, Role
from longtail.data.labelling import Appearing, from_names
from longtail.data.layout import PLAIN_NAMES, Layout, Source, existing
from longtail.data.lines import Block, compression, first_line, lines
from longtail.data.mapped import Draft
from longtail.data.rows import suffix

# As in fastText, every word with the prefix is a label, at any position.
_LABEL = re.compile(r"(?<!\S)__label__(\S*)\s*")


def read(source: Source, draft: Draft) -> None:
    """Read all splits; labels are numbered in order of first appearance, blank lines are skipped."""
    vocabulary = Appearing()
    if len(source.splits) > 1 and suffix(source.splits["train"][0]) == ".train":
        draft.note(f"the splits are {', '.join(path.name for (path,) in source.splits.values())}")
    for role, (path,) in source.splits.items():
        for block in lines(path):
            filled = [at for at, line in enumerate(block.rows) if line and not line.isspace()]
            block = Block(path, [block.numbers[at] for at in filled], [block.rows[at] for at in filled])
            labels = from_names(block, list(map(_LABEL.findall, block.rows)), vocabulary)
            draft.add(role, texts=[_LABEL.sub("", line).strip() for line in block.rows], labels=labels)
    draft.add_labels(Label(name, name) for name in vocabulary)


def find(place: Path) -> Source | None:
    """Files called NAME.train, NAME.valid and NAME.test, by the first or by their directory; or any one of them."""
    if place.is_file():
        known = suffix(place) in ("", ".train", ".valid", ".test", ".ft")
        train = place if known and is_fasttext(first_line(place)) else None
    else:
        named = [path for path in place.iterdir() if path.is_file() and suffix(path) == ".train"]
        train = named[0] if len(named) == 1 and is_fasttext(first_line(named[0])) else None
    if train is None:
        return None
    stem = train.name.removesuffix(compression(train)).removesuffix(".train")
    roles: tuple[Role, ...] = ("valid", "test") if suffix(train) == ".train" else ()
    later = {role: (path,) for role in roles if (path := existing(train.parent, (f"{stem}.{role}",)))}
    return Source({"train": (train,), **later}, None, {})


def is_fasttext(line: str) -> bool:
    """Whether a line has a label."""
    return "__label__" in line


LAYOUT = Layout(
    title="fastText, __label__ before every label",
    parts=(("{}.txt",),),
    read=read,
    splits=PLAIN_NAMES,
    begins=is_fasttext,
    finder=find,
)
