"""Structs as JSON Schema, exactly as `cluster.api.encode` writes them.

In: a struct type, and how others are referred to. Out: its fields with the schema of each. Lists
and maps that are empty are null, save where the tables of `encode_rules` keep them.
"""

import types
import typing
from collections.abc import Callable
from enum import Enum
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
from cluster.api.openapi.computed_fields import COMPUTED_FIELDS

Schema = dict[str, Any]
Refer = Callable[[type], Schema]

_SCALARS: dict[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    # In base64.
    bytes: {"type": "string", "contentEncoding": "base64"},
}


def struct_schema(kind: type, refer: Refer) -> Schema:
    """The schema of a struct."""
    properties = struct_fields(kind, refer)
    return {
        "type": "object",
        "properties": {name.removesuffix("?"): each for name, each in properties.items()},
        "required": [name for name in properties if not name.endswith("?")],
        "additionalProperties": False,
    }


def struct_fields(kind: type, refer: Refer, *, omits: bool | None = None) -> dict[str, Schema]:
    """The fields of a struct, `?` behind the names of those that may be absent."""
    omits = kind in OMITS_ZERO if omits is None else omits
    hints = typing.get_type_hints(kind, include_extras=True)
    found: dict[str, Schema] = {
        name: {"const": value} for name, value in CONSTANTS.get(kind, {}).items()
    }
    for field in msgspec.structs.fields(kind):
        place = (kind, field.name)
        if place in LEFT_OUT:
            continue
        schema = _schema_of(hints[field.name], refer, keeps_empty=place in KEPT_EMPTY)
        may_lack = (omits and place not in KEPT_EMPTY) or (
            field.encode_name in {**ADDITIONS.get(kind, {}), **UNASKED_ADDITIONS.get(kind, {})}
        )
        found[field.encode_name + ("?" if may_lack else "")] = schema
    if kind in COMPUTED:
        found |= COMPUTED_FIELDS[kind]
    return found


def _schema_of(hint: Any, refer: Refer, *, keeps_empty: bool = False) -> Schema:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        extra = next((m.extra for m in hint.__metadata__ if isinstance(m, msgspec.Meta)), None)
        if extra == {"wire": "rfc3339"}:
            return {"type": ["string", "null"], "format": "date-time"}
        return _schema_of(hint.__origin__, refer)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in typing.get_args(hint) if each is not type(None)]
        if len(inner) == 1:
            return _or_null(_schema_of(inner[0], refer, keeps_empty=True))
        return {}
    if origin is tuple:
        items = _schema_of(typing.get_args(hint)[0], refer)
        return _kept({"type": "array", "items": items}, keeps_empty=keeps_empty)
    if origin is dict:
        values = _schema_of(typing.get_args(hint)[1], refer)
        return _kept({"type": "object", "additionalProperties": values}, keeps_empty=keeps_empty)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return refer(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [each.value for each in hint]}
    return dict(_SCALARS.get(hint, {}))


def _kept(schema: Schema, *, keeps_empty: bool) -> Schema:
    return schema if keeps_empty else _or_null(schema)


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return schema | {"type": [schema["type"], "null"]}
    # What is free may be null already.
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema
