"""Compare two texts by the operand of a constraint or affinity (placement.md 6.2).

In: an operand and two values, None where a node does not have one. Out: whether it holds. An
operand that is not known never holds. Whose values they are is not known here.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from scheduler.engine.measure.versions import satisfies_semver, satisfies_version
from scheduler.ports import PatternMatcher
from scheduler.structs.constraint import Operand

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII
)
_WORD = re.compile(r"[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE)

TRUE_TEXTS = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE_TEXTS = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def compare(operand: str, left: str | None, right: str | None, matcher: PatternMatcher) -> bool:
    """Whether `left operand right` holds; None stands for a value that could not be resolved."""
    match operand:
        case Operand.DISTINCT_HOSTS | Operand.DISTINCT_PROPERTY:
            # They speak of the whole plan, not of one node; their own checks see to them.
            return True
        case Operand.IS_SET:
            return left is not None
        case Operand.IS_NOT_SET:
            return left is None
        case Operand.NOT_EQUAL | Operand.NOT:
            return (left or "") != (right or "")
    if left is None or right is None:
        return False
    if operand == Operand.REGEXP:
        return matcher.search(right, left)
    holds = _BY_OPERAND.get(operand)
    return holds is not None and holds(left, right)


def order_of(left: str, right: str) -> int | None:
    """-1, 0 or 1; as integers if both are, else as floats if both are, else bytewise.

    None when a float is NaN: then no order holds.
    """
    integers = parse_integer(left), parse_integer(right)
    if integers[0] is not None and integers[1] is not None:
        return _sign(integers[0], integers[1])
    floats = parse_float(left), parse_float(right)
    if floats[0] is not None and floats[1] is not None:
        if floats[0] != floats[0] or floats[1] != floats[1]:
            return None
        return _sign(floats[0], floats[1])
    return _sign(left.encode(), right.encode())


def parse_integer(text: str) -> int | None:
    """A decimal integer of 64 bits; blanks, underscores and foreign digits are not allowed."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def parse_float(text: str) -> float | None:
    """A float written in decimal, with exponent, in hexadecimal, or as inf or nan."""
    if _WORD.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return None if number in {float("inf"), float("-inf")} else number
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return None
    return None


def set_items(text: str) -> frozenset[str]:
    """The members of a comma-separated list; an empty text has one empty member."""
    return frozenset(item.strip() for item in text.split(","))


def _ordered(holds: Callable[[int], bool]) -> Callable[[str, str], bool]:
    def check(left: str, right: str) -> bool:
        order = order_of(left, right)
        return order is not None and holds(order)

    return check


def _contains_all(left: str, right: str) -> bool:
    return set_items(right) <= set_items(left)


def _equal(left: str, right: str) -> bool:
    return left == right


Ordered = TypeVar("Ordered", int, float, bytes)


def _sign(left: Ordered, right: Ordered) -> int:
    return (left > right) - (left < right)


_BY_OPERAND: dict[str, Callable[[str, str], bool]] = {
    Operand.EQUAL: _equal,
    Operand.EQUAL_DOUBLE: _equal,
    Operand.IS: _equal,
    Operand.LESS: _ordered(lambda order: order < 0),
    Operand.LESS_EQUAL: _ordered(lambda order: order <= 0),
    Operand.GREATER: _ordered(lambda order: order > 0),
    Operand.GREATER_EQUAL: _ordered(lambda order: order >= 0),
    Operand.VERSION: satisfies_version,
    Operand.SEMVER: satisfies_semver,
    Operand.SET_CONTAINS: _contains_all,
    Operand.SET_CONTAINS_ALL: _contains_all,
    Operand.SET_CONTAINS_ANY: lambda left, right: not set_items(right).isdisjoint(set_items(left)),
}
