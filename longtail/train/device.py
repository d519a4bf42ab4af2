"""Training devices: cpu, cuda, cuda:1."""

from __future__ import annotations

import os
import re

from longtail.errors import ConfigError, MissingExtraError
from longtail.ranks import started

_GPU = re.compile(r"cuda(?::([0-9]{1,4}))?")


def check_device(device: str, method: str, *, cpu_only: bool) -> None:
    """Raise unless this machine has the device and the method can use it."""
    if device == "cpu":
        return
    gpu = _GPU.fullmatch(device)
    if gpu is None:
        raise ConfigError(f"device {device!r}: write cpu, cuda, or cuda:1 for the second GPU")
    if cpu_only:
        raise ConfigError(f"device {device!r}: {method} trains on the CPU alone; leave the device out, or write cpu")
    found = gpus()
    if found == 0:
        raise ConfigError(f"device {device!r}: torch finds no GPU here; write cpu, or install torch with CUDA")
    if int(gpu[1] or 0) >= found:
        raise ConfigError(f"device {device!r}: there are {found} GPUs here, cuda:0 to cuda:{found - 1}")


def of_rank(device: str) -> str:
    """The device of this rank: the GPUs of a host are taken in turn."""
    return f"cuda:{os.environ['LOCAL_RANK']}" if device == "cuda" and started() > 1 else device


def gpus() -> int:
    """Number of GPUs torch can use."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("a GPU", "train") from None
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def free_on(device: str) -> int:
    """Bytes that are free on a GPU."""
    import torch

    return int(torch.cuda.mem_get_info(device)[0])
