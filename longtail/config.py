"""Settings: frozen dataclasses whose fields document their meaning and the source of their default."""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from longtail.errors import ConfigError, system_error

Settings = TypeVar("Settings")


def setting(default: Any, meaning: str, source: str = "") -> Any:  # noqa: ANN401 - any default
    """A dataclass field that `longtail methods` can explain.

    >>> @dataclass(frozen=True)
    ... class Config:
    ...     beam: int = setting(10, "clusters opened per document", "PECOS")
    >>> build(Config, {"beam": "20"}).beam
    20
    """
    about = {"meaning": meaning, "source": source}
    if dataclasses.is_dataclass(default):
        return field(default_factory=lambda: default, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Explained:
    """One line of `longtail methods METHOD`."""

    name: str
    default: Any
    meaning: str
    source: str


def explain(defaults: Any) -> list[Explained]:  # noqa: ANN401 - an instance of any settings class
    """Every field of a settings object, nested ones with dots."""
    lines: list[Explained] = []
    for item in dataclasses.fields(defaults):
        value, about = getattr(defaults, item.name), item.metadata
        if dataclasses.is_dataclass(value):
            lines += [dataclasses.replace(line, name=f"{item.name}.{line.name}") for line in explain(value)]
        else:
            lines.append(Explained(item.name, value, about.get("meaning", ""), about.get("source", "")))
    return lines


def build(kind: type[Settings], values: dict[str, Any]) -> Settings:
    """The defaults of `kind` overridden by `values`; dotted keys reach nested settings, unknown keys are errors."""
    return _replaced(kind(), nested(values), prefix="")


def read_toml(path: Path) -> dict[str, Any]:
    """The settings in a TOML file.

    `based_on = "other.toml"`, in the file or in one of its tables, takes all settings of another file beside it that
    this one does not have.
    """
    return _with_base(_parsed(path), path, (path.resolve(),))


def merged(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Settings with others on top, table by table.

    >>> merged({"optim": {"lr": 1, "epochs": 2}, "beam": 3}, {"optim": {"lr": 4}})
    {'optim': {'lr': 4, 'epochs': 2}, 'beam': 3}
    """
    both = dict(values)
    for name, value in over.items():
        below = both.get(name)
        both[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return both


def close_to(name: str, names: list[str]) -> str:
    """What to say where `name` is none of the names.

    >>> close_to("beem", ["beam", "seed"])
    'did you mean beam?'
    """
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"


def _with_base(values: dict[str, Any], path: Path, files: tuple[Path, ...]) -> dict[str, Any]:
    own = {name: _with_base(value, path, files) if isinstance(value, dict) else value for name, value in values.items()}
    if "based_on" not in own:
        return own
    base = path.parent / str(own.pop("based_on"))
    if base.resolve() in files:
        raise ConfigError(f"{path}: based_on = {base.name!r} leads back to a file that is based on this one")
    return merged(_with_base(_parsed(base), base, (*files, base.resolve())), own)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(system_error(path, error, "cannot be read", "give a TOML file")) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def parse_assignment(text: str) -> tuple[str, str]:
    """`field=value` from the command line."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {text}: write it as field=value")
    return name.strip(), value.strip()


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Dotted names as tables in tables.

    >>> nested({"optim.lr": 1, "optim.epochs": 2})
    {'optim': {'lr': 1, 'epochs': 2}}
    """
    tree: dict[str, Any] = {}
    for name, value in values.items():
        head, dot, rest = name.partition(".")
        if dot:
            tree.setdefault(head, {})[rest] = value
        elif isinstance(value, dict) and isinstance(tree.get(head), dict):
            tree[head] |= value
        else:
            tree[head] = value
    return tree


def _replaced(defaults: Any, values: dict[str, Any], prefix: str) -> Any:  # noqa: ANN401
    hints = typing.get_type_hints(type(defaults))
    names = [item.name for item in dataclasses.fields(defaults)]
    changed = {}
    for name, value in values.items():
        if name not in names:
            below = [line.name for line in explain(defaults) if line.name.endswith(f".{name}")]
            near = " or ".join(prefix + each for each in below)
            hint = f"did you mean {near}?" if near else close_to(f"{prefix}{name}", [prefix + each for each in names])
            raise ConfigError(f"there is no setting {prefix}{name}; {hint}")
        current = getattr(defaults, name)
        if dataclasses.is_dataclass(current):
            if not isinstance(value, dict):
                raise ConfigError(f"{prefix}{name} is a group of settings; write {prefix}{name}.field=value")
            changed[name] = _replaced(current, nested(value), f"{prefix}{name}.")
        else:
            changed[name] = _converted(value, hints[name], f"{prefix}{name}")
    return dataclasses.replace(defaults, **changed)


def _converted(value: Any, kind: Any, name: str) -> Any:  # noqa: ANN401
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if value is None or (isinstance(value, str) and value.lower() == "none"):
            return None
        kind = next(inner for inner in typing.get_args(kind) if inner is not type(None))
    if typing.get_origin(kind) is typing.Literal:
        return _chosen(value, typing.get_args(kind), name)
    if typing.get_origin(kind) is tuple:  # of one type: a list in TOML, "0.5,0.75" on the command line
        items = value if isinstance(value, (list, tuple)) else [item for item in str(value).split(",") if item.strip()]
        return tuple(_converted(item, typing.get_args(kind)[0], name) for item in items)
    try:
        return _CONVERT[kind](value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise ConfigError(f"{name} = {value!r:.60}: expected {_EXPECTED[kind]}") from None


def _chosen(value: Any, choices: tuple[Any, ...], name: str) -> Any:  # noqa: ANN401
    for choice in choices:
        # Command-line values are strings; TOML's true must not match 1, although Python compares them equal.
        if value == (choice if type(value) is type(choice) else str(choice)):
            return choice
    raise ConfigError(f"{name} = {value!r}: it must be one of {', '.join(map(repr, choices))}")


def _whole(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    number = int(value)
    if not 0 <= number <= LARGEST:
        raise ValueError
    return number


def _number(value: Any) -> float:  # noqa: ANN401
    number = float(value)
    if isinstance(value, bool) or not 0 <= number < math.inf:
        raise ValueError
    return number


def _truth(value: Any) -> bool:  # noqa: ANN401
    return value if isinstance(value, bool) else {"true": True, "yes": True, "false": False, "no": False}[value.lower()]


def _string(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError
    return value


LARGEST = 2**32 - 1  # whole number: the largest seed that NumPy, scikit-learn and compiled code all accept
_CONVERT = {int: _whole, float: _number, bool: _truth, str: _string}
_EXPECTED = {  # no setting of any method is negative
    int: f"a whole number from 0 to {LARGEST}",
    float: "a finite number, 0 or more",
    bool: "true or false",
    str: "a string",
}


# -- paths ---------------------------------------------------------------------------------------------------------


def path_of(value: object, name: str) -> Path:
    """Validate a path given as an argument."""
    if not isinstance(value, (str, Path)):
        raise ConfigError(f"{name} = {value!r:.60}: expected a path, such as 'runs/mine'")
    return Path(value)
