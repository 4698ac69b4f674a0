"""What the operators of a filter expression mean on one item.

In: a selector, an operator, a literal, an item (structs, maps, lists, scalars). Out: whether it
matches. A missing map key is an answer; a missing field is an error, in the reference's words.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

import msgspec

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.errors import OperationRefused

#: Names bound by `any … as x` around a comparison.
Names = Mapping[str, Any]


class Selector(NamedTuple):
    """The way to a value: as written, and its parts."""

    text: str
    parts: tuple[str, ...]


class WrittenValue(NamedTuple):
    """A value as written; its type is that of the field it meets."""

    text: str


class Match(Enum):
    """The operators; `in` is `contains` the other way round."""

    EQUAL = auto()
    NOT_EQUAL = auto()
    CONTAINS = auto()
    NOT_CONTAINS = auto()
    MATCHES = auto()
    NOT_MATCHES = auto()
    EMPTY = auto()
    NOT_EMPTY = auto()
    NIL = auto()
    NOT_NIL = auto()


#: Negative operators, each with the one it denies.
_DENIES = {
    Match.NOT_EQUAL: Match.EQUAL,
    Match.NOT_CONTAINS: Match.CONTAINS,
    Match.NOT_MATCHES: Match.MATCHES,
    Match.NOT_EMPTY: Match.EMPTY,
    Match.NOT_NIL: Match.NIL,
}
#: What holds of a map key that is not there.
_HOLDS_OF_ABSENT = frozenset({Match.EMPTY, Match.NIL})

_PATTERNS = Re2Matcher()
_FAILED = "failed to read result page: "
_ABSENT = object()


def match(
    selector: Selector, operator: Match, literal: WrittenValue | None, item: Any, names: Names
) -> bool:
    """Whether the value at `selector` stands in that relation to the literal."""
    positive = _DENIES.get(operator, operator)
    value = _find(selector, item, names)
    if value is _ABSENT:
        holds = positive in _HOLDS_OF_ABSENT
    else:
        holds = _holds(value, positive, literal, selector)
    return holds is (positive is operator)


def each_of(
    selector: Selector, item: Any, names: Names, bound: tuple[str, str | None]
) -> Iterator[Names]:
    """The names in force for each element: `x`, or the index or key and then the element."""
    value = _find(selector, item, names)
    first, second = bound
    if isinstance(value, Mapping):
        pairs: list[tuple[Any, Any]] = list(value.items())
        only_key = True
    elif isinstance(value, list | tuple):
        pairs, only_key = list(enumerate(value)), False
    elif value is _ABSENT or value is None:
        return
    else:
        raise OperationRefused(
            f"{_FAILED}{selector.text} is not a collection: it cannot be looped over"
        )
    for key, element in pairs:
        if second is None:
            yield {**names, first: key if only_key else element}
        else:
            yield {**names, first: key, second: element}


def _find(selector: Selector, item: Any, names: Names) -> Any:
    parts = selector.parts
    value, start = (names[parts[0]], 1) if parts[0] in names else (item, 0)
    for position in range(start, len(parts)):
        value = _step(value, parts[position], selector, position)
        if value is _ABSENT:
            return _ABSENT
    return value.value if isinstance(value, Enum) else value


def _step(value: Any, part: str, selector: Selector, position: int) -> Any:
    if isinstance(value, msgspec.Struct):
        attribute = _attributes(type(value)).get(part)
        if attribute is None:
            problem = f'couldn\'t find key: struct field with name "{part}"'
            raise _not_found(selector, position, problem)
        return getattr(value, attribute)
    if isinstance(value, Mapping):
        return value.get(part, _ABSENT)
    if isinstance(value, list | tuple):
        if not part.isdigit() or len(part) > 9:
            problem = f'couldn\'t convert "{part}" to an int value'
            raise _not_found(selector, position, problem)
        return value[int(part)] if int(part) < len(value) else _ABSENT
    kind = "invalid" if value is None else _kind(value)
    raise _not_found(selector, position, f"invalid value kind: {kind}")


def _not_found(selector: Selector, position: int, problem: str) -> OperationRefused:
    pointer = "".join(f"/{part}" for part in selector.parts)
    return OperationRefused(
        f"{_FAILED}error finding value in datum: {pointer} at part {position}: {problem}"
    )


@cache
def _attributes(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {field.encode_name: field.name for field in msgspec.structs.fields(struct)}


def _holds(value: Any, operator: Match, literal: WrittenValue | None, selector: Selector) -> bool:
    if operator is Match.NIL:
        return value is None or (isinstance(value, list | tuple | Mapping) and not value)
    if operator is Match.EMPTY:
        if isinstance(value, str | list | tuple | Mapping):
            return len(value) == 0
        raise _cannot("is-empty", value, selector)
    assert literal is not None, "every other operator is followed by a value"
    if operator is Match.EQUAL:
        if isinstance(value, list | tuple | Mapping | msgspec.Struct) or value is None:
            raise _cannot("equality", value, selector)
        return bool(value == _coerced(literal.text, value))
    if operator is Match.CONTAINS:
        return _contains(value, literal, selector)
    return _matches(value, literal, selector)


def _contains(value: Any, literal: WrittenValue, selector: Selector) -> bool:
    if isinstance(value, str | Mapping):
        return literal.text in value
    if isinstance(value, list | tuple):
        return any(
            _coerced(literal.text, element) == element
            for element in value
            if not isinstance(element, list | tuple | Mapping | msgspec.Struct)
        )
    raise _cannot("in/contains", value, selector)


def _matches(value: Any, literal: WrittenValue, selector: Selector) -> bool:
    if not isinstance(value, str):
        raise _cannot("matches", value, selector)
    _check_pattern(literal.text)
    return _PATTERNS.search(literal.text, value)


def _check_pattern(text: str) -> None:
    problem = _PATTERNS.problem(text)
    if problem:
        raise OperationRefused(
            f"{_FAILED}failed to compile regular expression {text!r}: {problem}"
        )


def _coerced(text: str, like: Any) -> Any:
    """The literal as the type of the value it is compared with."""
    if isinstance(like, bool):
        if text in {"1", "t", "T", "TRUE", "true", "True"}:
            return True
        if text in {"0", "f", "F", "FALSE", "false", "False"}:
            return False
        raise _not_a("ParseBool", text)
    if isinstance(like, int):
        digits = text.removeprefix("-").removeprefix("+")
        if digits.isascii() and digits.isdigit() and len(digits) <= 20:
            return int(text)
        raise _not_a("ParseInt", text)
    if isinstance(like, float):
        try:
            return float(text)
        except ValueError:
            raise _not_a("ParseFloat", text) from None
    return text


def _not_a(function: str, text: str) -> OperationRefused:
    return OperationRefused(
        f"{_FAILED}error getting match value in expression:"
        f' strconv.{function}: parsing "{text}": invalid syntax'
    )


def _cannot(operations: str, value: Any, selector: Selector) -> OperationRefused:
    return OperationRefused(
        f"{_FAILED}cannot perform {operations} operations on type {_kind(value)}"
        f' for selector: "{selector.text}"'
    )


def _kind(value: Any) -> str:
    if value is None:
        return "invalid"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "map"
    return "slice" if isinstance(value, list | tuple) else "struct"
