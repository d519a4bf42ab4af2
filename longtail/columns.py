"""Which columns of a table are the text and which the labels.

They are named by the user (`Reading`), or known by their names in any capitalisation, if there is exactly one sensible
reading.  Otherwise `choose` raises an error that suggests the columns that look right.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from longtail.errors import CorpusError

Row = Mapping[str, Any]

TEXT = frozenset({"text", "title", "content"})  # with these exact names: text, or title and content
LABELS = frozenset({"labels", "label"})  # with these exact names: labels, or label
IDS = frozenset({"id", "uid"})

# Other names that are understood, as `normal` makes them.
LONG_NAMES = frozenset({
    "text", "content", "body", "abstract", "description", "comment_text", "comment", "review", "review_text",
    "document", "message", "summary", "article", "full_text", "fulltext", "question", "sentence",
    "texte", "inhalt", "beschreibung", "zusammenfassung", "volltext", "résumé",
})  # fmt: skip
TITLE_NAMES = frozenset({"title", "headline", "titel", "titre"})
LABEL_NAMES = frozenset({
    "labels", "label", "tags", "tag", "category", "categories", "subjects", "keywords", "topics", "topic", "genres",
    "genre", "classes", "class", "subject_uris", "target", "targets",
    "schlagwörter", "schlagworte", "schlagwort", "kategorie", "kategorien", "mots_clés", "catégorie", "catégories",
})  # fmt: skip
ID_NAMES = frozenset({"id", "uid", "document_id", "doc_id", "identifier"})
KNOWN_NAMES = LONG_NAMES | TITLE_NAMES | LABEL_NAMES | ID_NAMES | {"name", "uri", "notation", "examples"}
WITHOUT_HEADER = ["1", "2"]  # two columns without names
# Cells of columns of 0 and 1, in lower case; the columns of one table have the same kind of marks.
MARKS: tuple[tuple[set[str], set[str]], ...] = (
    ({"1", "1.0", "true"}, {"0", "0.0", "false"}), ({"yes"}, {"no"}), ({"y"}, {"n"}), ({"x"}, set()), ({"✓"}, set()),
    ({"ja"}, {"nein"}), ({"wahr"}, {"falsch"}), ({"oui"}, {"non"}), ({"vrai"}, {"faux"}),
)  # fmt: skip
YES = frozenset(cell for yes, _ in MARKS for cell in yes)
NO = frozenset({""} | {cell for _, no in MARKS for cell in no})


@dataclass(frozen=True)
class Reading:
    """How the user wants files to be read; what is not given is found from the files."""

    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    label_separator: str | None = None  # an empty one keeps label cells whole
    table: str | None = None  # of a database, or the sheet of a spreadsheet
    vocabulary: str | None = None  # a file that describes the labels
    language: str | None = None  # of label names, where a vocabulary has several

    @classmethod
    def of(
        cls, text: str | Sequence[str] | None = None, labels: str | Sequence[str] | None = None, **more: str | None
    ) -> Reading:
        """From names in a list, or in a string with commas between them.

        >>> Reading.of("title, abstract", "tags").text
        ('title', 'abstract')
        """
        separator = more.pop("label_separator", None)
        separator = None if separator is None else separator.replace("\\t", "\t").replace("\\n", "\n")
        return cls(_names("text", text), _names("labels", labels), separator, **more)

    def to_json(self) -> dict[str, Any]:
        """What was given, as JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items() if v not in (None, ())}


UNTOLD = Reading()  # nothing is given


def _names(option: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, Iterable) or not all(isinstance(part, str) and part.strip() for part in parts):
        raise CorpusError(f"{option}: write names of columns, as in {option}='title,abstract', not {given!r:.60}")
    return tuple(part.strip() for part in parts)


@dataclass(frozen=True)
class Columns:
    """The columns that are read; without names those of `TEXT`, `LABELS` and `IDS`, whichever a row has."""

    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    id: str = ""
    one_hot: bool = False  # the labels are the names of columns of 0 and 1
    note: str = ""  # what was taken and what is not read, in a sentence

    @property
    def read(self) -> frozenset[str]:
        """Every column that may be read."""
        return frozenset({*(self.text or TEXT), *(self.labels or LABELS), *([self.id] if self.id else IDS)})


def normal(name: str) -> str:
    """
    >>> normal(" Comment-Text"), normal("Tags")
    ('comment_text', 'tags')
    """
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def choose(place: str, sample: Sequence[Row], reading: Reading, labelled: bool = True) -> Columns:
    """The columns to read, decided by a sample of rows; `place` begins messages.

    Without `labelled` only the text is wanted.
    """
    names = list(dict.fromkeys(name for row in sample for name in row))
    text = _told(place, "--text", reading.text, names)
    text = text_by_name(names, sample) if text is None else text
    labels = _told(place, "--labels", reading.labels, names) if labelled else ()
    one_hot = labels is not None and len(labels) > 1 and _flags(labels, sample) == list(labels)
    if labels is None:
        labels, one_hot = _labels_by_name(names, text, sample)
    if text is None or labels is None:
        raise CorpusError(_question(place, names, sample, text, labels))
    found = Columns(text, labels, _id(names), one_hot)
    return replace(found, note=_note(found, names, reading)) if labelled else found


def _told(place: str, option: str, given: tuple[str, ...], names: list[str]) -> tuple[str, ...] | None:
    """The columns that the user named, in the spelling of the file; None if none."""
    by_name = {normal(name): name for name in reversed(names)} | {name: name for name in names}
    for name in given:
        if name not in by_name and normal(name) not in by_name:
            near = difflib.get_close_matches(normal(name), by_name, 1)
            hint = f"; did you mean {option} {shlex.quote(by_name[near[0]])}?" if near else ""
            raise CorpusError(f"{place}: {option} {name}: no column has this name; there are: {listed(names)}{hint}")
    return tuple(by_name.get(name) or by_name[normal(name)] for name in given) or None


def text_by_name(names: list[str], sample: Sequence[Row]) -> tuple[str, ...] | None:
    """The columns of the text; none of them has a name of its own where the documented names are there."""
    long = [name for name in names if normal(name) in LONG_NAMES]
    if TEXT & {*names} not in (set(), {"title"}) or ("title" in names and not long):
        return ()
    if names == WITHOUT_HEADER:
        return _longer(names, sample)
    titles = [name for name in names if normal(name) in TITLE_NAMES]
    if len(long) > 1 or len(titles) > 1 or not long + titles or _is_longer(names, [*long, *titles], sample):
        return None
    return tuple(long) if long and normal(long[0]) == "text" else (*titles, *long)


def _is_longer(names: list[str], known: list[str], sample: Sequence[Row]) -> bool:
    """Whether a column without a known name holds much longer texts than those with one."""
    most = max(_mean_words(sample, name) for name in known)
    others = [_mean_words(sample, name) for name in names if name not in known and normal(name) not in LABEL_NAMES]
    return max(others, default=0.0) >= max(10.0, 2 * most)


def _longer(names: list[str], sample: Sequence[Row]) -> tuple[str, ...] | None:
    """Of two columns the one that is clearly text."""
    sizes = {name: _mean_words(sample, name) for name in names}
    short, long = sorted(names, key=lambda name: sizes[name])
    return (long,) if sizes[long] >= max(3.0, 2 * sizes[short]) else None


def _labels_by_name(
    names: list[str], text: tuple[str, ...] | None, sample: Sequence[Row]
) -> tuple[tuple[str, ...] | None, bool]:
    """The columns of the labels, and whether they hold 0 and 1."""
    if not LABELS.isdisjoint(names):
        return (), False
    known = [name for name in names if normal(name) in LABEL_NAMES and name not in (text or ())]
    if known or text is None:
        return (tuple(known) if len(known) == 1 else None), False
    rest = [name for name in names if name not in {*text, *TEXT} and normal(name) not in ID_NAMES]
    if names == WITHOUT_HEADER:
        return tuple(rest), False
    flags = _flags(rest, sample)
    return (tuple(flags), True) if len(flags) > 1 else (None, False)


def _flags(names: Iterable[str], sample: Sequence[Row]) -> list[str]:
    """Those of the columns that hold only 0 and 1, and not only blanks."""
    cells = {
        name: {str("" if row.get(name) is None else row[name]).strip().lower() for row in sample} for name in names
    }
    marked = [[name for name in cells if {""} != cells[name] <= {"", *yes, *no}] for yes, no in MARKS]
    return max(marked, key=len)


def _id(names: list[str]) -> str:
    others = [name for name in names if normal(name) in ID_NAMES]
    return "" if not IDS.isdisjoint(names) or not others else others[0]


# -- sentences ------------------------------------------------------------------------------------------------------


def listed(names: Sequence[str], most: int = 20) -> str:
    """
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


def _note(found: Columns, names: list[str], reading: Reading) -> str:
    """What was taken, unless the user said it or the names are the documented ones; and what is not read."""
    text = found.text or tuple(name for name in _as_named(names) if name in names)
    labels = found.labels or tuple(name for name in ("labels", "label") if name in names)[:1]
    unread = [name for name in names if name not in {*text, *labels, *LABELS, *IDS, found.id}]
    guessed = (found.text and not reading.text) or (found.labels and not reading.labels)
    if not guessed and (not unread or (reading.text and reading.labels)):
        return ""
    kind = f"{len(labels)} columns of 0 and 1: " if found.one_hot else ""
    note = f"the text is {' + '.join(text)}; the labels are {kind}{listed(labels, 8)}"
    if unread:
        more = [name for name in unread if normal(name) in TITLE_NAMES | LONG_NAMES]
        both = sorted([*more[:1], *text], key=lambda name: normal(name) not in TITLE_NAMES)
        hint = f" (--text {shlex.quote(','.join(both))} would read {more[0]} too)" if more else ""
        note += f"; not read: {listed(unread)}{'' if reading.text else hint}"
    return note


def _as_named(names: list[str]) -> tuple[str, ...]:
    return ("text",) if "text" in names else ("title", "content")


def _question(
    place: str, names: list[str], sample: Sequence[Row], text: tuple[str, ...] | None, labels: tuple[str, ...] | None
) -> str:
    """Which columns are missing, and which look right."""
    needed = " or ".join(sorted(TEXT if text is None else LABELS))
    options = []
    if text is None:
        looks = looks_like_text(names, sample)
        options += [f"--text {shlex.quote(looks)}"] if looks else []
    else:
        looks = text[0] if text else ""
    if labels is None and (text is not None or looks):
        kinds = looks_like_labels([name for name in names if name not in {*(text or TEXT), looks}], sample)
        options += [f"--labels {shlex.quote(kinds)}"] if kinds else []
    hint = f"; did you mean {' '.join(options)}?" if options else "; --text and --labels name columns"
    numbered = names == [str(at + 1) for at in range(len(names))]
    header = "; it has no header, so its columns are called by their numbers" if numbered else ""
    return f"{place}: needs a field called {needed}; its fields are: {listed(names)}{header}{hint}"


def looks_like_text(names: Sequence[str], sample: Sequence[Row]) -> str:
    """The column with the most words; the empty string if none has any."""
    words = {name: _mean_words(sample, name) for name in names if normal(name) not in ID_NAMES}
    best = max(words, key=lambda name: words[name], default="")
    return best if best and words[best] > 0 else ""


def looks_like_labels(names: Sequence[str], sample: Sequence[Row]) -> str:
    """The column that holds lists, or else short values that come again; the empty string if none does.

    Of columns such as `tag 1` and `tag 2` all.
    """
    named = [name for name in names if normal(name) not in ID_NAMES]
    best = min(named, key=lambda name: _rank(sample, name), default="")
    stem = best.rstrip("0123456789")
    return ",".join(
        name for name in named if name == best or (stem not in ("", best) and name.rstrip("0123456789") == stem)
    )


def _rank(sample: Sequence[Row], name: str) -> tuple[bool, bool, bool, float]:
    """Smaller is more like labels."""
    values = [row[name] for row in sample if row.get(name) not in (None, "")]
    if any(isinstance(value, (list, dict)) for value in values):
        return (False, False, False, 0.0)
    texts = list(map(str, values))
    numbers = bool(texts) and all(re.fullmatch(r"[-+]?[\d.,:/-]+", text) for text in texts)
    known = normal(name) in LABEL_NAMES
    return (not texts, not known, numbers, len(set(texts)) / max(len(texts), 1) + _mean_words(sample, name) / 100)


def _mean_words(sample: Sequence[Row], name: str) -> float:
    cells = [row[name] for row in sample if isinstance(row.get(name), str)]
    return sum(len(cell.split()) for cell in cells) / max(len(cells), 1)
