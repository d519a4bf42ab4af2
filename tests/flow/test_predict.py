"""`longtail predict` in real processes: pipes that wait, readers that leave, terminals, files of every kind."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.planted import word


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "linear"
    fit("linear", planted.train).save(place)
    return place


def command(model: Path, *words: object) -> list[str]:
    return [sys.executable, "-m", "longtail", "predict", str(model), *map(str, words)]


def answers(model: Path, *words: object, text: str = "", environment: dict[str, str] | None = None) -> list[dict]:
    done = subprocess.run(
        command(model, *words), input=text.encode(), capture_output=True, env=os.environ | (environment or {})
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]


@contextmanager
def waiting(model: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """A process whose standard input stays open; killed in the end, if it did not end by itself."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(model, *words), text=True, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and what was said, while standard input is still open."""
    code = process.wait(30)
    assert process.stderr
    said = process.stderr.read()
    assert "Fatal" not in said and "Traceback" not in said and "ignored" not in said, said
    return code, said


def write(process: subprocess.Popen[str], *lines: str) -> None:
    assert process.stdin
    process.stdin.writelines(f"{line}\n" for line in lines)
    process.stdin.flush()


def first_name(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return json.loads(process.stdout.readline())["labels"][0]["name"]


# -- how it ends ----------------------------------------------------------------------------------------------------


def test_a_bad_line_ends_it_where_that_is_asked_for_though_the_pipe_stays_open(model: Path):
    with waiting(model, "--strict") as process:
        write(process, json.dumps({"text": word(4)}), "not JSON", json.dumps({"text": word(5)}))
        assert first_name(process) == word(4)
        code, said = ended(process)
        assert code == 2 and "standard input:2: not JSON" in said


def test_a_bad_line_is_answered_in_its_place_and_the_next_one_too(model: Path):
    with waiting(model) as process:
        write(process, json.dumps({"text": word(4)}), "not JSON", json.dumps({"text": word(5)}))
        assert first_name(process) == word(4) and process.stdout and process.stdin and process.stderr
        error = json.loads(process.stdout.readline())["error"]
        assert error["line"] == 2 and error["message"].startswith("standard input:2: not JSON")
        assert first_name(process) == word(5)
        process.stdin.close()
        process.stdin = None  # or the end of `waiting` would flush it
        assert process.wait(30) == 0
        told = process.stderr.read()
        assert "longtail: standard input:2: not JSON" in told and "1 of 3 records could not be read" in told


def test_an_interrupt_ends_it_while_it_waits_for_a_line(model: Path):
    with waiting(model) as process:
        write(process, word(4))
        assert first_name(process) == word(4)  # now it waits
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130


def test_a_reader_that_leaves_ends_it_quietly(model: Path):
    with waiting(model) as process:
        write(process, word(4))
        assert first_name(process) == word(4) and process.stdout
        process.stdout.close()
        write(process, word(5))
        code, said = ended(process)
        assert code == 0 and said == ""


def test_somebody_who_types_is_told_how_and_leaves_by_control_c(model: Path):
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        command(model), stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=_take_as_terminal,
    )  # fmt: skip
    try:
        assert process.stdout and process.stderr
        assert process.stderr.readline() == "type one text a line; Ctrl-D ends\n"
        os.write(keyboard, f"{word(4)}\n".encode())
        assert first_name(process) == word(4)
        os.write(keyboard, b"\x03")
        assert ended(process)[0] == 130
    finally:
        process.kill()
        process.communicate()
        os.close(keyboard)
        os.close(terminal)


def _take_as_terminal() -> None:
    """Make standard input the terminal that Ctrl-C is typed at."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_control_d_ends_what_somebody_types(model: Path):
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(command(model), stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        os.write(keyboard, f"{word(4)}\n".encode() + b"\x04")
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0 and json.loads(output)["labels"][0]["name"] == word(4)
    finally:
        process.kill()
        os.close(keyboard)
        os.close(terminal)


def test_standard_input_that_is_closed_is_a_sentence(model: Path):
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *command(model)]
    done = subprocess.run(shell, capture_output=True, text=True)
    assert done.returncode == 2 and "standard input is closed" in done.stderr


# -- what comes back ------------------------------------------------------------------------------------------------


def test_ids_come_back_with_the_answers(model: Path):
    queries = [{"id": "été", "text": word(4)}, {"text": word(9)}, {"uid": 7, "text": word(11)}]
    text = "".join(f"{json.dumps(query)}\n" for query in queries)
    found = answers(model, "--k", 1, text=text, environment={"PYTHONIOENCODING": "ascii"})
    assert [answer.get("id") for answer in found] == ["été", None, 7] and "id" not in found[1]
    assert [answer["labels"][0]["name"] for answer in found] == [word(4), word(9), word(11)]
    assert list(found[0]) == ["id", "labels"]


def test_a_compressed_table_is_answered_row_by_row(model: Path, tmp_path: Path):
    rows = f"id,title,content\n1,{word(4)},x\n2,,\n3,x,{word(9)}\n"
    (tmp_path / "q.csv.gz").write_bytes(gzip.compress(rows.encode()))
    found = answers(model, tmp_path / "q.csv.gz", "--k", 1)
    assert [answer["id"] for answer in found] == ["1", "2", "3"]
    assert [found[row]["labels"][0]["name"] for row in (0, 2)] == [word(4), word(9)]


@pytest.mark.parametrize("threshold", ["nan", "inf", "-0.5", "1.5"])
def test_a_threshold_that_no_score_can_have_is_refused_before_any_text(threshold: str, model: Path):
    done = subprocess.run(command(model, f"--threshold={threshold}"), input="", capture_output=True, text=True)
    assert done.returncode == 2 and "scores lie between 0 and 1" in done.stderr


def test_methods_answer_in_json():
    tell = [sys.executable, "-m", "longtail", "methods", "--json"]
    known = json.loads(subprocess.run(tell, capture_output=True, text=True, check=True).stdout)
    assert "linear" in [method["name"] for method in known]
    told = json.loads(subprocess.run([*tell, "linear"], capture_output=True, text=True, check=True).stdout)
    assert {line["name"]: line["default"] for line in told["settings"]}["beam"] == 20


# -- bad records and formats ----------------------------------------------------------------------------------------

BAD = b"""{"id": "one", "text": "%s"}
{"id": "two", "title": 7}
\xff\xfe
[1]

{"id": 6, "text": "%s"}
""" % (word(4).encode(), word(9).encode())


def test_every_bad_record_has_an_error_in_its_place(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_bytes(BAD)
    found = answers(model, tmp_path / "q.jsonl", "--k", 1)
    assert [list(answer) for answer in found] == [
        ["id", "labels"], ["id", "error"], ["error"], ["error"], ["labels"], ["id", "labels"],
    ]  # fmt: skip
    assert [answer["error"]["line"] for answer in found if "error" in answer] == [2, 3, 4]
    assert "not UTF-8" in found[2]["error"]["message"] and found[1]["id"] == "two"
    assert [found[at]["labels"][0]["name"] for at in (0, 5)] == [word(4), word(9)]


def test_strict_answers_what_came_before_and_ends_with_2(model: Path, tmp_path: Path):
    lines = [json.dumps({"text": word(at % 60)}) for at in range(5000)]
    (tmp_path / "q.jsonl").write_text("\n".join([*lines, "bad", *lines]))
    done = subprocess.run(command(model, tmp_path / "q.jsonl", "--strict"), capture_output=True, text=True)
    assert done.returncode == 2 and "q.jsonl:5001: not JSON" in done.stderr
    assert len(done.stdout.splitlines()) == 5000


def test_a_large_file_is_answered_in_order_whatever_the_format(model: Path, tmp_path: Path):
    numbers = [at % 60 for at in range(6000)]
    (tmp_path / "q.csv").write_text("id,text\n" + "".join(f"{at},{word(label)}\n" for at, label in enumerate(numbers)))
    found = answers(model, tmp_path / "q.csv", "--k", 1)
    assert [answer["id"] for answer in found] == [str(at) for at in range(6000)]
    assert [answer["labels"][0]["index"] for answer in found] == numbers


def written(model: Path, *words: object) -> str:
    done = subprocess.run(command(model, *words), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8")


def test_csv_has_a_row_for_every_label_and_one_for_a_bad_record(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_bytes(BAD)
    rows = list(csv.DictReader(written(model, tmp_path / "q.jsonl", "--k", 2, "--format", "csv").splitlines()))
    assert list(rows[0]) == ["record", "id", "rank", "label", "name", "score", "error"]
    assert [(row["record"], row["rank"]) for row in rows[:3]] == [("1", "1"), ("1", "2"), ("2", "")]
    assert rows[0]["label"] == "L4" and rows[0]["name"] == word(4) and 0 < float(rows[0]["score"]) <= 1
    assert rows[2]["id"] == "two" and "needs a string `text`" in rows[2]["error"] and rows[2]["label"] == ""


def test_annif_tsv_is_a_corpus_that_annif_reads_one_line_a_record(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_text(json.dumps({"text": f"{word(4)}\n\t{word(9)}"}) + "\nbad\n")
    lines = written(model, tmp_path / "q.jsonl", "--k", 2, "--format", "annif-tsv").splitlines()
    assert lines[0] == f"{word(4)} {word(9)}\t<L4> <L9>" or lines[0] == f"{word(4)} {word(9)}\t<L9> <L4>"
    assert len(lines) == 2 and "\t" not in lines[1] and "not JSON" in lines[1]


def test_a_table_without_texts_is_wrong_as_a_whole(model: Path, tmp_path: Path):
    (tmp_path / "q.csv").write_text("id,words\n1,x\n")
    done = subprocess.run(command(model, tmp_path / "q.csv"), capture_output=True, text=True)
    assert done.returncode == 2 and "needs a field called content or text or title" in done.stderr


def test_a_bar_shows_documents_a_second(model: Path, tmp_path: Path):
    (tmp_path / "q.txt").write_text(
        "".join(f"{' '.join(word(at % 60) for at in range(n, n + 60))}\n" for n in range(60_000))
    )
    screen, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(command(model, tmp_path / "q.txt"), stdout=out, stderr=terminal, env=environment)
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(screen, 1 << 16):
                shown += piece
        except OSError:  # how Linux says that nobody writes any more
            pass
    os.close(screen)
    assert process.wait() == 0
    assert "answering q.txt" in shown.decode() and re.search(r"[\d,]+ documents/s", shown.decode())
    assert len((tmp_path / "out").read_bytes().splitlines()) == 60_000


def test_texts_in_another_language_are_told(model: Path):
    words = [sys.executable, "-m", "longtail", "predict", str(model)]
    asked = subprocess.run(
        words, input="ein kleines Instrument mit Saiten\n", capture_output=True, text=True, check=True
    )
    assert "is this the language that it was trained in?" in asked.stderr and len(asked.stdout.splitlines()) == 1
