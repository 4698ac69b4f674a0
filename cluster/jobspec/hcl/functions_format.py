"""Functions that print values by a pattern: `%s`, `%05.1f`, `%-4d`.

In and out: values of expressions.
"""

import json
import re
from collections.abc import Callable
from fractions import Fraction

from cluster.jobspec.hcl.functions_encoding import jsonencode
from cluster.jobspec.hcl.functions_text import BadArgument, text_argument
from cluster.jobspec.hcl.numerals import number_text
from cluster.jobspec.hcl.values import (
    Mismatch,
    Value,
    is_number,
    to_bool,
    to_number,
    to_text,
)

_VERB = re.compile(r"%(?:\[(\d+)\])?([-+# 0]*)(\d+)?(?:\.(\d+))?(?:\[(\d+)\])?(.)", re.DOTALL)
_WIDEST = 1000


def format_text(pattern: Value, *arguments: Value) -> Value:
    """The pattern with each verb replaced by an argument."""
    text = text_argument(pattern, 0, "format")
    pieces: list[str] = []
    position = used = end = 0
    for match in _VERB.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match[6] == "%":
            pieces.append("%")
            continue
        chosen = match[1] or match[5]
        position = int(chosen[:4]) - 1 if chosen else position
        if not 0 <= position < len(arguments):
            detail = f'not enough arguments for "{match[0][:16]}"'
            raise BadArgument(0, "format", detail)
        pieces.append(_printed(match, arguments[position], position + 1))
        position += 1
        used = max(used, position)
    rest = text[end:]
    if "%" in rest:
        raise BadArgument(0, "format", "the pattern ends within a verb")
    if used < len(arguments):
        raise BadArgument(
            used + 1, "args", f"too many arguments; only {used} used by format string"
        )
    return "".join([*pieces, rest])


def formatlist(pattern: Value, *arguments: Value) -> Value:
    """`format` for each element of the lists among the arguments."""
    lengths = {len(each) for each in arguments if isinstance(each, list)}
    if len(lengths) > 1:
        raise Mismatch("the lists have different lengths")
    if not lengths:
        return [format_text(pattern, *arguments)]
    return [
        format_text(
            pattern, *(each[row] if isinstance(each, list) else each for each in arguments)
        )
        for row in range(lengths.pop())
    ]


def _printed(match: re.Match[str], value: Value, position: int) -> str:
    flags, width, precision, verb = match[2], match[3], match[4], match[6]
    if len(width or "") > 4 or len(precision or "") > 4:
        raise BadArgument(0, "format", "widths beyond 1000 are not printed")
    if int(width or 0) > _WIDEST or int(precision or 0) > _WIDEST:
        raise BadArgument(0, "format", "widths beyond 1000 are not printed")
    try:
        text = _body(verb, flags, None if precision is None else int(precision), value)
    except Mismatch as mismatch:
        raise BadArgument(
            position, "args", f'unsupported value for "{match[0]}": {mismatch}'
        ) from None
    return _padded(text, int(width or 0), flags, is_number=verb in "bdoxXeEfFgG")


def _body(verb: str, flags: str, precision: int | None, value: Value) -> str:
    if verb == "v":
        return _default_text(value, is_exact="#" in flags)
    if value is None:
        raise Mismatch("null value cannot be formatted")
    if verb in "sq":
        text = to_text(value)
        text = text if precision is None else text[:precision]
        return json.dumps(text, ensure_ascii=False) if verb == "q" else text
    if verb == "t":
        return "true" if to_bool(value) else "false"
    if verb in "bdoxX":
        number = to_number(value)
        if not isinstance(number, int):
            raise Mismatch("an integer is required")
        text = f"{number:{verb}}"
    elif verb in "eEfFgG":
        text = _fraction_text(verb, precision, to_number(value))
    else:
        raise BadArgument(0, "format", f'unsupported format verb "{verb}"')
    if not text.startswith("-"):
        text = ("+" if "+" in flags else " " if " " in flags else "") + text
    return text


def _fraction_text(verb: str, precision: int | None, number: Fraction | float) -> str:
    if verb in "fF" and isinstance(number, int | Fraction):
        digits = 6 if precision is None else precision
        scaled = round(Fraction(number) * 10**digits)
        text = str(abs(scaled)).rjust(digits + 1, "0")
        text = f"{text[: len(text) - digits]}.{text[len(text) - digits :]}" if digits else text
        return ("-" if scaled < 0 else "") + text
    if verb in "gG" and precision is None:
        return f"{float(number):{verb}}" if abs(float(number)) >= 1e21 else number_text(number)
    return f"{float(number):.{6 if precision is None else precision}{verb}}"


def _default_text(value: Value, *, is_exact: bool) -> str:
    if value is None:
        return "null"
    if is_exact or isinstance(value, list | dict):
        return str(jsonencode(value))
    return number_text(value) if is_number(value) else to_text(value)


def _padded(text: str, width: int, flags: str, *, is_number: bool) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and is_number:
        sign = text[0] if text[:1] in ("-", "+", " ") and text else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {"format": format_text, "formatlist": formatlist}
