"""The command that serves models over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.errors import MissingExtraError

if TYPE_CHECKING:
    from longtail.serve.settings import Settings


def serve(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL|NAME=MODEL...", help="Model directories; the first is the default.")
    ],
    host: Annotated[str, typer.Option(help="Where to listen; beyond this machine it takes a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")] = 8080,
    token_file: Annotated[Path | None, typer.Option(help="File with the secret that clients must send.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    language: Annotated[str, typer.Option(help="Language of the labels, for Annif's interface.")] = "en",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Name under which clients may ask without a token; repeatable.")
    ] = None,
    save_labels: Annotated[
        bool, typer.Option("--save-labels", help="Write labels that clients add into the model's directory.")
    ] = False,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Write the texts of requests into the log.")] = False,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts of one request.")] = 32,
    max_text_bytes: Annotated[int, typer.Option(min=1, help="Bytes of one text.")] = 1_000_000,
    max_body_bytes: Annotated[int, typer.Option(min=1, help="Bytes of one request.")] = 20_000_000,
    max_k: Annotated[int, typer.Option(min=1, help="Labels of one text.")] = 1000,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections at once, for each worker.")] = 4096,
    batch: Annotated[int, typer.Option(min=1, help="Texts predicted together.")] = 32,
    queue: Annotated[int, typer.Option(min=1, help="Requests that may wait in a burst; more get 429.")] = 128,
    queue_texts: Annotated[int, typer.Option(min=1, help="Texts that may wait; more get 429.")] = 256,
    deadline: Annotated[float, typer.Option(min=0.001, help="Seconds until a request is given up.")] = 10.0,
    arrival: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take to arrive.")] = 10.0,
    idle: Annotated[float, typer.Option(min=1, help="Seconds that a connection may be idle.")] = 60.0,
    drain: Annotated[float, typer.Option(min=1, help="Seconds to finish requests on SIGTERM.")] = 30.0,
) -> None:
    """Serve models over HTTP: a page, a JSON interface, and Annif's."""
    from longtail.serve.settings import Limits, Settings, named_models, read_token

    limits = Limits(
        max_texts, max_text_bytes, max_body_bytes, max_k, batch, queue, queue_texts, max_connections, deadline,
        arrival, idle, drain,
    )  # fmt: skip
    settings = Settings(
        named_models(models), host, port, None if token_file is None else read_token(token_file), workers, limits,
        language, tuple(allow_host or ()), save_labels, log_texts,
    )  # fmt: skip
    _run(settings)


def _run(settings: Settings) -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("serving models", "serve") from None
    from longtail.serve.start import serve as started

    started(settings, greet=lambda line: print(line, flush=True))
