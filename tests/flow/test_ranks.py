"""Trainings on several ranks, each a process of torchrun: the answers of one process, whatever dies on the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import longtail
from tests.on_ranks import SETTINGS, train
from tests.planted import WORDS, planted_splits
from tests.tiny_encoders import write_encoder

TRANSFORMER = "lightxml on a transformer"
METHODS = tuple(name for name in SETTINGS if " " not in name)
APART = ("decaf apart", "elias apart")
ROOT = Path(__file__).parents[2]


def torchrun(*words: object, before: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "torch.distributed.run", *map(str, words)]
    known = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    environment = known | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | variables
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)


def trained_by(ranks: int, place: Path, *methods: str, restarts: int = 0, **variables: str) -> Path:
    how = ("--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}", "-m", "--")
    ended = torchrun(*how, "tests.on_ranks", place, *methods, **variables)
    assert ended.returncode == 0, ended.stderr
    return place


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of a single process."""
    place = tmp_path_factory.mktemp("alone")
    with one_thread():
        train(place, list(METHODS))
    return place


@contextmanager
def one_thread() -> Iterator[None]:
    """As every rank has: threads round differently, too."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def assert_same_answers(one: Path, other: Path, *methods: str) -> None:
    test = planted_splits().test.documents
    for method in methods:
        first, second = (longtail.open(place / method / "model").rank(test, 5) for place in (one, other))
        np.testing.assert_array_equal(first.labels, second.labels, err_msg=method)
        np.testing.assert_allclose(first.scores, second.scores, atol=1e-5, err_msg=method)


def assert_same_model(one: Path, other: Path, *methods: str) -> None:
    """To the last bit, where the matrix library rounds a product of some rows as it rounds them among others."""
    assert_same_answers(one, other, *methods)
    if not rounds_rows_alone_as_among_others():
        pytest.skip("this matrix library rounds otherwise: the last bits were NOT compared")
    for method in methods:
        first, second = ((place / method / "model" / "weights.safetensors").read_bytes() for place in (one, other))
        assert first == second, method


def rounds_rows_alone_as_among_others() -> bool:
    rng = torch.Generator().manual_seed(0)
    rows, factor = torch.randn(60, 32, generator=rng), torch.randn(32, 50, generator=rng)
    whole = rows @ factor
    return all(torch.equal(torch.cat([rows[:cut] @ factor, rows[cut:] @ factor]), whole) for cut in (15, 30, 31))


def test_two_ranks_learn_the_model_of_one_process(alone: Path, tmp_path: Path):
    two = trained_by(2, tmp_path, *METHODS)
    assert_same_answers(alone, two, *METHODS)
    assert_same_model(alone, two, "decaf", "lightxml")  # the last bits of ELIAS differ in its second stage


@pytest.mark.slow
def test_four_ranks_learn_the_model_of_one_process(alone: Path, tmp_path: Path):
    assert_same_model(alone, trained_by(4, tmp_path, "decaf", "lightxml"), "decaf", "lightxml")


@pytest.mark.slow
def test_three_ranks_with_uneven_shares_answer_as_one_process(alone: Path, tmp_path: Path):
    with one_thread():
        train(alone, list(APART))
    assert_same_answers(alone, trained_by(3, tmp_path, *METHODS, *APART), *METHODS, *APART)


@pytest.mark.slow
def test_a_transformer_and_a_batch_of_one_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """600 documents, 99 of them held out, in batches of 25: one rank has none of the last batch."""
    monkeypatch.setenv("ENCODER", str(write_encoder(tmp_path / "encoder", WORDS)))
    with one_thread():
        train(tmp_path / "one", [TRANSFORMER])
    assert_same_answers(tmp_path / "one", trained_by(2, tmp_path / "two", TRANSFORMER), TRANSFORMER)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_rank_may_be_killed_anywhere_and_the_model_is_the_same_to_the_last_bit(seed: int, tmp_path: Path):
    rng = np.random.default_rng(seed)
    deaths = ",".join(f"{rng.integers(2)}:{rng.integers(5, 250)}" for _ in range(5))
    whole = trained_by(2, tmp_path / "whole", *METHODS)
    torn = trained_by(2, tmp_path / "torn", *METHODS, restarts=6, DEATHS=deaths, CHECKPOINT_EVERY="0")
    for method in METHODS:
        first, second = ((place / method / "model" / "weights.safetensors").read_bytes() for place in (whole, torn))
        assert first == second, f"{method}, killed at {deaths}"


@pytest.mark.slow
def test_a_training_goes_on_with_another_number_of_ranks(alone: Path, tmp_path: Path):
    """Two ranks, then a single process: rows are put together again from the files of each rank."""
    how = ("--standalone", "--nproc-per-node=2", "-m", "--", "tests.on_ranks", tmp_path, "decaf")
    assert torchrun(*how, DEATHS="1:150", CHECKPOINT_EVERY="0").returncode != 0
    assert list(tmp_path.glob("decaf/training/*/last-*/1")), "nothing to go on from"
    ended = subprocess.run([sys.executable, "-m", "tests.on_ranks", tmp_path, "decaf"], cwd=ROOT, check=False)
    assert ended.returncode == 0
    assert_same_answers(alone, tmp_path, "decaf")


def test_ranks_divide_the_rows_and_whatever_is_kept_of_them(tmp_path: Path):
    """What rank 1 wrote has its rows alone: weights, moments and averages, and no parameter that all have."""
    how = ("--standalone", "--nproc-per-node=2", "-m", "--", "tests.on_ranks", tmp_path, "lightxml")
    assert torchrun(*how, DEATHS="1:120", CHECKPOINT_EVERY="0").returncode != 0
    (part,) = tmp_path.glob("lightxml/training/lightxml/last-*/1/tensors.safetensors")
    shapes = {name: tensor.shape for name, tensor in load_file(part).items()}
    assert {rows for name, (rows, *_) in shapes.items() if "discriminator" in name} == {30}  # of 60 labels
    assert {name.split("/")[0] for name in shapes} == {"model", "optimiser", "average"}
    assert not any("encoder" in name for name in shapes)


def test_a_method_of_one_process_refuses_torchrun_with_a_sentence(tmp_path: Path):
    run = ("-m", "longtail", "train", "linear", "nowhere", "--run", str(tmp_path / "run"))
    environment = os.environ | {"RANK": "0", "WORLD_SIZE": "2", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, *run], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "linear trains in one process; start it without torchrun (decaf, lightxml, elias can use it)" in ended.stderr


# -- hosts -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two network namespaces with a wire between them: as two hosts see each other, on one file system."""
    names, ip = [f"longtail-{os.getpid()}-{at}" for at in (0, 1)], shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2: ranks on two hosts were NOT tested")

    def do(*words: str) -> None:
        subprocess.run([ip, *words], check=True, capture_output=True)

    with ExitStack() as stack:
        try:
            for name in names:
                do("netns", "add", name)
                stack.callback(subprocess.run, [ip, "netns", "del", name], check=False)
            do("link", "add", "wire0", "netns", names[0], "type", "veth", "peer", "name", "wire1", "netns", names[1])
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here ({error.stderr.decode()}): ranks on two hosts were NOT tested")
        for at, name in enumerate(names):
            do("-n", name, "address", "add", f"10.99.0.{at + 1}/24", "dev", f"wire{at}")
            do("-n", name, "link", "set", f"wire{at}", "up")
            do("-n", name, "link", "set", "lo", "up")
        yield names


@pytest.mark.slow
def test_ranks_on_two_hosts_answer_as_one_process(alone: Path, hosts: list[str], tmp_path: Path):
    ended: dict[int, subprocess.CompletedProcess[str]] = {}

    def rank(at: int) -> None:
        meet = ("--nnodes=2", f"--node-rank={at}", "--master-addr=10.99.0.1", "--master-port=29517")
        words = (*meet, "--nproc-per-node=1", "-m", "--", "tests.on_ranks", tmp_path, "decaf")
        ended[at] = torchrun(*words, before=("ip", "netns", "exec", hosts[at]), GLOO_SOCKET_IFNAME=f"wire{at}")

    threads = [threading.Thread(target=rank, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ended[at].returncode for at in (0, 1)] == [0, 0], ended[0].stderr + ended[1].stderr
    assert_same_answers(alone, tmp_path, "decaf")
