"""Start a server: bind, then answer in this process or in several."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

from longtail.errors import ConfigError
from longtail.serve.settings import Settings


def serve(settings: Settings, greet: Callable[[str], None] = lambda line: None) -> None:
    """Answer until told to stop; `greet` gets the sentence that says where, as soon as all models are open."""
    listener = bound(settings.host, settings.port)
    if settings.workers == 1:
        from longtail.serve.worker import Worker

        Worker(settings, listener, greet).run()
        return
    from longtail.serve.supervisor import Supervisor

    sys.stdout.flush()  # or every fork would write it again
    Supervisor(settings, listener, greet).run()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{host}:{port}: {reason}; choose another --port") from None
    listener.setblocking(False)
    return listener


BACKLOG = 2048  # connections that wait to be accepted
