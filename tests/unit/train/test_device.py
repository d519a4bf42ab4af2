"""Devices: what is there and what can be used, each refusal with a sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from longtail.errors import ConfigError
from longtail.train.device import check_device


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longtail.train.device.gpus", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0", "cuda:1"])
def test_a_device_that_is_there_is_taken(device: str):
    check_device(device, "decaf", cpu_only=False)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("cuda:2", "there are 2 GPUs here, cuda:0 to cuda:1"),
        ("cuda:99999", "write cpu, cuda, or cuda:1"),
        ("cuda:-1", "write cpu, cuda, or cuda:1"),
        ("CPU", "write cpu, cuda, or cuda:1"),
    ],
)
def test_a_device_that_is_not_there_is_refused(device: str, said: str):
    with pytest.raises(ConfigError, match=said):
        check_device(device, "decaf", cpu_only=False)


@pytest.mark.usefixtures("two_gpus")
def test_a_method_without_torch_takes_the_cpu_alone():
    check_device("cpu", "linear", cpu_only=True)
    with pytest.raises(ConfigError, match="linear trains on the CPU alone"):
        check_device("cuda", "linear", cpu_only=True)


def test_where_torch_finds_no_gpu_it_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no GPU here"):
        check_device("cuda", "decaf", cpu_only=False)


def test_the_cpu_needs_no_torch_to_be_checked():
    code = (
        "import sys; from longtail.train.device import check_device; check_device('cpu', 'decaf', cpu_only=False);"
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
