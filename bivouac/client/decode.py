"""JSON of the API as structs: the way back from how the server writes them.

In: decoded JSON and a type. Out: a value of it, or `ValidationError` that names the place. The
server writes empty lists and maps as null, some instants as RFC 3339, some spans as text.
"""

import re
import types
import typing
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_UNITS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000,
    "m": 60_000_000_000, "h": 3_600_000_000_000,
}  # fmt: skip
_SECOND = 1_000_000_000
_FRACTION = 9


def decode(value: Any, kind: Any) -> Any:
    """The value as that type."""
    if kind is Any:
        return value
    return msgspec.convert(_prepared(value, kind), kind)


def instant(text: str) -> int:
    """Nanoseconds since 1970, of RFC 3339 in UTC; 0 of what is no such text."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        return 0
    whole = datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return int(whole.timestamp()) * _SECOND + int((found[2] or "").ljust(_FRACTION, "0"))


def span(text: str) -> int:
    """Nanoseconds of `1h30m`; 0 of what is no such text."""
    parts = _PART.findall(text)
    total = sum(round(float(number) * _UNITS[unit]) for number, unit in parts)
    return -total if text.startswith("-") else total


def _prepared(value: Any, hint: Any) -> Any:
    if typing.get_origin(hint) is typing.Annotated:
        hint = hint.__origin__
    if isinstance(value, str) and hint is int:
        return instant(value) or span(value)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in typing.get_args(hint) if each is not type(None)]
        return _prepared(value, inner[0]) if len(inner) == 1 and value is not None else value
    if isinstance(value, list) and origin in (tuple, list):
        item = typing.get_args(hint)[0]
        return [_prepared(each, item) for each in value]
    if isinstance(value, dict) and origin is dict:
        item = typing.get_args(hint)[1]
        return {name: _prepared(each, item) for name, each in value.items()}
    if isinstance(value, dict) and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = _fields(hint)
        # Null means empty; the struct's own default says it.
        return {
            name: _prepared(each, hints[name])
            for name, each in value.items()
            if each is not None and name in hints
        }
    return [] if value is None and origin in (tuple, list) else value


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct, include_extras=True)
    return {each.encode_name: hints[each.name] for each in msgspec.structs.fields(struct)}
