"""What a server is started with: models, address, token, limits."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from longtail.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")  # of a model: it stands in addresses, logs and metrics


@dataclass(frozen=True)
class Limits:
    """How much a request may ask for, and how many may wait."""

    texts: int = 32  # of one request
    text_bytes: int = 1_000_000  # of one text, in UTF-8
    body_bytes: int = 20_000_000  # of one request: Annif's limit
    k: int = 1000  # labels of one text
    batch: int = 32  # texts that are predicted together
    queue: int = 128  # requests that wait to be predicted, in a burst
    queue_texts: int = 256  # texts that wait to be predicted
    connections: int = 4096  # at once, for each worker
    deadline: float = 10.0  # seconds until a request is given up
    arrival: float = 10.0  # seconds that a request may take to arrive
    idle: float = 60.0  # seconds that a connection may do nothing between two requests
    drain: float = 30.0  # seconds that requests have to finish when the server stops

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ConfigError(f"limit {name} = {value}: it must be more than 0")
        if self.queue_texts < self.texts:
            raise ConfigError(f"{self.queue_texts} texts may wait, and one request may bring {self.texts}; allow more")


@dataclass(frozen=True)
class Settings:
    """What `longtail serve` is told."""

    models: dict[str, Path]  # by name; the first answers where none is named
    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    language: str = "en"  # of the labels, for Annif's interface
    hosts: tuple[str, ...] = ()  # names in addresses under which clients may ask, beside those of this machine
    save_labels: bool = False  # labels that are added are written into the model's directory
    log_texts: bool = False

    def __post_init__(self) -> None:
        if not self.models:
            raise ConfigError("name at least one model directory, as in: longtail serve runs/demo/model")
        if self.workers < 1:
            raise ConfigError(f"workers = {self.workers}: at least one process answers")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"host {self.host}: anybody who reaches this machine could ask; write a secret into a file and pass "
                "--token-file FILE, or serve this machine alone with --host 127.0.0.1"
            )
        if self.token is None and self.save_labels:
            raise ConfigError(
                "--save-labels: every program of this machine could change the model on disk; write a secret into a "
                "file and pass --token-file FILE, or leave added labels in memory"
            )


@lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def named_models(words: list[str]) -> dict[str, Path]:
    """Directories by name, from words such as runs/demo/model and laws=models/laws.

    >>> named_models(["runs/demo/model", "laws=models/laws"])
    {'demo': PosixPath('runs/demo/model'), 'laws': PosixPath('models/laws')}
    """
    found: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        place = Path(path if equals else word)
        name = name if equals else usual_name(place)
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{word}: a model's name has letters, digits and . _ + -, and starts with one of the first two; "
                f"name it, as in: NAME={place}"
            )
        if name in found:
            raise ConfigError(f"two models are called {name}; name them, as in: one={found[name]} other={place}")
        found[name] = place
    return found


def usual_name(place: Path) -> str:
    """What a model is called where nobody says: its directory, or that of its run."""
    whole = place.absolute()
    return whole.parent.name if whole.name == "model" else whole.name


def read_token(path: Path) -> str:
    """The secret in a file."""
    try:
        token = path.read_text("utf-8").strip()
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: a token is plain text; make one with: openssl rand -hex 32") from None
    if len(token) < SHORTEST or not token.isascii() or any(char.isspace() for char in token):
        raise ConfigError(
            f"{path}: a token is one word of at least {SHORTEST} ASCII characters; make one with: openssl rand -hex 32"
        )
    return token


SHORTEST = 16  # characters of a token
