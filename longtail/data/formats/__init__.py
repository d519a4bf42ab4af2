"""One module per format, and the table for recognising them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from longtail.columns import UNTOLD, Reading
from longtail.data.formats import fasttext, files, lf_json, sparse, tables, text_lines
from longtail.data.layout import Layout, Source
from longtail.data.rows import ROWS, UNREAD, suffix
from longtail.errors import CorpusError

# Order matters: a directory of texts often holds the same corpus as sparse features too.
LAYOUTS: tuple[Layout, ...] = (
    lf_json.LAYOUT,
    text_lines.LAYOUT,
    tables.LAYOUT,
    sparse.TWO_FILES,
    sparse.ONE_FILE,
    fasttext.LAYOUT,
    files.ANNIF,
    files.FOLDERS,
)


WITH_TABLES = (".xlsx", ".sqlite", ".sqlite3", ".db")


def recognise(path: Path, reading: Reading = UNTOLD) -> tuple[Layout, Source]:
    """Detect the format of a path and its files."""
    if not path.is_file() and not path.is_dir():
        raise CorpusError(f"{path}: no such file or directory")
    for layout in LAYOUTS:
        if source := layout.find(path):
            if reading != UNTOLD and not layout.has_columns:
                raise CorpusError(
                    f"{path}: {', '.join(_option(name) for name in reading.to_json())}: only tables have columns to "
                    f"choose from, and this is {layout.title}"
                )
            return layout, _described(source, reading)
    if (ending := suffix(path)) in UNREAD and path.is_file():
        raise CorpusError(f"{path}: {ending} files are not read; {UNREAD[ending]}")
    raise CorpusError(
        f"{path}: not a corpus in any known format{_tables(path)}. Training documents may be:\n{known_layouts()}"
    )


def _tables(place: Path) -> str:
    """A hint at tables with other names in a directory."""
    files = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
    if there := [name for name in files if suffix(Path(name)) in ROWS]:
        return f"; a single file is one, such as {place / there[0]}"
    other = next((name for name in files if suffix(Path(name)) in UNREAD), None)
    return f"; {other} is not read: {UNREAD[suffix(Path(other))]}" if other else ""


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _described(source: Source, reading: Reading) -> Source:
    """The same files, with the vocabulary that the user named."""
    train = source.splits["train"][0]
    if reading.table is not None and suffix(train) not in WITH_TABLES:
        raise CorpusError(
            f"{train}: --table {reading.table}: only {', '.join(WITH_TABLES)} files have tables with names"
        )
    if reading.language is not None and reading.vocabulary is None and source.labels is None:
        raise CorpusError(f"{train}: --language {reading.language}: there is no vocabulary; --vocabulary names one")
    if reading.vocabulary is None:
        return replace(source, reading=reading)
    vocabulary = Path(reading.vocabulary).expanduser().absolute()
    if not vocabulary.is_file():
        raise CorpusError(f"{vocabulary}: no such file; --vocabulary names one that describes the labels")
    return replace(source, reading=reading, labels=vocabulary, undecided=())


def known_layouts() -> str:
    """One line per format."""
    lines = []
    for layout in LAYOUTS:
        split = next(iter(layout.splits["train"]), "")
        parts = [" or ".join(name.format(split) for name in names) for names in layout.parts]
        needed = [layout.labels[0]] if layout.labels_needed else []
        lines.append(f"  {' + '.join(parts + needed)}: {layout.title}")
    return "\n".join(lines)
