"""Types of variables: `string`, `list(number)`, `object({ name = string })`.

In: a type expression, and values. Out: a `Type`, and the value converted to it. Knows nothing of
variables.
"""

from dataclasses import dataclass, field

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.hcl.values import (
    Mismatch,
    TypedList,
    TypedMap,
    Value,
    is_number,
    sorted_set,
    to_bool,
    to_number,
    to_text,
    type_word,
)

_SIMPLE = ("string", "number", "bool")
_OF_ONE = ("list", "set", "map")


@dataclass(slots=True)
class Type:
    """A type by its word; `inner` of a collection, `members` of an object, `items` of a tuple."""

    word: str
    inner: "Type | None" = None
    members: "dict[str, Type]" = field(default_factory=dict)
    items: "list[Type]" = field(default_factory=list)
    optional: set[str] = field(default_factory=set)


ANY = Type("any")


def read_type(node: syntax.Expression) -> Type:
    """The type an expression names. Raises `SyntaxProblem`."""
    if isinstance(node, syntax.LiteralExpression) and node.value in _SIMPLE:
        # Older files write the word in quotes.
        return Type(str(node.value))
    if isinstance(node, syntax.LiteralExpression) and node.value in _OF_ONE:
        return Type(str(node.value), ANY)
    if isinstance(node, syntax.Reference):
        if node.name in _SIMPLE:
            return Type(node.name)
        if node.name == "any":
            detail = (
                'The keyword "any" cannot be used in this type specification: an '
                "exact type is required."
            )
            raise SyntaxProblem(node.start, node.end, "Invalid type specification", detail)
    if isinstance(node, syntax.FunctionCall) and len(node.arguments) == 1:
        argument = node.arguments[0]
        if node.name in _OF_ONE:
            return Type(node.name, read_type(argument))
        if node.name == "tuple" and isinstance(argument, syntax.Tuple):
            return Type("tuple", items=[read_type(item) for item in argument.items])
        if node.name == "object" and isinstance(argument, syntax.Object):
            return _object_type(argument)
    detail = (
        "A type is one of string, number, bool, list(T), set(T), map(T), "
        "object({...}), tuple([...])."
    )
    raise SyntaxProblem(node.start, node.end, "Invalid type specification", detail)


def _object_type(node: syntax.Object) -> Type:
    result = Type("object")
    for key, value in node.items:
        name = key.name if isinstance(key, syntax.Reference) else None
        if isinstance(key, syntax.LiteralExpression) and isinstance(key.value, str):
            name = key.value
        if name is None:
            detail = "Object constructor map keys must be attribute names."
            raise SyntaxProblem(key.start, key.end, "Invalid type specification", detail)
        if isinstance(value, syntax.FunctionCall) and value.name == "optional" and value.arguments:
            result.optional.add(name)
            result.members[name] = read_type(value.arguments[0])
        else:
            result.members[name] = read_type(value)
    return result


def type_of(value: Value) -> Type:
    """The exact type of a value."""
    if isinstance(value, str):
        return Type("string")
    if isinstance(value, bool):
        return Type("bool")
    if is_number(value):
        return Type("number")
    if isinstance(value, dict):
        return Type("object", members={name: type_of(item) for name, item in value.items()})
    if isinstance(value, list):
        return Type("tuple", items=[type_of(item) for item in value])
    return ANY


def converted(value: Value, wanted: Type) -> Value:
    """The value as the type wants it. Raises `Mismatch`."""
    if value is None or wanted.word == "any":
        return value
    if wanted.word == "string":
        return _simple(to_text, value, "string required")
    if wanted.word == "number":
        return _simple(to_number, value, "a number is required")
    if wanted.word == "bool":
        return _simple(to_bool, value, "a bool is required")
    if wanted.word in ("object", "map"):
        return _converted_map(value, wanted)
    return _converted_list(value, wanted)


def _simple(convert, value: Value, message: str) -> Value:  # type: ignore[no-untyped-def] # three converters
    try:
        return convert(value)
    except Mismatch:
        raise Mismatch(message) from None


def _converted_map(value: Value, wanted: Type) -> Value:
    if not isinstance(value, dict):
        raise Mismatch(f"{wanted.word} required")
    if wanted.word == "map":
        inner = wanted.inner or ANY
        return TypedMap(
            {name: _inside(f'element "{name}"', item, inner) for name, item in value.items()}
        )
    result = {}
    for name, inner in wanted.members.items():
        if name not in value and name not in wanted.optional:
            raise Mismatch(f'attribute "{name}" is required')
        result[name] = _inside(f'attribute "{name}"', value.get(name), inner)
    return result


def _converted_list(value: Value, wanted: Type) -> Value:
    if not isinstance(value, list):
        raise Mismatch(f"{wanted.word} required")
    if wanted.word == "tuple":
        if len(value) != len(wanted.items):
            raise Mismatch(
                f"tuple of {len(wanted.items)} elements required, but have {len(value)}"
            )
        parts = zip(value, wanted.items, strict=True)
        return [_inside(f"element {number}", *part) for number, part in enumerate(parts)]
    inner = wanted.inner or ANY
    items = [_inside(f"element {number}", item, inner) for number, item in enumerate(value)]
    return sorted_set(items) if wanted.word == "set" else TypedList(items)


def _inside(where: str, value: Value, wanted: Type) -> Value:
    try:
        return converted(value, wanted)
    except Mismatch as mismatch:
        raise Mismatch(f"{where}: {mismatch}") from None


__all__ = ["ANY", "Type", "converted", "read_type", "type_of", "type_word"]
