"""Functions of numbers.

In and out: values of expressions.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from cluster.jobspec.hcl.functions_text import BadArgument, text_argument, whole_argument
from cluster.jobspec.hcl.numerals import rounded
from cluster.jobspec.hcl.values import Mismatch, Value, to_number

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _number(value: Value, position: int, name: str = "num") -> int | Fraction | float:
    try:
        if value is None:
            raise Mismatch("argument must not be null")
        return to_number(value)
    except Mismatch as mismatch:
        raise BadArgument(position, name, str(mismatch)) from None


def absolute(value: Value) -> Value:
    """Without its sign."""
    return abs(_number(value, 0))


def ceil(value: Value) -> Value:
    """The next whole number above."""
    number = _number(value, 0)
    return number if isinstance(number, float) else math.ceil(number)


def floor(value: Value) -> Value:
    """The next whole number below."""
    number = _number(value, 0)
    return number if isinstance(number, float) else math.floor(number)


def log(value: Value, base: Value) -> Value:
    """The logarithm to a base."""
    number, of = _number(value, 0), _number(base, 1, "base")
    if number <= 0 or of <= 0 or of == 1:
        raise BadArgument(0, "num", "logarithms need positive numbers and a base other than 1")
    return rounded(Fraction(math.log(number) / math.log(of)))


def largest(*values: Value) -> Value:
    """The largest of all."""
    if not values:
        raise BadArgument(0, "numbers", "must pass at least one number")
    return max(_number(value, position, "numbers") for position, value in enumerate(values))


def smallest(*values: Value) -> Value:
    """The smallest of all."""
    if not values:
        raise BadArgument(0, "numbers", "must pass at least one number")
    return min(_number(value, position, "numbers") for position, value in enumerate(values))


def power(value: Value, exponent: Value) -> Value:
    """One number to the power of another."""
    result = math.pow(_number(value, 0), _number(exponent, 1, "power"))
    return rounded(Fraction(result))


def signum(value: Value) -> Value:
    """-1, 0 or 1."""
    number = whole_argument(value, 0)
    return (number > 0) - (number < 0)


def parseint(text: Value, base: Value) -> Value:
    """The whole number a text spells in a base from 2 to 62."""
    content, of = text_argument(text, 0, "number"), whole_argument(base, 1, "base")
    if not 2 <= of <= 62:
        raise BadArgument(1, "base", "base must be a whole number between 2 and 62 inclusive")
    sign, digits = (-1, content[1:]) if content.startswith("-") else (1, content)
    digits = digits.lower() if of <= 36 else digits
    values = [_DIGITS.find(digit) for digit in digits]
    if not values or len(values) > 512 or any(not 0 <= value < of for value in values):
        raise BadArgument(0, "number", f'cannot parse "{content[:64]}" as a base {of} integer')
    total = 0
    for value in values:
        total = total * of + value
    return sign * total


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": absolute, "ceil": ceil, "floor": floor, "log": log, "max": largest, "min": smallest,
    "pow": power, "signum": signum, "parseint": parseint,
}  # fmt: skip
