"""Files that describe labels: id, name and text in a table, Annif's vocabularies, and SKOS.

    labels.jsonl, .csv …     id, name, text; an id that documents have and this file has not is an error
    CSV                      uri, notation, label_en, label_fi …
    TSV                      <uri>, name, notation, without a header
    .ttl, .rdf, .nt …        SKOS concepts: prefLabel is the name; altLabels and names of broader concepts are the text

In Annif's and SKOS vocabularies URIs are ids.  A label without a name in the language that is read has one of another
language; without any it is left out.  Documents may name a label by its name too, and may have labels that are not in
the vocabulary: these are kept under their ids.  Notes count all of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from longtail.columns import listed
from longtail.corpus import Label
from longtail.data.encoding import Note, unsaid
from longtail.data.labelling import Growing, Vocabulary, distinct
from longtail.data.lines import Block
from longtail.data.mapped import Draft
from longtail.data.rows import ROWS, Access, Fields, require, rows, strings, suffix
from longtail.errors import CorpusError, MissingExtraError

SKOS = {".ttl": "turtle", ".rdf": "xml", ".skos": "xml", ".nt": "nt", ".xml": "xml", ".jsonld": "json-ld"}
NAMES = tuple(
    f"{stem}{ending}" for stem in ("labels", "vocabulary", "vocab") for ending in (*ROWS, ".ttl", ".rdf", ".nt")
)
_NEEDED = frozenset({"id", "name"})
_TERMS = "http://www.w3.org/2004/02/skos/core#"


def read_labels(path: Path, language: str | None, draft: Draft) -> Vocabulary:
    """Add the labels of a file to a corpus; gives their ids with their indices."""
    if suffix(path) in SKOS:
        return _grown(path, distinct(_skos(path, language, draft.note), {}), draft)
    if suffix(path) not in ROWS:
        raise CorpusError(f"{path}: labels are described in {', '.join([*ROWS, *SKOS])} files")
    blocks = rows(path, Access(note=draft.note))
    first = next(blocks, None)
    fields = set() if first is None else {name for row in first.rows for name in row}
    every = chain([first] if first else [], blocks)
    if "uri" in fields and "id" not in fields:
        return _grown(path, distinct(_annif_csv(every, path, fields, language, draft.note), {}), draft)
    if fields and fields <= {"1", "2", "3"}:
        return _grown(path, distinct(_annif_tsv(every), {}), draft)
    vocabulary: Vocabulary = {}
    draft.add_labels(distinct(_described(every), vocabulary))
    return vocabulary


def labels(path: Path, note: Note = unsaid) -> Iterator[tuple[Block[Fields], list[Label]]]:
    """The labels of each block of a table with id, name and text."""
    return _described(rows(path, Access(note=note)))


def _described(blocks: Iterator[Block[Fields]]) -> Iterator[tuple[Block[Fields], list[Label]]]:
    """A missing name defaults to the id, and a missing id to the name."""
    for block in blocks:
        require(block, _NEEDED)
        ids = [id or name for id, name in zip(strings(block, "id"), strings(block, "name"))]
        names = [
            id if row.get("name") is None else name for id, name, row in zip(ids, strings(block, "name"), block.rows)
        ]
        yield block, list(map(Label, ids, names, strings(block, "text")))


def _grown(path: Path, labels: Iterator[Label], draft: Draft) -> Growing:
    """A vocabulary that documents may add to, and whose labels they may call by their names."""
    found = Growing(path.name)

    def remembered() -> Iterator[Label]:
        for label in labels:
            found.names.setdefault(label.name, len(found))
            found[label.id] = len(found)
            yield label

    draft.add_labels(remembered())
    return found


# -- Annif's tables -------------------------------------------------------------------------------------------------


def _annif_csv(
    blocks: Iterator[Block[Fields]], path: Path, fields: set[str], language: str | None, note: Note
) -> Iterator[tuple[Block[Fields], list[Label]]]:
    there = [name.removeprefix("label_") for name in sorted(fields) if name.startswith("label_")]
    chosen = _language(path, there, language, note)
    naming = _Naming(path, chosen, there)
    for block in blocks:
        columns = zip(*(strings(block, f"label_{of}") for of in there))
        names = [naming(dict(zip(there, cells))) for cells in columns]
        rows = [at for at, name in enumerate(names) if name]
        block = Block(path, [block.numbers[at] for at in rows], [block.rows[at] for at in rows])
        uris = [uri.strip("<>") for uri in strings(block, "uri")]
        yield block, [Label(uri, names[at]) for uri, at in zip(uris, rows)]
    naming.said(note)


def _annif_tsv(blocks: Iterator[Block[Fields]]) -> Iterator[tuple[Block[Fields], list[Label]]]:
    for block in blocks:
        uris = [uri.strip().strip("<>") for uri in strings(block, "1")]
        yield block, [Label(uri, name.strip() or uri) for uri, name in zip(uris, strings(block, "2"))]


def _language(path: Path, there: list[str], wanted: str | None, note: Note) -> str:
    """The language of label names: the wanted one, the only one, English, or the first."""
    if not there:
        raise CorpusError(f"{path}: no label has a name; a vocabulary needs columns label_en …, or prefLabels")
    if wanted is not None and wanted not in there:
        raise CorpusError(f"{path}: --language {wanted}: its label names are in {listed(there)}")
    chosen = wanted or ("en" if "en" in there else there[0])
    if wanted is None and len(there) > 1:
        note(f"{path.name}: names of labels are read in {chosen}; --language chooses from {listed(there)}")
    return chosen


class _Naming:
    """Takes the name in one language, or else in another, and counts what had none."""

    def __init__(self, path: Path, chosen: str, there: list[str]):
        self.path, self.chosen = path, chosen
        self.order = sorted(there, key=lambda of: (of != chosen, of != "en", of))
        self.others = self.unnamed = 0
        self.example = ""

    def __call__(self, names: Mapping[str, str]) -> str:
        """The name of a label; the empty string if it has none."""
        language = next((of for of in self.order if names.get(of)), None)
        if language is None:
            self.unnamed += 1
            return ""
        if language != self.chosen:
            self.others += 1
            self.example = self.example or f"{names[language]!r:.60} ({language or 'no language'})"
        return names[language]

    def said(self, note: Note) -> None:
        """The counts, in sentences."""
        if self.others:
            note(
                f"{self.path.name}: labels without a name in {self.chosen or 'no language'} are called by another one: "
                f"{self.others:,}, as {self.example}"
            )
        if self.unnamed:
            note(f"{self.path.name}: labels without a name in any language are left out: {self.unnamed:,}")


# -- SKOS -----------------------------------------------------------------------------------------------------------


def _skos(path: Path, language: str | None, note: Note) -> Iterator[tuple[Block[Any], list[Label]]]:
    concepts = _Concepts(path)
    there = concepts.languages()
    concepts.language = _language(path, there, language, note)
    naming = _Naming(path, concepts.language, there)
    concepts.called = {uri: name for uri in concepts.all() if (name := naming(concepts.names(uri)))}
    naming.said(note)
    labels = [Label(str(uri), name, concepts.text(uri)) for uri, name in concepts.called.items()]
    yield Block(path, range(1, len(labels) + 1), labels), labels


class _Concepts:
    """The concepts of a SKOS file; those that are deprecated are left out."""

    language = ""
    called: Mapping[Any, str] = {}  # names by URI

    def __init__(self, path: Path):
        try:
            import rdflib
        except ImportError:
            raise MissingExtraError("SKOS vocabularies", "skos") from None
        self.path, self.graph, self._uri = path, rdflib.Graph(), rdflib.URIRef
        try:
            self.graph.parse(path, format=SKOS[suffix(path)])
        except Exception as error:
            reason = " ".join(str(error).split())
            raise CorpusError(f"{path}: cannot be read as RDF ({reason:.200})") from error
        if not self.all():
            raise CorpusError(f"{path}: there is no skos:Concept in it")

    def all(self) -> list[Any]:
        """URIs of all concepts, in order."""
        kind, old = self._uri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), self._uri(_DEPRECATED)
        concepts = self.graph.subjects(kind, self._uri(f"{_TERMS}Concept"))
        current = {one for one in concepts if str(self.graph.value(one, old) or "").lower() not in ("true", "1")}
        return sorted(current, key=str)

    def languages(self) -> list[str]:
        """Languages of names; an empty one for names without."""
        names = (name for term in _NAMES for _, name in self.graph.subject_objects(self._uri(term)))
        return sorted({name.language or "" for name in names if hasattr(name, "language")})

    def names(self, uri: Any) -> dict[str, str]:  # noqa: ANN401 - rdflib's
        """prefLabel, or else rdfs:label, by language."""
        found: dict[str, str] = {}
        for term in _NAMES:
            for one in sorted(self.graph.objects(uri, self._uri(term)), key=str):
                found.setdefault(getattr(one, "language", None) or "", str(one))
        return found

    def text(self, uri: Any) -> str:  # noqa: ANN401 - rdflib's
        """Other names, then the names of broader concepts."""
        other = self._texts(uri, f"{_TERMS}altLabel")
        above = sorted(self.graph.objects(uri, self._uri(f"{_TERMS}broader")), key=str)
        broader = [self.called.get(one) or self.names(one).get(self.language, "") for one in above]
        return "\n".join(filter(None, ("; ".join(other), "; ".join(filter(None, broader)))))

    def _texts(self, uri: Any, term: str) -> list[str]:  # noqa: ANN401 - rdflib's
        found = self.graph.objects(uri, self._uri(term))
        return sorted(str(one) for one in found if (getattr(one, "language", None) or "") == self.language)


_NAMES = (f"{_TERMS}prefLabel", "http://www.w3.org/2000/01/rdf-schema#label")
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
