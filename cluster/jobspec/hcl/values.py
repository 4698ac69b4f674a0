"""Values of job file expressions, and conversion between their types.

Text is `str`, truth `bool`, numbers see `numerals`, null `None`, a tuple a `list`, an object a
`dict`; typed collections are the subclasses below. Knows no syntax.
"""

import math
from fractions import Fraction
from typing import Any

from cluster.jobspec.hcl.numerals import Number, number_text, rounded

Value = Any


class TypedList(list[Value]):
    """A list whose elements have one type."""


class TypedSet(list[Value]):
    """Distinct elements in their order."""


class TypedMap(dict[str, Value]):
    """A map whose values have one type."""


class Mismatch(Exception):
    """The value is not of the wanted type; the text says what was wanted."""


def is_number(value: Value) -> bool:
    """Whether the value is a number; truth values are none."""
    return isinstance(value, int | Fraction | float) and not isinstance(value, bool)


def type_word(value: Value) -> str:
    """How messages call the value's type."""
    if value is None:
        return "null"
    words = (
        (bool, "bool"), (str, "string"), (TypedSet, "set"), (TypedList, "list"), (list, "tuple"),
        (TypedMap, "map"), (dict, "object"),
    )  # fmt: skip
    return next((word for kind, word in words if isinstance(value, kind)), "number")


def to_text(value: Value) -> str:
    """The value as text: numbers and truth values can be."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return number_text(value)
    raise Mismatch(f"string required, but have {type_word(value)}")


def to_number(value: Value) -> Number:
    """The value as a number: text that spells one can be."""
    if is_number(value):
        return value  # type: ignore[no-any-return] # is_number has looked
    if isinstance(value, str):
        number = read_number(value)
        if number is None:
            raise Mismatch("a number is required")
        return number
    raise Mismatch(f"number required, but have {type_word(value)}")


def read_number(text: str) -> Number | None:
    """The number a text spells, or None."""
    if len(text) > 400 or "_" in text or "/" in text or text != text.strip():
        return None
    exponent = text.lower().partition("e")[2].lstrip("+-")
    if exponent and (not exponent.isdigit() or len(exponent) > 4):
        return None
    try:
        return rounded(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None


def to_bool(value: Value) -> bool:
    """The value as a truth value: the words can be."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false") and isinstance(value, str):
        return bool(value == "true")
    if isinstance(value, str):
        raise Mismatch("a bool is required")
    raise Mismatch(f"bool required, but have {type_word(value)}")


def whole(value: Value, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """The value as a whole number within bounds."""
    number = to_number(value)
    if isinstance(number, int) and low <= number <= high:
        return number
    raise Mismatch(f"value must be a whole number, between {low} and {high} inclusively")


def are_equal(left: Value, right: Value) -> bool:
    """Equality without conversion: `"1"` is not `1`."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(are_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            are_equal(left[key], right[key]) for key in left
        )
    return bool(left == right)


def unified(values: list[Value]) -> list[Value]:
    """The values as one type, if they have one in common; else as they are."""
    words = {type_word(value) for value in values if value is not None}
    if len(words) > 1 and words <= {"string", "number", "bool"} and "string" in words:
        return [value if value is None else to_text(value) for value in values]
    return values


def sorted_set(values: list[Value]) -> TypedSet:
    """The distinct values, in the order in which sets are read."""
    distinct: list[Value] = []
    seen: set[Value] = set()
    for value in unified(values):
        if isinstance(value, list | dict):
            if not any(are_equal(value, other) for other in distinct):
                distinct.append(value)
        elif (key := (type_word(value), value)) not in seen:
            seen.add(key)
            distinct.append(value)
    if all(isinstance(value, str) for value in distinct) or all(map(is_number, distinct)):
        distinct.sort()
    return TypedSet(distinct)


def to_json(value: Value) -> Value:
    """The value as JSON has it: whole numbers as integers, others as floats."""
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return float(value)
    return value


def from_json(value: Value) -> Value:
    """A decoded JSON value as an expression's value."""
    if isinstance(value, dict):
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, float):
        return rounded(Fraction(value)) if math.isfinite(value) else value
    return value
