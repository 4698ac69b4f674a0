"""Numbers of job files: binary fractions of 512 bits, written with as few digits as name them.

In and out: `int` for whole numbers, `Fraction` for others, an infinite `float` for what division
by zero gives.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

Number = int | Fraction | float

_BITS = 512
#: Decimal digits that surely tell two numbers of so many bits apart.
_DIGITS = 157


def rounded(value: Fraction | int) -> Number:
    """The nearest number of 512 bits."""
    fraction = Fraction(value)
    if fraction.denominator == 1 and abs(fraction.numerator).bit_length() <= _BITS:
        return int(fraction)
    shift = _BITS - (abs(fraction.numerator).bit_length() - fraction.denominator.bit_length()) - 1
    scale = Fraction(2) ** shift
    scaled = fraction * scale
    if abs(scaled) < 2 ** (_BITS - 1):
        scale *= 2
        scaled *= 2
    nearest = Fraction(round(scaled)) / scale
    return int(nearest) if nearest.denominator == 1 else nearest


def number_text(value: Number) -> str:
    """The shortest decimal that reads back as the same number, without exponent."""
    if isinstance(value, float):
        return "+Inf" if value > 0 else "-Inf"
    if isinstance(value, int):
        return str(value)
    low, high = 1, _DIGITS
    while low < high:
        middle = (low + high) // 2
        if rounded(Fraction(_decimal(value, middle))) == value:
            high = middle
        else:
            low = middle + 1
    return f"{_decimal(value, low):f}"


def _decimal(value: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=10**6, Emin=-(10**6))
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
