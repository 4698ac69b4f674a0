"""Job files written as JSON: objects read as bodies, by a schema that tells blocks apart.

In: a syntax tree of JSON text and a schema. Out: a `Body` like that of the native language. JSON
text is read by the expression parser, of whose grammar it is a part, so places and templates come
for free.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.schema import SCHEMAS, Schema
from cluster.jobspec.hcl.source import Source

#: Blocks with a label that no schema describes.
_LABELLED = ("dynamic", "variable")


@dataclass(slots=True)
class JsonBody(syntax.SyntaxNode):
    """An object that will be a body once its schema is known."""

    members: syntax.Object
    source: Source
    attributes: dict[str, syntax.Attribute] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, key, value in _members(self.members):
            self.attributes[name] = syntax.Attribute(key.start, value.end, name, key.end, value)


def json_body(members: syntax.Object, source: Source) -> JsonBody:
    """An object as a body."""
    return JsonBody(members.start, members.end, members, source)


def as_body(body: "syntax.BlockBody | JsonBody", schema: Schema) -> syntax.BlockBody:
    """The body as the schema reads it; a native body is what it is."""
    if isinstance(body, syntax.BlockBody):
        return body
    result = syntax.BlockBody(body.start, body.end)
    for name, key, value in _members(body.members):
        is_block = name == "dynamic" or schema.block_entry(name) is not None
        if is_block and (name not in schema.arguments or isinstance(value, syntax.Object)):
            result.blocks.extend(_json_blocks(name, key, value, schema, body.source))
        elif name in schema.arguments or not schema.name:
            result.attributes[name] = body.attributes[name]
        elif name != "//":
            detail = f'No argument or block type is named "{name}".'
            detail += nearest(name, [*schema.arguments, *schema.block_names])
            body.source.note(key.start, key.end, "Extraneous JSON object property", detail)
    return result


def _members(
    members: syntax.Object,
) -> Iterator[tuple[str, syntax.Expression, syntax.Expression]]:
    for key, value in members.items:
        name = key.value if isinstance(key, syntax.LiteralExpression) else None
        yield (name if isinstance(name, str) else ""), key, value


def _json_blocks(
    kind: str, key: syntax.Expression, value: syntax.Expression, schema: Schema, source: Source
) -> Iterator[syntax.Block]:
    entry = schema.block_entry(kind)
    inner = None if entry is None else SCHEMAS.get(entry.kind)
    is_labelled = kind in _LABELLED or (
        inner is not None and inner.label_field != "" and kind not in schema.maps
    )
    yield from _labelled(kind, key, value, int(is_labelled), [], source)


def _labelled(
    kind: str,
    key: syntax.Expression,
    value: syntax.Expression,
    wanted: int,
    labels: list[tuple[str, tuple[int, int]]],
    source: Source,
) -> Iterator[syntax.Block]:
    values = value.items if isinstance(value, syntax.Tuple) else [value]
    for item in values:
        if isinstance(item, syntax.LiteralExpression) and item.value is None:
            continue
        if not isinstance(item, syntax.Object):
            detail = f'A JSON object is required here, to define a "{kind}" block.'
            source.note(item.start, item.end, "Incorrect JSON value type", detail)
        elif len(labels) < wanted:
            for name, name_node, inner in _members(item):
                place = (name_node.start, name_node.end)
                yield from _labelled(kind, key, inner, wanted, [*labels, (name, place)], source)
        else:
            yield syntax.Block(
                key.start,
                item.end,
                kind,
                key.end,
                [name for name, _ in labels],
                [place for _, place in labels],
                item.start,
                json_body(item, source),  # type: ignore[arg-type] # read through as_body
            )
