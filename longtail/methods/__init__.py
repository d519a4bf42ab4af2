"""The methods, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

from longtail.errors import ConfigError

# Modules are imported on demand: `longtail methods` and `--help` must not wait for torch.
METHODS = {
    "centroid": "longtail.methods.centroid",
    "linear": "longtail.methods.linear",
    "decaf": "longtail.methods.decaf",
    "decaf++": "longtail.methods.decafpp",
    "lightdxml": "longtail.methods.lightdxml",
    "lightxml": "longtail.methods.lightxml",
    "lightxml++": "longtail.methods.lightxmlpp",
    "gudn": "longtail.methods.gudn",
    "gudn++": "longtail.methods.gudnpp",
    "elias": "longtail.methods.elias",
    "elias++": "longtail.methods.eliaspp",
}


def method(name: str) -> Method:
    """A method by name, or an ablation of it from its paper as NAME/VARIANT."""
    if not isinstance(name, str):
        raise ConfigError(f"the method is {name!r:.60}; give its name first, such as 'linear'")
    own, slash, variant = name.partition("/")
    if own not in METHODS:
        raise ConfigError(f"no method is called {name!r}; {_suggested(own, METHODS)}")
    module = import_module(METHODS[own])
    fit = _varied(module, own, variant) if slash else module.fit
    over_ranks = getattr(module, "OVER_RANKS", False) and not slash
    return Method(name, module.Config, fit, module.need, getattr(module, "CPU_ONLY", False), over_ranks)


@dataclass(frozen=True)
class Method:
    """Interface of a method; `fit` annotates the class of the model it returns."""

    name: str
    Config: Any  # a frozen dataclass
    fit: Callable[..., Any]
    need: Callable[..., Any]
    cpu_only: bool
    over_ranks: bool = False  # whether torchrun may train it in several processes


def _varied(module: ModuleType, name: str, variant: str) -> Callable[..., Any]:
    """The method's `fit` with its variant set."""
    variants = getattr(module, "VARIANTS", {})
    if variant not in variants:
        raise ConfigError(f"{name} has no variant {variant!r}; {_suggested(variant, variants)}")

    @wraps(module.fit)
    def fit(*inputs: Any) -> Any:  # noqa: ANN401 - as the method's own fit
        return module.fit(*inputs, variant=variants[variant])

    return fit


def _suggested(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
