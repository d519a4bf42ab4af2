"""How people follow the command line: a bar on a terminal, a few lines elsewhere, nothing on standard output."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import Splits
from tests.planted import word


@pytest.fixture(scope="module")
def corpus(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.jsonl"
    rows = np.split(planted.train.labels.indices, planted.train.labels.indptr[1:-1])
    lines = (json.dumps({"text": t, "labels": [word(at) for at in row]}) for t, row in zip(planted.train.texts, rows))
    path.write_text("\n".join(lines) + "\n")
    return path


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "longtail", *map(str, words)]


def on_terminal(*words: object) -> str:
    """What the terminal of a command shows: its standard error, without colours and cursor movements."""
    screen, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(screen, 1 << 16):
                shown += piece
        except OSError:  # how Linux says that nobody writes any more
            pass
        assert process.stdout and process.stdout.read() == b""
    os.close(screen)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "\n")


def test_a_terminal_shows_a_bar_for_every_stage_in_words(corpus: Path, tmp_path: Path):
    shown = on_terminal("train", "linear", corpus, "--run", tmp_path / "run")
    for phrase in ("learning the vocabulary", "weighing the words", "grouping labels", "training the classifiers",
                   "ranking some training documents", "writing the model"):  # fmt: skip
        assert re.search(rf"━{{12}} 100 % took \d+ s +{phrase}", shown), phrase
    assert " …" not in shown and "tree-1" not in shown


def test_a_log_gets_one_line_a_stage_and_a_finished_stage_says_nothing(corpus: Path, tmp_path: Path):
    train = command("train", "linear", corpus, "--run", tmp_path / "run")
    first = subprocess.run(train, capture_output=True, text=True, check=True)
    stages = [line for line in first.stderr.splitlines() if line.endswith(" …")]
    assert stages[:2] == ["learning the vocabulary …", "weighing the words of documents …"]
    assert stages[-2:] == ["ranking some training documents to check the model …", "writing the model …"]
    assert len(stages) == len(set(stages)) == len(list((tmp_path / "run/stages").iterdir())) + 2
    assert first.stdout == "" and "━" not in first.stderr
    (tmp_path / "run/model").rename(tmp_path / "model")
    again = subprocess.run(train, capture_output=True, text=True, check=True)
    checked = ["ranking some training documents to check the model …", "writing the model …"]
    assert [line for line in again.stderr.splitlines() if " …" in line] == checked and again.stdout == ""
