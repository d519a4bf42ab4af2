"""Loading builds a mapped cache once, notices every change, and survives damage, kills and company."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import Splits
from longtail.data import load as load_module
from longtail.data.load import default_cache, load
from longtail.errors import CorpusError
from tests.mutants import vouch
from tests.unit.data.layouts import EVERY, JSONL, LF_JSON, SPARSE, jsonl, loaded, put


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The caches built since."""
    built, build = [], load_module._build
    monkeypatch.setattr(load_module, "_build", lambda target, *rest: built.append(target) or build(target, *rest))
    return built


def again(directory: Path) -> Splits:
    """What `loaded` put there, its files untouched."""
    return load(directory / "corpus", cache=directory / "cache")


def caches(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.is_dir()]


def test_the_second_load_maps_what_the_first_one_built(tmp_path: Path, builds: list[Path]):
    for layout, files in EVERY.items():
        first, second = loaded(tmp_path / layout, files), again(tmp_path / layout)
        assert len(builds) == 1
        assert second.train.fingerprint == first.train.fingerprint and second.test.fingerprint == first.test.fingerprint
        assert (second.test.labels != first.test.labels).nnz == 0
        builds.clear()


def test_arrays_are_mapped_and_cannot_be_written(tmp_path: Path):
    splits = loaded(tmp_path, LF_JSON)
    for array in (splits.train.texts.data, splits.train.labels.indices, splits.train.labels.data):
        assert not array.flags.writeable and not array.flags.owndata


def test_a_changed_file_is_read_again_and_the_old_cache_goes(tmp_path: Path, builds: list[Path]):
    before = loaded(tmp_path, JSONL)
    after = loaded(tmp_path, JSONL | {"test.jsonl": jsonl([{"text": "new", "labels": ["mammal"]}])})
    assert len(builds) == 2 and list(after.test.texts) == ["new"] and len(caches(tmp_path / "cache")) == 1
    assert before.test.texts[0] == "snowy owl\nflies", "a corpus in use lost its arrays"


def test_a_file_that_appears_is_noticed(tmp_path: Path):
    assert loaded(tmp_path, LF_JSON).train.official_valid is None
    (tmp_path / "corpus" / "val.json").write_bytes(b'{"title": "x", "target_ind": [0]}')
    assert again(tmp_path).train.official_valid is not None


DAMAGES = ["cut", "missing", "index", "not json", "manifest", "stops", "version", "texts", "columns", "listed columns"]


def overwritten(path: Path, at: int, value: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(value)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_built_anew(damage: str, tmp_path: Path, builds: list[Path]):
    expected = loaded(tmp_path, LF_JSON)
    (cache,) = caches(tmp_path / "cache")
    texts, stops, index = cache / "train.texts.bytes", cache / "train.texts.stops", cache / "corpus.json"
    columns = cache / "train.labels.columns"
    broken = {
        "cut": lambda: os.truncate(texts, texts.stat().st_size - 1),
        "missing": lambda: (cache / "test.labels.columns").unlink(),
        "index": lambda: index.unlink(),
        "not json": lambda: index.write_text('{"version": 1, "source"'),
        "manifest": lambda: (cache / "manifest.json").unlink(),
        "stops": lambda: stops.write_bytes(bytes(stops.stat().st_size)),
        "version": lambda: index.write_text(index.read_text().replace('"version": 1', '"version": 0')),
        # Of the same size, so that only the content tells.
        "texts": lambda: overwritten(texts, 0, b"?"),
        "columns": lambda: overwritten(columns, 0, (-5).to_bytes(4, "little", signed=True)),
        "listed columns": lambda: (overwritten(columns, 3, b"\xff"), vouch(cache)),
    }
    broken[damage]()
    assert again(tmp_path).train.fingerprint == expected.train.fingerprint and len(builds) == 2


def test_an_edit_that_keeps_size_and_time_is_noticed(tmp_path: Path, builds: list[Path]):
    expected = loaded(tmp_path, LF_JSON)
    changed = tmp_path / "corpus" / "trn.json"
    before, text = changed.stat(), changed.read_bytes()
    changed.write_bytes(text.replace(b"a", b"b", 1))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed.stat().st_size == before.st_size and changed.stat().st_mtime_ns == before.st_mtime_ns
    assert again(tmp_path).train.fingerprint != expected.train.fingerprint and len(builds) == 2


@pytest.mark.parametrize("moment", ["longtail.data.mapped.Draft.finish", "longtail.store.directory.put_in_place"])
def test_a_killed_build_leaves_nothing_that_is_mistaken_for_a_cache(moment: str, tmp_path: Path, builds: list[Path]):
    corpus, cache = put(tmp_path / "corpus", LF_JSON), tmp_path / "cache"
    die = "lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    code = (
        "import os, signal, longtail.data.mapped, longtail.store; from longtail.data.load import load; "
        f"{moment} = {die}; load({str(corpus)!r})"
    )
    environment = os.environ | {"LONGTAIL_CACHE": str(cache)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == -signal.SIGKILL
    assert any(cache.glob(".*/train.texts.bytes")), "the kill came too early to mean anything"
    assert len(load(corpus, cache=cache).train) == 3 and len(builds) == 1
    assert not any(cache.glob(".*")), "the killed builder's files are still there"


def test_those_who_load_at_once_build_once(tmp_path: Path, builds: list[Path]):
    corpus = put(tmp_path / "corpus", LF_JSON)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: load(corpus, cache=tmp_path / "cache"), range(4)))
    assert len(builds) == 1 and len({splits.train.fingerprint for splits in found}) == 1


def test_a_fingerprint_is_of_the_content_wherever_and_however_it_lies(tmp_path: Path):
    plain = loaded(tmp_path / "a", LF_JSON)
    packed = loaded(tmp_path / "elsewhere", LF_JSON, ".xz")
    assert plain.train.fingerprint == packed.train.fingerprint and plain.test.fingerprint == packed.test.fingerprint
    assert plain.train.fingerprint != plain.test.fingerprint


@pytest.mark.parametrize(
    ("files", "name", "old", "new"),
    [
        (LF_JSON, "trn.json", b"dusk", b"dawn"),
        (LF_JSON, "trn.json", b"[0, 1]", b"[0, 2]"),
        (LF_JSON, "lbl.json", b'"title": "red"', b'"title": "rot"'),
        (LF_JSON, "lbl.json", b'"uid": "red"', b'"uid": "rot"'),
        (LF_JSON, "trn.json", b'"red fox", "content": "runs', b'"red", "content": "fox runs'),
        (SPARSE, "train.txt", b"4:0.5", b"4:0.6"),
        (SPARSE, "train.txt", b"4:0.5", b"3:0.5"),
    ],
)
def test_a_fingerprint_changes_with_what_is_learned_from(
    files: dict, name: str, old: bytes, new: bytes, tmp_path: Path
):
    assert old in files[name]
    changed = loaded(tmp_path / "b", files | {name: files[name].replace(old, new)})
    assert changed.train.fingerprint != loaded(tmp_path / "a", files).train.fingerprint


def test_a_validation_split_belongs_to_the_fingerprint_of_training(tmp_path: Path):
    prints = {
        loaded(tmp_path / str(at), LF_JSON | more).train.fingerprint
        for at, more in enumerate([{}, {"val.json": LF_JSON["tst.json"]}, {"val.json": LF_JSON["trn.json"]}])
    }
    assert len(prints) == 3


def test_where_caches_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LONGTAIL_CACHE", str(tmp_path / "mine"))
    assert default_cache() == tmp_path / "mine"
    monkeypatch.delenv("LONGTAIL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache() == tmp_path / "xdg" / "longtail"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == Path.home() / ".cache" / "longtail"
    monkeypatch.setattr(Path, "home", lambda: Path("~nobody-of-this-name").expanduser())
    with pytest.raises(CorpusError, match="set LONGTAIL_CACHE"):
        default_cache()


def test_a_cache_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CorpusError, match=r"file/cache: the cache cannot be written \(.*set LONGTAIL_CACHE"):
        load(put(tmp_path / "corpus", LF_JSON), cache=tmp_path / "file" / "cache")


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("longtail.data.mapped.Draft._append", full)
    with pytest.raises(CorpusError, match="No space left on device"):
        loaded(tmp_path, LF_JSON)


def test_names_are_found_as_paths_then_on_the_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put(tmp_path / "shelf" / "birds", JSONL)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="LONGTAIL_DATA can say where"):
        load("birds", cache=tmp_path / "cache")
    monkeypatch.setenv("LONGTAIL_DATA", str(tmp_path / "shelf"))
    assert len(load("birds", cache=tmp_path / "cache").train) == 3
    put(tmp_path / "birds", LF_JSON)
    assert load("birds", cache=tmp_path / "cache").train.ids is not None
    with pytest.raises(CorpusError, match=r"bees: no such file or directory \(nor under .*shelf"):
        load("bees", cache=tmp_path / "cache")


def test_the_demo_corpus_ships_with_its_licence():
    splits = load("demo")
    assert (len(splits.train), len(splits.test), splits.train.n_labels) == (74_951, 18_783, 18_909)
    assert splits.test.filtered.nnz == 3_638
    assert (
        splits.train.texts[1] == "any state or process known through the senses rather than by intuition or reasoning"
    )
    assert np.diff(splits.train.labels.indptr).min() > 0
    notice = (Path(load_module.__file__).parent / "demo" / "NOTICE").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice


@pytest.mark.slow
def test_the_second_load_of_half_a_million_documents_is_instant(real_corpora: Path, tmp_path: Path):
    first = load(real_corpora / "yso-finna-en", cache=tmp_path)
    started = time.perf_counter()
    second = load(real_corpora / "yso-finna-en", cache=tmp_path)
    assert time.perf_counter() - started < 1
    assert len(second.train) == 516_158 and second.train.fingerprint == first.train.fingerprint
