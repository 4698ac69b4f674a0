"""Whether a cron expression can be read, field by field, as job authors know the language.

In: a cron expression. Out: why it cannot be read, or nothing. Computes no times.
"""

import re
from typing import NamedTuple


class _Field(NamedTuple):
    name: str
    value: str
    highest: int
    #: What only this field may say, beside values, ranges and steps.
    special: str = r"(?!)"


_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|january|february|march|april|june|july"
    "|august|september|october|november|december"
)
_DAYS = "sun|mon|tue|wed|thu|fri|sat|sunday|monday|tuesday|wednesday|thursday|friday|saturday"
_DAY_OF_MONTH = "0?[1-9]|[12][0-9]|3[01]"
_DAY_OF_WEEK = f"0?[0-7]|{_DAYS}"
_SECOND = _Field("second", "0?[0-9]|[1-5][0-9]", 59)
_YEAR = _Field("year", "19[7-9][0-9]|20[0-9]{2}", 2099)
_FIELDS = (
    _Field("minute", "0?[0-9]|[1-5][0-9]", 59),
    _Field("hour", "0?[0-9]|1[0-9]|2[0-3]", 23),
    _Field("day-of-month", _DAY_OF_MONTH, 31, rf"l|lw|(?:{_DAY_OF_MONTH})w"),
    _Field("month", f"0?[1-9]|1[012]|{_MONTHS}", 12),
    _Field("day-of-week", _DAY_OF_WEEK, 6, rf"(?:{_DAY_OF_WEEK})(?:l|#[1-5])"),
)
_MACROS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_LONGEST = 1024


def cron_parts(expression: str) -> list[str] | None:
    """The five to seven fields of an expression; None if there are too few of them."""
    if len(expression) > _LONGEST:
        return None
    text = _MACROS.get(expression.strip(), expression)
    parts = text.split()
    return parts[:7] if len(parts) >= 5 else None


def cron_field_problem(parts: list[str]) -> str:
    """Why a field cannot be read; empty if all can."""
    fields = (_SECOND,) * (len(parts) == 7) + _FIELDS + (_YEAR,) * (len(parts) >= 6)
    for field, text in zip(fields, parts, strict=True):
        problem = _problem(field, text)
        if problem:
            return problem
    return ""


def _problem(field: _Field, text: str) -> str:
    directives = [directive for directive in text.split(",") if directive]
    if not directives:
        return f"{field.name} field: missing directive"
    unread = ""
    for directive in directives:
        lowered = directive.lower()
        value = f"(?:{field.value})"
        if re.fullmatch(rf"[*?]|{value}(?:-{value})?", lowered, re.ASCII):
            continue
        stepped = re.fullmatch(rf"(?:\*|{value}(?:-{value})?)/([0-9]+)", lowered, re.ASCII)
        if stepped is not None:
            digits = stepped[1].lstrip("0")
            if not digits or len(digits) > 4 or int(digits) > field.highest:
                return f"invalid interval {lowered}"
        elif re.fullmatch(field.special, lowered, re.ASCII) is None:
            unread = unread or directive
    return f"syntax error in {field.name} field: '{unread}'" if unread else ""
