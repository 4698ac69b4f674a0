"""Words for the shapes of JSON: what rows of operations are written in, and how they are told.

In: shapes, as functions of the components they refer to. Out: JSON Schema. Fields of an object
whose name ends with `?` may be absent; an object has no others.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cluster.api.openapi.struct_schemas import Schema, struct_fields, struct_schema

#: A shape, told to whoever keeps the named ones.
Shape = Callable[["Components"], Schema]
#: How the schema of what a caller sends is named beside that of what is answered.
SENT = "{name}Body"
_REFERENCE = "#/components/schemas/"
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")


class Components:
    """The named schemas of a document, each made when it is first referred to."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._sent: list[type] = []

    def named(self, name: str, make: Callable[[], Schema]) -> Schema:
        """A reference to the schema of that name."""
        if name not in self.schemas:
            # Before it is made: a schema may refer to itself.
            self.schemas[name] = {}
            self.schemas[name] = make()
        return {"$ref": f"{_REFERENCE}{name}"}

    def struct(self, kind: type) -> Schema:
        """A struct as answers hold it."""
        return self.named(kind.__name__, lambda: struct_schema(kind, self.struct))

    def sent(self, kind: type) -> Schema:
        """A struct as callers send it."""
        self._sent.append(kind)
        return {"$ref": f"{_REFERENCE}{SENT.format(name=kind.__name__)}"}

    def close(self) -> None:
        """Add the schemas of what is sent, all from one call."""
        _, found = msgspec.json.schema_components(
            self._sent,
            ref_template=f"{_REFERENCE}{SENT}",
            schema_hook=lambda _kind: {"description": "Any value"},
        )
        for name, schema in found.items():
            told = dict(schema)
            # A docstring of the house is no help to callers.
            told.pop("description", None)
            self.schemas[SENT.format(name=_NO_NAME.sub("_", name))] = told


def plain(schema: Schema) -> Shape:
    """A shape that refers to nothing."""
    return lambda _components: schema


ANY = plain({})
TEXT = plain({"type": "string"})
INTEGER = plain({"type": "integer"})
NUMBER = plain({"type": "number"})
FLAG = plain({"type": "boolean"})
NULL = plain({"type": "null"})
#: RFC 3339.
INSTANT = plain({"type": "string", "format": "date-time"})
OBJECT = plain({"type": "object"})


def one_of(*values: object) -> Shape:
    """One of these values."""
    return plain({"enum": list(values)})


def nullable(shape: Shape) -> Shape:
    """This, or null."""
    return lambda components: or_null(shape(components))


def either(*shapes: Shape) -> Shape:
    """One of these."""
    return lambda components: {"anyOf": [shape(components) for shape in shapes]}


def or_null(schema: Schema) -> Schema:
    """A schema, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return schema if not schema else {"anyOf": [schema, {"type": "null"}]}


def array(shape: Shape) -> Shape:
    """A list of these."""
    return lambda components: {"type": "array", "items": shape(components)}


def table(shape: Shape) -> Shape:
    """An object with names of any kind."""
    return lambda components: {"type": "object", "additionalProperties": shape(components)}


def fields(named: Mapping[str, Shape]) -> Shape:
    """An object with these fields and no others."""

    def told(components: Components) -> Schema:
        return closed({name: shape(components) for name, shape in named.items()})

    return told


def closed(properties: Mapping[str, Schema]) -> Schema:
    """The schema of an object with these fields, `?` behind those that may be absent."""
    return {
        "type": "object",
        "properties": {name.removesuffix("?"): each for name, each in properties.items()},
        "required": [name for name in properties if not name.endswith("?")],
        "additionalProperties": False,
    }


def named(name: str, shape: Shape) -> Shape:
    """The same under a name of its own in the document."""
    return lambda components: components.named(name, lambda: shape(components))


def struct(kind: type) -> Shape:
    """A struct of the record, as answers hold it."""
    return lambda components: components.struct(kind)


def sent(kind: type) -> Shape:
    """A struct, as callers send it."""
    return lambda components: components.sent(kind)


def struct_with(
    name: str,
    kind: type,
    more: Mapping[str, Shape] | None = None,
    *,
    without: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    complete: bool = False,
) -> Shape:
    """A struct with further or fewer fields, under a name.

    `complete`: every field, also in types that usually leave zero values out.
    """

    def told(components: Components) -> Schema:
        properties = struct_fields(kind, components.struct, omits=False if complete else None)
        properties = {
            field: each
            for field, each in properties.items()
            if field.removesuffix("?") not in without
            and (not only or field.removesuffix("?") in only)
        }
        for field, shape in (more or {}).items():
            for known in (field, field.removesuffix("?"), f"{field}?"):
                properties.pop(known, None)
            properties[field] = shape(components)
        return closed(properties)

    return lambda components: components.named(name, lambda: told(components))


def open_fields(named: Mapping[str, Shape]) -> Shape:
    """An object that callers send: `?` behind what they may leave out; others are passed over."""

    def told(components: Components) -> Schema:
        return closed({name: shape(components) for name, shape in named.items()}) | {
            "additionalProperties": True
        }

    return told


Document = dict[str, Any]
