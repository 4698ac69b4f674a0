"""Bodies of a job file into forms of the request, by schema.

In: a body, its schema, and a scope. Out: a form; every unknown name, wrong value and missing
label is noted at its place, and reading goes on. `dynamic` blocks are unfolded here.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cluster.jobspec.durations import read_duration
from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.block_rules import RULES
from cluster.jobspec.hcl.evaluate import evaluate, pairs
from cluster.jobspec.hcl.finish import FINISHERS
from cluster.jobspec.hcl.free_form import free_attributes, free_body
from cluster.jobspec.hcl.json_body import JsonBody, as_body
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.schema import SCHEMAS, Schema, SchemaEntry
from cluster.jobspec.hcl.scope import COST_OF_BLOCK, EvaluationProblem, Scope, charge
from cluster.jobspec.hcl.values import Mismatch, Value, to_bool, to_json, to_text, type_word, whole
from cluster.jobspec.request_form import RequestForm, empty_form

_RANGES = {"uint8": (0, 255), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1)}
_DYNAMIC = "dynamic"
_DYNAMIC_ARGUMENTS = ("for_each", "iterator", "labels")


class Unfolded(NamedTuple):
    """A block as it applies: with the labels and the scope that a `dynamic` may have given it."""

    block: syntax.Block
    labels: list[str]
    body: "syntax.BlockBody | JsonBody"
    scope: Scope


def decode_block(schema: Schema, unfolded: Unfolded) -> RequestForm:
    """The form of one block. What is wrong with it is noted in the scope's source."""
    form = empty_form(schema.shape)
    offsets = unfolded.scope.source.offsets
    offsets[id(form), ""] = unfolded.block.start
    body = as_body(unfolded.body, schema)
    scope = unfolded.scope
    if schema.label_field:
        form[schema.label_field] = unfolded.labels[0] if unfolded.labels else ""
    _arguments(schema, body, form, scope)
    for name in schema.required - body.attributes.keys():
        start = unfolded.block.head_end
        detail = f'The argument "{name}" is required, but no definition was found.'
        scope.source.note(start, start, "Missing required argument", detail)
    _blocks(schema, body, form, scope)
    rule = RULES.get(schema.name)
    if rule is not None:
        rule(unfolded.block, body, form, scope.source)
    finisher = FINISHERS.get(schema.name)
    if finisher is not None:
        finisher(form)
    return form


def _arguments(schema: Schema, body: syntax.BlockBody, form: RequestForm, scope: Scope) -> None:
    for name, attribute in body.attributes.items():
        if scope.source.is_full:
            return
        entry = schema.arguments.get(name)
        if entry is None:
            _note_unknown_argument(schema, attribute, scope)
            continue
        try:
            value = argument_value(attribute.expression, entry.kind, scope)
        except EvaluationProblem as problem:
            scope.source.note(problem.start, problem.end, problem.summary, problem.detail)
            continue
        if value is not None:
            form[entry.field] = value
            scope.source.offsets[id(form), entry.field] = attribute.start


def _note_unknown_argument(schema: Schema, attribute: syntax.Attribute, scope: Scope) -> None:
    detail = f'An argument named "{attribute.name}" is not expected here.'
    if attribute.name in schema.block_names:
        detail += f' Did you mean to define a block of type "{attribute.name}"?'
    else:
        detail += nearest(attribute.name, schema.arguments)
    scope.source.note(attribute.start, attribute.name_end, "Unsupported argument", detail)


def argument_value(node: syntax.Expression, kind: str, scope: Scope) -> Any:
    """The value of an attribute as its field wants it.

    None for null. Raises `EvaluationProblem`.
    """
    value = evaluate(node, scope)
    try:
        return _fitted(value, kind)
    except Mismatch as mismatch:
        problem = f"Unsuitable value: {mismatch}"
        raise EvaluationProblem(node.start, node.end, "Unsuitable value type", problem) from None


def _fitted(value: Value, kind: str) -> Any:
    if kind == "dur":
        return _duration(value)
    if value is None:
        return None
    if kind == "any":
        return to_json(value)
    if kind == "str":
        return to_text(value)
    if kind == "bool":
        return to_bool(value)
    if kind[0] == "[":
        if not isinstance(value, list):
            wanted = {"[str]": "string", "[int]": "number"}.get(kind, "value")
            raise Mismatch(f"list of {wanted} required, but have {type_word(value)}")
        return [_element(item, kind[1:-1]) for item in value]
    if kind[0] == "{":
        return _text_map(value, kind[1:-1])
    return whole(value, *_RANGES.get(kind, (-(2**63), 2**63 - 1)))


def _text_map(value: Value, kind: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Mismatch(f"map of string required, but have {type_word(value)}")
    return {key: _element(item, kind) for key, item in value.items()}


def _element(value: Value, kind: str) -> Any:
    if value is None:
        raise Mismatch("null value is not allowed")
    return _fitted(value, kind)


def _duration(value: Value) -> int:
    if value is None:
        raise Mismatch("a duration is required, not null")
    if isinstance(value, str):
        nanoseconds = read_duration(value)
        if nanoseconds is None:
            raise Mismatch(f'invalid duration "{value[:64]}"')
        return nanoseconds
    if isinstance(value, bool):
        raise Mismatch("a duration is required, but have bool")
    return whole(value)


def _blocks(schema: Schema, body: syntax.BlockBody, form: RequestForm, scope: Scope) -> None:
    first: dict[str, syntax.Block] = {}
    for unfolded in unfold(schema, body, scope):
        if scope.source.is_full:
            return
        block = unfolded.block
        try:
            charge(COST_OF_BLOCK, block, scope)
        except EvaluationProblem as problem:
            scope.source.note(block.start, block.type_end, problem.summary, problem.detail)
            return
        entry = schema.block_entry(block.type)
        assert entry is not None, "unfold passes known blocks only"
        if not _has_right_labels(schema, unfolded):
            continue
        is_repeatable = block.type in schema.many or block.type in schema.named
        if not is_repeatable and _is_second(schema, body, block, first, scope):
            continue
        if block.type in schema.free:
            form[entry.field] = free_body(unfolded.body, unfolded.scope)
        elif block.type in schema.maps:
            form[entry.field] = _map_block(unfolded, entry)
        elif block.type in schema.single:
            form[entry.field] = decode_block(SCHEMAS[entry.kind], unfolded)
        elif block.type in schema.named:
            form[entry.field] = form.get(entry.field) or {}
            form[entry.field][unfolded.labels[0]] = decode_block(SCHEMAS[entry.kind], unfolded)
        else:
            form[entry.field] = form.get(entry.field) or []
            form[entry.field].append(decode_block(SCHEMAS[entry.kind], unfolded))


def _is_second(
    schema: Schema,
    body: syntax.BlockBody,
    block: syntax.Block,
    first: dict[str, syntax.Block],
    scope: Scope,
) -> bool:
    source = scope.source
    attribute = body.attributes.get(block.type) if block.type in schema.arguments else None
    known = first.setdefault(block.type, block)
    if attribute is not None:
        earlier, later = sorted((attribute, block), key=lambda item: item.start)
        line, column = source.place(earlier.start)
        detail = f"{block.type} may not be defined more than once."
        detail += f" Another definition is defined at {source.name}:{line},{column}."
    elif known is not block:
        later = block
        line, column = source.place(known.start)
        detail = f"Only one {block.type} block is allowed."
        detail += f" Another was defined at {source.name}:{line},{column}."
    else:
        return False
    source.note(
        later.start, later.start + len(block.type), f"Duplicate {block.type} block", detail
    )
    return True


def _map_block(unfolded: Unfolded, entry: SchemaEntry) -> dict[str, Any]:
    """A block whose attributes are the entries of a map."""
    body, scope = unfolded.body, unfolded.scope
    values: dict[str, Any] = {}
    if isinstance(body, syntax.BlockBody):
        for block in body.blocks:
            detail = f'Blocks of type "{block.type}" are not expected here.'
            scope.source.note(block.start, block.type_end, "Unsupported block type", detail)
    for attribute in free_attributes(body).values():
        try:
            value = evaluate(attribute.expression, scope)
            values[attribute.name] = _element(value, entry.kind[1:-1])
        except Mismatch as mismatch:
            place = attribute.expression
            detail = f"Unsuitable value: {mismatch}"
            scope.source.note(place.start, place.end, "Unsuitable value type", detail)
        except EvaluationProblem as problem:
            scope.source.note(problem.start, problem.end, problem.summary, problem.detail)
    return values


def _has_right_labels(schema: Schema, unfolded: Unfolded) -> bool:
    block = unfolded.block
    entry = schema.block_entry(block.type)
    is_body = entry is not None and block.type in (*schema.single, *schema.many, *schema.named)
    inner = SCHEMAS[entry.kind] if entry is not None and is_body else None
    wanted = 1 if inner is not None and inner.label_field else 0
    name = "name" if inner is not None and inner.label_field == "Name" else ""
    source = unfolded.scope.source
    if len(unfolded.labels) > wanted:
        start, end = (block.label_places[wanted:] or [(block.start, block.type_end)])[0]
        detail = f"Only {wanted} labels ({name}) are expected for {block.type} blocks."
        if wanted == 0:
            detail = f"No labels are expected for {block.type} blocks."
        source.note(start, end, f"Extraneous label for {block.type}", detail)
        return False
    if len(unfolded.labels) < wanted:
        detail = f"All {block.type} blocks must have {wanted} labels ({name})."
        source.note(block.head_end, block.head_end + 1, f"Missing {name} for {block.type}", detail)
        return False
    return True


def unfold(schema: Schema, body: syntax.BlockBody, scope: Scope) -> Iterator[Unfolded]:
    """The known blocks of a body, each `dynamic` one as often as its collection says."""
    for block in body.blocks:
        if scope.source.is_full:
            return
        if block.type == _DYNAMIC and schema.name:
            yield from _unfold_dynamic(schema, block, scope)
        elif schema.block_entry(block.type) is None:
            detail = f'Blocks of type "{block.type}" are not expected here.'
            if block.type in schema.arguments:
                detail += f' Did you mean to define argument "{block.type}"?'
            else:
                detail += nearest(block.type, schema.block_names)
            scope.source.note(block.start, block.type_end, "Unsupported block type", detail)
        else:
            yield Unfolded(block, block.labels, block.body, scope)


def _unfold_dynamic(schema: Schema, block: syntax.Block, scope: Scope) -> Iterator[Unfolded]:
    source = scope.source
    if len(block.labels) != 1 or schema.block_entry(block.labels[0]) is None:
        detail = "A dynamic block needs one label: the type of a block that may stand here."
        source.note(block.start, block.head_end, "Invalid dynamic block label", detail)
        return
    kind = block.labels[0]
    body = as_body(block.body, Schema("", "", single={"content": SchemaEntry("content", "", "")}))
    contents = [inner for inner in body.blocks if inner.type == "content"]
    if not contents:
        end = block.body.start
        detail = 'A dynamic block must have a nested block of type "content".'
        source.note(end, end, "Missing dynamic content block", detail)
        return
    for name, attribute in body.attributes.items():
        if name not in _DYNAMIC_ARGUMENTS:
            detail = f'An argument named "{name}" is not expected here.'
            detail += nearest(name, _DYNAMIC_ARGUMENTS)
            source.note(attribute.start, attribute.name_end, "Unsupported argument", detail)
    try:
        for key, value in _for_each(block, body, scope):
            iterator = _iterator_name(body, kind)
            inner_scope = scope.with_iterators(**{iterator: {"key": key, "value": value}})
            labels = _dynamic_labels(body, inner_scope)
            inner = syntax.Block(
                block.start,
                block.end,
                kind,
                block.type_end,
                labels,
                [],
                block.head_end,
                block.body,
            )
            yield Unfolded(inner, labels, contents[0].body, inner_scope)
    except EvaluationProblem as problem:
        source.note(problem.start, problem.end, problem.summary, problem.detail)


def _for_each(
    block: syntax.Block, body: syntax.BlockBody, scope: Scope
) -> list[tuple[Value, Value]]:
    attribute = body.attributes.get("for_each")
    if attribute is None:
        detail = 'The argument "for_each" is required, but no definition was found.'
        raise EvaluationProblem(
            block.head_end, block.head_end, "Missing required argument", detail
        )
    value = evaluate(attribute.expression, scope)
    found = pairs(value)
    if found is None:
        place = attribute.expression
        detail = (
            f"Cannot use a {type_word(value)} value in for_each. An iterable "
            "collection is required."
        )
        raise EvaluationProblem(place.start, place.end, "Invalid dynamic for_each value", detail)
    return found


def _iterator_name(body: syntax.BlockBody, kind: str) -> str:
    attribute = body.attributes.get("iterator")
    if attribute is None:
        return kind
    node = attribute.expression
    if isinstance(node, syntax.Reference):
        return node.name
    if isinstance(node, syntax.LiteralExpression) and isinstance(node.value, str):
        return node.value
    raise EvaluationProblem(
        node.start, node.end, "Invalid expression", "A single name is required here."
    )


def _dynamic_labels(body: syntax.BlockBody, scope: Scope) -> list[str]:
    attribute = body.attributes.get("labels")
    if attribute is None:
        return []
    labels: list[str] = argument_value(attribute.expression, "[str]", scope)
    return labels
