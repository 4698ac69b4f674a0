"""Typed values of device attributes, with units, and their comparison (placement.md 6.7).

In: texts such as `1320.5 MB`, or attributes as nodes report them. Out: whether an operand holds.
Numbers are compared exactly, whatever their units; there is no rounding.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from scheduler.engine.measure.operands import (
    FALSE_TEXTS,
    TRUE_TEXTS,
    compare,
    parse_float,
    parse_integer,
)
from scheduler.ports import PatternMatcher
from scheduler.structs.constraint import Operand
from scheduler.structs.device import DeviceAttribute

_POWERS = "KMGTPE"


def _units() -> dict[str, tuple[str, Fraction]]:
    units = {f"{letter}iB": Fraction(1024 ** (i + 1)) for i, letter in enumerate(_POWERS)}
    units |= {f"{letter}B": Fraction(1000 ** (i + 1)) for i, letter in enumerate(_POWERS)}
    units["kB"] = units["KB"]
    table = {unit: ("byte", factor) for unit, factor in units.items()}
    table |= {f"{unit}/s": ("byte rate", factor) for unit, factor in units.items()}
    table |= {"MHz": ("hertz", Fraction(10**6)), "GHz": ("hertz", Fraction(10**9))}
    watts = {"mW": Fraction(1, 1000), "W": Fraction(1), "kW": Fraction(10**3)}
    watts |= {"MW": Fraction(10**6), "GW": Fraction(10**9)}
    return table | {unit: ("watt", factor) for unit, factor in watts.items()}


#: Unit to what it measures and how many of the base unit it is.
UNITS = _units()
_LONGEST_FIRST = sorted(UNITS, key=len, reverse=True)


def parse_value(text: str) -> DeviceAttribute:
    """The typed value a literal means: integer, float, boolean, else text."""
    number, unit = text, ""
    if text and text[-1].isascii() and text[-1].isalpha():
        unit = next((known for known in _LONGEST_FIRST if text.endswith(known)), "")
        number = text.removesuffix(unit).strip()
    integer = parse_integer(number)
    if integer is not None:
        return DeviceAttribute(int_=integer, unit=unit)
    real = parse_float(number)
    if real is not None:
        return DeviceAttribute(float_=real, unit=unit)
    if text in TRUE_TEXTS or text in FALSE_TEXTS:
        return DeviceAttribute(bool_=text in TRUE_TEXTS)
    return DeviceAttribute(string=text)


def compare_values(
    operand: str,
    left: DeviceAttribute | None,
    right: DeviceAttribute | None,
    matcher: PatternMatcher,
) -> bool:
    """Whether `left operand right` holds; None stands for a value that was not found."""
    match operand:
        case Operand.IS_SET:
            return left is not None
        case Operand.IS_NOT_SET:
            return left is None
        case Operand.NOT_EQUAL | Operand.NOT:
            if left is None or right is None:
                return left is not right
            order = order_of_values(left, right)
            return order is not None and order != 0
    if left is None or right is None:
        return False
    if operand in _ORDERS:
        order = order_of_values(left, right)
        return order is not None and _ORDERS[operand](order)
    return _compare_texts(operand, left, right, matcher)


def order_of_values(left: DeviceAttribute, right: DeviceAttribute) -> int | None:
    """-1, 0 or 1; booleans are only equal (0) or not (1). None when the two cannot be compared."""
    if left.string is not None and right.string is not None:
        one, other = left.string.encode(), right.string.encode()
        return (one > other) - (one < other)
    if left.bool_ is not None and right.bool_ is not None:
        return int(left.bool_ is not right.bool_)
    if _base(left.unit) != _base(right.unit):
        return None
    numbers = _number(left), _number(right)
    if numbers[0] is None or numbers[1] is None:
        return None
    return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])


_ORDERS: dict[str, Callable[[int], bool]] = {
    Operand.EQUAL: lambda order: order == 0,
    Operand.EQUAL_DOUBLE: lambda order: order == 0,
    Operand.IS: lambda order: order == 0,
    Operand.LESS: lambda order: order == -1,
    Operand.LESS_EQUAL: lambda order: order != 1,
    Operand.GREATER: lambda order: order == 1,
    Operand.GREATER_EQUAL: lambda order: order != -1,
}


def _compare_texts(
    operand: str, left: DeviceAttribute, right: DeviceAttribute, matcher: PatternMatcher
) -> bool:
    text = left.string
    if operand in {Operand.VERSION, Operand.SEMVER} and left.int_ is not None:
        text = str(left.int_)
    if text is None or right.string is None:
        return False
    return compare(operand, text, right.string, matcher)


def _base(unit: str) -> str:
    known = UNITS.get(unit)
    return known[0] if known else unit


def _number(value: DeviceAttribute) -> Fraction | None:
    number = value.float_ if value.int_ is None else value.int_
    if number is None or not math.isfinite(number):
        return None
    return Fraction(number) * (UNITS[value.unit][1] if value.unit in UNITS else 1)
