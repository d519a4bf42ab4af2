"""The methods, by the name people type."""

from __future__ import annotations

import difflib
from importlib import import_module
from types import ModuleType

from longtail.errors import ConfigError

# Modules are imported when asked for: `longtail methods` and `--help` must not wait for torch.
METHODS = {
    "centroid": "longtail.methods.centroid",
    "linear": "longtail.methods.linear",
    "decaf": "longtail.methods.decaf",
    "lightdxml": "longtail.methods.lightdxml",
    "lightxml": "longtail.methods.lightxml",
    "lightxml++": "longtail.methods.lightxmlpp",
    "gudn": "longtail.methods.gudn",
    "gudn++": "longtail.methods.gudnpp",
    "elias": "longtail.methods.elias",
    "elias++": "longtail.methods.eliaspp",
}


def method(name: str) -> ModuleType:
    """The module of a method: Config, fit, need and the model's class."""
    if not isinstance(name, str):
        raise ConfigError(f"the method is {name!r:.60}; give its name first, such as 'linear'")
    if name not in METHODS:
        close = difflib.get_close_matches(name, METHODS, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(METHODS)}"
        raise ConfigError(f"no method is called {name!r}; {hint}")
    return import_module(METHODS[name])
