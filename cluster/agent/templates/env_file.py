"""The variables that a rendered `env` template gives: KEY=VALUE, a line each.

In: its text. Out: a map, or ValueError with the number of the line. Empty lines, comments and the
word `export` are passed over; values may be in quotes, double ones with escapes.
"""

import re

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_BEFORE_COMMENT = re.compile(r"\s+#")


def read_env(text: str) -> dict[str, str]:
    """Later lines win over earlier ones."""
    found: dict[str, str] = {}
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if not line or line.startswith("#"):
            continue
        key, sign, value = line.removeprefix("export ").partition("=")
        key = key.strip()
        if not sign:
            raise ValueError(f"error on line {number}: no = in {line!r}")
        if not key:
            raise ValueError(f"error on line {number}: empty key")
        found[key] = _value(value.strip(), number)
    return found


def _value(text: str, number: int) -> str:
    if text[:1] in ("'", '"'):
        quote = text[0]
        end = _end_of(text, quote)
        if end < 0:
            raise ValueError(f"error on line {number}: the quote {quote} is not closed")
        inner = text[1:end]
        if quote == "'":
            return inner
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), inner)
    return _BEFORE_COMMENT.split(text, 1)[0]


def _end_of(text: str, quote: str) -> int:
    place = 1
    while place < len(text):
        if text[place] == "\\" and quote == '"':
            place += 1
        elif text[place] == quote:
            return place
        place += 1
    return -1
