"""Values on disk without pickle: arrays in safetensors, the rest in JSON, written atomically.

Storable are numbers, strings, lists of strings, arrays, dictionaries of arrays, sparse matrices, Texts, and
dataclasses of these: all readable from other languages.

    directory/
    ├── value.json             the plain fields, nested as the dataclasses are
    ├── arrays.safetensors     every array, named by its path in the value ("tree.parents")
    ├── tfidf.vocabulary.json  each list of strings, in a file of its own
    └── manifest.json          sha256 of every file; written last, so a directory without it is not finished
"""

from __future__ import annotations

from longtail.store.arrays import let_go, mapped_array, mapped_arrays, mapped_bytes
from longtail.store.directory import delete, leftovers, sweep, whole_directory
from longtail.store.files import json_text, read_json, read_object, sha256, write_json, write_whole
from longtail.store.manifest import CARD, MANIFEST, UNFINISHED, files_below, finished, read_manifest, verify
from longtail.store.target import MODEL, VALUE, Kind, check_target, check_writable, named, told
from longtail.store.values import read, read_parts, read_plain, result_type, write, write_parts

__all__ = [
    "CARD",
    "MANIFEST",
    "MODEL",
    "UNFINISHED",
    "VALUE",
    "Kind",
    "check_target",
    "check_writable",
    "delete",
    "files_below",
    "finished",
    "json_text",
    "leftovers",
    "let_go",
    "mapped_array",
    "mapped_arrays",
    "mapped_bytes",
    "named",
    "read",
    "read_json",
    "read_manifest",
    "read_object",
    "read_parts",
    "read_plain",
    "result_type",
    "sha256",
    "sweep",
    "told",
    "verify",
    "whole_directory",
    "write",
    "write_json",
    "write_parts",
    "write_whole",
]
