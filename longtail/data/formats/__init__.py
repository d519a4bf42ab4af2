"""One module per format, and the table for recognising them."""

from __future__ import annotations

from pathlib import Path

from longtail.data.formats import fasttext, lf_json, sparse, tables, text_lines
from longtail.data.layout import Layout, Source
from longtail.errors import CorpusError

# Order matters: a directory of texts often holds the same corpus as sparse features too.
LAYOUTS: tuple[Layout, ...] = (
    lf_json.LAYOUT,
    text_lines.LAYOUT,
    tables.LAYOUT,
    sparse.TWO_FILES,
    sparse.ONE_FILE,
    fasttext.LAYOUT,
)


def recognise(path: Path) -> tuple[Layout, Source]:
    """Detect the format of a path and its files."""
    if path.is_file():
        for layout in LAYOUTS:
            if layout.is_file(path):
                return layout, Source({"train": (path,)}, None, {})
    elif path.is_dir():
        for layout in LAYOUTS:
            if source := layout.find(path):
                return layout, source
    else:
        raise CorpusError(f"{path}: no such file or directory")
    raise CorpusError(f"{path}: not a corpus in any known format. Training documents may be:\n{known_layouts()}")


def known_layouts() -> str:
    """One line per format."""
    lines = []
    for layout in LAYOUTS:
        parts = [" or ".join(name.format(layout.splits["train"][0]) for name in names) for names in layout.parts]
        needed = [layout.labels[0]] if layout.labels_needed else []
        lines.append(f"  {' + '.join(parts + needed)}: {layout.title}")
    return "\n".join(lines)
