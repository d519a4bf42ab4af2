"""What clients send, read and checked before anything is done with it.

Every value has one type and a range; unknown fields, NaN, halves of characters and nested towers are refused with a
sentence that names the field.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from longtail.serve.problems import ClientLeft, Problem
from longtail.serve.settings import Limits
from longtail.serve.state import ARRIVED

HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


# -- bodies ------------------------------------------------------------------------------------------------------------


async def read_body(request: Request, kind: str, limits: Limits) -> bytes:
    """All that a client sends, if it is of this kind, not too long and arrives in time."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise Problem(415, f"the body must be {kind}, not {given or 'without a type'}: set Content-Type")
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or len(announced) > 18 or int(announced) > limits.body_bytes:
        raise too_large(limits)
    try:
        if request.scope.get(ARRIVED):  # as nearly always: nothing to wait for
            return await _read(request, limits)
        async with asyncio.timeout(limits.arrival):
            return await _read(request, limits)
    except TimeoutError:
        raise Problem(408, f"the request did not arrive within {limits.arrival:g} s", headers=CLOSE) from None


async def _read(request: Request, limits: Limits) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > limits.body_bytes:
            raise too_large(limits)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(limits: Limits) -> Problem:
    """A body beyond the limit; what is left of it is not read."""
    return Problem(413, f"the body is larger than {limits.body_bytes:,} bytes; send fewer texts", headers=CLOSE)


CLOSE = {"Connection": "close"}


async def read_json(request: Request, limits: Limits) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The value in the body."""
    body = await read_body(request, JSON, limits)
    try:
        return _decoder.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}") from None
    except RecursionError:
        raise Problem(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise Problem(400, f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits:.20} is too large for a number")
    return number


LONGEST_NUMBER = 1000  # digits
_decoder = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole, parse_float=_finite)


async def read_form(request: Request, limits: Limits) -> dict[str, str]:
    """The fields of a form; of one that comes twice the last."""
    body = await read_body(request, FORM, limits)
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except UnicodeDecodeError:
        raise Problem(400, "the form is not UTF-8") from None
    except ValueError:
        raise Problem(400, f"the form has more than {MOST_FIELDS} fields") from None
    return dict(pairs)


MOST_FIELDS = 1000


# -- values ------------------------------------------------------------------------------------------------------------


class Fields:
    """The fields of a JSON object or of a query, each taken by its name, with the status of what is refused."""

    def __init__(self, given: object, known: Collection[str] | None, what: str = "the body", status: int = 422):
        self.status = status
        if not isinstance(given, dict):
            raise Problem(status, f"{what} must be an object, not {kind_of(given)}")
        self.given: dict[str, Any] = given
        unknown = sorted(set(given) - set(known)) if known is not None else []
        if unknown:
            raise Problem(status, f"{what} has no field {shown(unknown[0])}; there are {', '.join(known or ())}")

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def string(self, name: str, absent: str | None = None, longest: int | None = None) -> str:
        """A string without halves of characters; `longest` counts bytes of UTF-8."""
        value = self._taken(name, absent)
        if not isinstance(value, str):
            raise self.wrong(name, "must be a string", value)
        return check_text(value, f"{name}", longest, self.status)

    def strings(self, name: str, longest: int | None = None) -> list[str]:
        """A list of strings."""
        value = self.list(name)
        for at, item in enumerate(value):
            if not isinstance(item, str):
                raise self.wrong(f"{name}[{at}]", "must be a string", item)
            check_text(item, f"{name}[{at}]", longest, self.status)
        return value

    def list(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self._taken(name, None)
        if not isinstance(value, list):
            raise self.wrong(name, "must be a list", value)
        return value

    def whole(self, name: str, absent: int | None, least: int, most: int | None) -> int:
        """A whole number within a range."""
        value = self._taken(name, absent)
        if type(value) is float and value.is_integer():  # JSON knows one kind of number: 5.0 is 5
            value = int(value)
        if type(value) is not int:
            raise self.wrong(name, "must be a whole number", value)
        if value < least or (most is not None and value > most):
            raise self.wrong(name, f"must be from {least} to {most}" if most else f"must be at least {least}", value)
        return value

    def share(self, name: str, absent: float) -> float:
        """A number from 0 to 1."""
        value = self._taken(name, absent)
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise self.wrong(name, "must be a number from 0 to 1", value)
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false, which it is where it is absent."""
        value = self._taken(name, False)
        if type(value) is not bool:
            raise self.wrong(name, "must be true or false", value)
        return value

    def wrong(self, name: str, must: str, value: object) -> Problem:
        """A value that is refused."""
        return Problem(self.status, f"{name} {must}, not {shown(value)}")

    def _taken(self, name: str, absent: object) -> Any:  # noqa: ANN401
        if name in self.given:
            return self.given[name]
        if absent is None:
            raise Problem(self.status, f"{name} is missing")
        return absent


def check_text(text: str, name: str, longest: int | None, status: int) -> str:
    """The text, if it is whole and not too long."""
    # A character takes at most four bytes, so most texts need not be encoded to be measured.
    if longest is not None and 4 * len(text) > longest and len(text.encode("utf-8", "surrogatepass")) > longest:
        raise Problem(413, f"{name} has more than {longest:,} bytes; send a shorter text")
    if not text.isascii() and HALF.search(text):
        raise Problem(status, f"{name} holds half of a character (a lone surrogate)")
    return text


def numbers_of(given: dict[str, str], kinds: Mapping[str, Callable[[str], object]], status: int) -> dict[str, object]:
    """The fields of a form or query, with those that are numbers made numbers."""
    read: dict[str, object] = dict(given)
    for name, kind in kinds.items():
        if name in given:
            try:
                read[name] = kind(given[name])
            except ValueError:
                raise Problem(status, f"{name} must be a number, not {shown(given[name])}") from None
    return read


def whole_number(text: str) -> int:
    """A whole number in plain digits."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ValueError(text)
    return int(text)


def shown(value: object) -> str:
    """A value as a sentence quotes it: short, and in ASCII."""
    try:
        return ascii(value)[:60] if not isinstance(value, (list, dict)) else kind_of(value)
    except ValueError:  # an integer with more digits than Python prints
        return "a huge number"


def kind_of(value: object) -> str:
    """What JSON calls it."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
