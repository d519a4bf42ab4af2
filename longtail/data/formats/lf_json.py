"""The XMC repository's corpora with label text ("LF"): `trn.json`, `tst.json`, `val.json`, `lbl.json`.

One JSON object per line.  Documents: `uid`, `title`, `content`, `target_ind` (label indices from 0); labels: `uid`,
`title`, `content`, label *i* on line *i*.  Other fields are ignored.  A document's text is its title, a newline and
its content, so that the title can be recovered when writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longtail.corpus import Label
from longtail.data.labelling import distinct, from_indices
from longtail.data.layout import SHORT_NAMES, Layout, Source
from longtail.data.lines import Block
from longtail.data.mapped import Draft
from longtail.data.rows import Fields, json_rows, require, strings


def read(source: Source, draft: Draft) -> None:
    """Read labels first: their number bounds the label indices."""
    assert source.labels is not None
    draft.add_labels(distinct(labels(source.labels), seen={}))
    for role, (path,) in source.splits.items():
        for block in json_rows(path):
            require(block, _TEXT)
            require(block, _TARGETS)
            texts = [joined(*both) for both in zip(strings(block, "title"), strings(block, "content"))]
            targets = from_indices(block, [row["target_ind"] for row in block.rows], draft.n_labels)
            draft.add(role, ids=strings(block, "uid"), texts=texts, labels=targets)


def labels(path: Path) -> Iterator[tuple[Block[Fields], list[Label]]]:
    """The labels of each block; a missing uid defaults to the index."""
    index = 0
    for block in json_rows(path):
        require(block, _LABEL)
        ids = [uid or str(at) for at, uid in enumerate(strings(block, "uid"), index)]
        yield block, list(map(Label, ids, strings(block, "title"), strings(block, "content")))
        index += len(ids)


def joined(title: str, content: str) -> str:
    """Title and content as one text; `split` undoes this at the first newline."""
    title = title.replace("\n", " ")
    return f"{title}\n{content}" if title and content else title or content


def split(text: str) -> tuple[str, str]:
    """The title and content from which `joined` makes this text."""
    title, newline, content = text.partition("\n")
    # With an empty title or content, a newline at either end of the text would be lost.
    return ("", text) if newline and not (title and content) else (title, content)


_TEXT = frozenset({"title", "content"})
_TARGETS = frozenset({"target_ind"})
_LABEL = frozenset({"uid", "title"})

LAYOUT = Layout(
    title="XMC repository with label text, one JSON object a line",
    parts=(("{}.json",),),
    read=read,
    splits=SHORT_NAMES,
    labels=("lbl.json",),
    labels_needed=True,
)
