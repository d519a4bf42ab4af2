"""One file a document: a folder for each label, or Annif's directories with a file of subjects beside each text.

    sport/1.txt, politics/2.txt …          the names of the folders are the labels
    a.txt + a.tsv, b.txt + b.key …         lines of `<uri>`, of `<uri>`, a tab and a name, or of names
    a.json, b.json …                       text and subjects, as in Annif's JSON lines

Either may lie in folders train, valid and test.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from longtail.columns import listed
from longtail.corpus import Role
from longtail.data.formats.tables import add_new_labels
from longtail.data.labelling import Appearing, Vocabulary, from_names
from longtail.data.layout import PLAIN_NAMES, Layout, Source, existing, only_vocabulary
from longtail.data.lines import LONGEST_LINE, Block
from longtail.data.mapped import Draft
from longtail.data.vocabulary import NAMES, read_labels
from longtail.errors import CorpusError
from longtail.label_cells import LabelCells
from longtail.progress import counting

Document = tuple[str, list[str]]  # a text and its labels
Folders = dict[Role, tuple[Path, ...]]
FILES_A_BLOCK = 256
SUBJECTS = (".tsv", ".key")
_SUBJECT = re.compile(r"\s*<([^<>\s]+)>")


def _read(source: Source, draft: Draft, document: Callable[[Path, LabelCells, Draft], Document]) -> None:
    vocabulary: Vocabulary = Appearing()
    if source.labels is not None:
        vocabulary = read_labels(source.labels, source.reading.language, draft)
    cells = LabelCells()
    with counting(len(source.among), "reading documents") as done:
        for role, (place,) in source.splits.items():
            paths = (path for path in source.among if path.is_relative_to(place) and path.suffix not in SUBJECTS)
            while part := list(islice(paths, FILES_A_BLOCK)):
                found = [document(path, cells, draft) for path in part]
                block = Block(place, range(1, len(part) + 1), found)
                labels = from_names(block, [names for _, names in found], vocabulary)
                ids = [str(path.relative_to(place)) for path in part]
                draft.add(role, ids=ids, texts=[text for text, _ in found], labels=labels)
                done(len(part))
    add_new_labels(vocabulary, cells.names, draft)


def _text(path: Path, draft: Draft) -> str:
    """Read a whole file."""
    try:
        if path.stat().st_size > LONGEST_LINE:
            raise CorpusError(f"{path}: longer than {LONGEST_LINE >> 20} MB, the most a document may hold; cut it")
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").strip()
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        draft.note(f"{path.parent.name}/{path.name}, and perhaps other files, are not UTF-8 and were read as cp1252")
        return data.decode("cp1252", "replace").strip()


def _splits(place: Path, files_of: Callable[[Path], list[Path]]) -> tuple[Folders, list[Path]]:
    """The folders of the splits and all their files; the directory itself where it has no such folders."""
    folders = {role: _folder(place, names) for role, names in PLAIN_NAMES.items()}
    if folders["train"] is None:
        found = files_of(place)
        return ({"train": (place,)} if found else {}), found
    splits: Folders = {role: (folder,) for role, folder in folders.items() if folder and files_of(folder)}
    return splits, [path for (folder,) in splits.values() for path in files_of(folder)]


def _folder(place: Path, names: tuple[str, ...]) -> Path | None:
    return next((place / name for name in names if (place / name).is_dir()), None)


def _found(place: Path, files_of: Callable[[Path], list[Path]]) -> Source | None:
    if not place.is_dir():
        return None
    splits, files = _splits(place, files_of)
    if "train" not in splits:
        return None
    labels = existing(place, NAMES)
    only, undecided = (labels, ()) if labels else only_vocabulary(place)
    return Source(splits, only, {}, among=tuple(files), undecided=undecided)


# -- a folder for each label ----------------------------------------------------------------------------------------


def find_folders(place: Path) -> Source | None:
    """A directory whose folders hold text files and nothing else."""
    return _found(place, _foldered)


def _foldered(place: Path) -> list[Path]:
    folders = [path for path in sorted(place.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    files = [path for folder in folders for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    is_text = all(path.is_file() and (path.suffix.lower() in ("", ".txt") or path.name.isdigit()) for path in files)
    return files if len(folders) > 1 and is_text else []


def read_folders(source: Source, draft: Draft) -> None:
    """Every file is a document, and the name of its folder is its label."""
    names = sorted({path.parent.name for path in source.among})
    draft.note(f"every file is a document, and the {len(names):,} folders are the labels: {listed(names, 5)}")
    _read(source, draft, lambda path, cells, draft: (_text(path, draft), [path.parent.name]))


# -- Annif's directories --------------------------------------------------------------------------------------------


def find_annif(place: Path) -> Source | None:
    """A directory of texts with files of subjects beside them, or of JSON files that hold both."""
    return _found(place, _paired)


def _paired(place: Path) -> list[Path]:
    there = [path for path in sorted(place.iterdir()) if path.is_file() and not path.name.startswith(".")]
    stems = {path.stem for path in there if path.suffix in SUBJECTS}
    texts = [path for path in there if path.suffix == ".txt"]
    if any(path.stem in stems for path in texts):
        return [path for path in there if path in set(texts) or (path.suffix in SUBJECTS and _text_of(path).is_file())]
    jsons = [path for path in there if path.suffix == ".json"]
    return jsons if jsons and len(jsons) == len(there) and _is_document(jsons[0]) else []


def _text_of(subjects: Path) -> Path:
    return subjects.with_suffix(".txt")


def _is_document(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"text", "subjects"} <= set(found)


def read_annif(source: Source, draft: Draft) -> None:
    """Every text with its subjects; one without a file of subjects has none."""
    texts = [path for path in source.among if path.suffix == ".txt"]
    bare = [path for path in texts if not any(path.with_suffix(ending).is_file() for ending in SUBJECTS)]
    if bare:
        draft.note(f"texts without a file of subjects beside them have no labels: {len(bare):,}, as {bare[0].name}")
    _read(source, draft, _annif_document)


def _annif_document(path: Path, cells: LabelCells, draft: Draft) -> Document:
    if path.suffix == ".json":
        return _json_document(path, cells, draft)
    subjects = next((file for ending in SUBJECTS if (file := path.with_suffix(ending)).is_file()), None)
    lines = _text(subjects, draft).splitlines() if subjects else []
    return _text(path, draft), [_subject(line, cells) for line in lines if line.strip()]


def _subject(line: str, cells: LabelCells) -> str:
    """A URI with or without a name behind it, or a name."""
    uri = _SUBJECT.match(line)
    if uri is None:
        return line.strip()
    if name := line[uri.end() :].strip():
        cells.names.setdefault(uri[1], name.partition("\t")[0])
    return uri[1]


def _json_document(path: Path, cells: LabelCells, draft: Draft) -> Document:
    try:
        found = json.loads(_text(path, draft))
        return str(found.get("text") or ""), cells(found.get("subjects") or [])
    except (ValueError, AttributeError, RecursionError) as error:
        raise CorpusError(f"{path}: expected one JSON object with text and subjects ({error})") from None


FOLDERS = Layout(
    title="a folder for each label, with one text file a document",
    parts=(("LABEL/DOCUMENT.txt",),),
    read=read_folders,
    splits={"train": (), "valid": (), "test": ()},
    finder=find_folders,
    has_columns=True,
)
ANNIF = Layout(
    title="one text file a document, with a file of subjects beside it (Annif)",
    parts=(("DOCUMENT.txt",), ("DOCUMENT.tsv", "DOCUMENT.key")),
    read=read_annif,
    splits={"train": (), "valid": (), "test": ()},
    finder=find_annif,
    has_columns=True,
)
