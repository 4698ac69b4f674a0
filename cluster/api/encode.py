"""Structs as the public API writes them: wire names, instants as text, what is null or left out.

In: a struct. Out: plain dicts, lists and scalars for JSON. One writer is compiled per struct type,
on first use, from its annotations and the exceptions of `encode_rules`. Knows nothing of requests.
"""

import types
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any

import msgspec

from cluster.api.encode_rules import (
    ADDITIONS,
    COMPUTED,
    CONSTANTS,
    KEPT_EMPTY,
    LEFT_OUT,
    OMITS_ZERO,
    UNASKED_ADDITIONS,
)

#: What JSON can hold.
Plain = Any
Writer = Callable[[Any], Plain]
ObjectWriter = Callable[[Any], dict[str, Plain]]

_SECOND = 1_000_000_000


def to_plain(value: msgspec.Struct) -> dict[str, Plain]:
    """One struct as a JSON object of the public API."""
    return writer_of(type(value))(value)


def with_additions(value: msgspec.Struct) -> dict[str, Plain]:
    """As `to_plain`, with what is ours beside the reference's fields (http-api.md 5.8)."""
    struct = type(value)
    return _struct_writer(struct, omits=struct in OMITS_ZERO, adds=True)(value)


def complete_form(value: msgspec.Struct) -> dict[str, Plain]:
    """As `to_plain`, with every field, also in types that usually leave zero values out."""
    return _struct_writer(type(value), omits=False)(value)


def chosen_form(value: msgspec.Struct, fields: frozenset[str]) -> dict[str, Plain]:
    """As `complete_form`, with these fields only; the others are not looked at."""
    return _struct_writer(type(value), omits=False, only=fields)(value)


def instant_text(at: int) -> str | None:
    """RFC 3339 with up to nine fractional digits; None for the unset instant."""
    if at == 0:
        return None
    seconds, nanoseconds = divmod(at, _SECOND)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{text}{fraction}Z"


def writer_of(struct: type) -> ObjectWriter:
    """The compiled writer of one struct type."""
    return _struct_writer(struct, omits=struct in OMITS_ZERO)


@cache
def _struct_writer(
    struct: type, *, omits: bool, only: frozenset[str] | None = None, adds: bool = False
) -> ObjectWriter:
    hints = typing.get_type_hints(struct, include_extras=True)
    fields = [
        (
            field.name,
            field.encode_name,
            _value_writer(hints[field.name], keeps_empty=(struct, field.name) in KEPT_EMPTY),
            omits and (struct, field.name) not in KEPT_EMPTY,
        )
        for field in msgspec.structs.fields(struct)
        if (struct, field.name) not in LEFT_OUT and (only is None or field.name in only)
    ]
    constants = CONSTANTS.get(struct, {}) if only is None else {}
    computed = COMPUTED.get(struct)
    ours = ADDITIONS.get(struct, {})
    additions = UNASKED_ADDITIONS.get(struct, {}) | (ours if adds else {})
    if not adds:
        fields = [field for field in fields if field[1] not in ours]

    def write(value: Any) -> dict[str, Plain]:
        plain = dict(constants)
        for attribute, name, write_value, omits_zero in fields:
            item = getattr(value, attribute)
            if omits_zero and not item:
                continue
            plain[name] = write_value(item)
        if computed is not None:
            plain |= computed(value)
        for name, defaults in additions.items():
            if plain.get(name) in defaults:
                plain.pop(name, None)
        return plain

    return write


def _value_writer(hint: Any, *, keeps_empty: bool = False) -> Writer:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        extra = next((m.extra for m in hint.__metadata__ if isinstance(m, msgspec.Meta)), None)
        if extra == {"wire": "rfc3339"}:
            return instant_text
        return _value_writer(hint.__origin__)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in typing.get_args(hint) if each is not type(None)]
        return _nullable(_value_writer(inner[0], keeps_empty=True) if len(inner) == 1 else _as_is)
    if origin is tuple:
        return _list_writer(_value_writer(typing.get_args(hint)[0]), keeps_empty=keeps_empty)
    if origin is dict:
        return _map_writer(_value_writer(typing.get_args(hint)[1]), keeps_empty=keeps_empty)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        # Looked up when the first value comes: types may refer to each other.
        return lambda value: writer_of(hint)(value)  # noqa: PLW0108 - see above
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: value.value
    return _as_is


def _list_writer(write: Writer, *, keeps_empty: bool) -> Writer:
    if write is _as_is:
        return lambda items: list(items) if items or keeps_empty else None
    return lambda items: [write(item) for item in items] if items or keeps_empty else None


def _map_writer(write: Writer, *, keeps_empty: bool) -> Writer:
    if write is _as_is:
        return lambda items: dict(items) if items or keeps_empty else None
    return lambda items: (
        {key: write(item) for key, item in items.items()} if items or keeps_empty else None
    )


def _nullable(write: Writer) -> Writer:
    if write is _as_is:
        return _as_is
    return lambda value: None if value is None else write(value)


def _as_is(value: Any) -> Plain:
    return value
