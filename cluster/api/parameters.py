"""Query parameters as the reference reads them: its booleans, numbers, spans of time, errors.

In: a parameter's name and text. Out: a value, or `OperationRefused` in the reference's words.
"""

import re

from django.conf import settings
from django.http import QueryDict

from cluster.jobspec.durations import read_duration
from cluster.operations.errors import OperationRefused

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_INT64 = 2**63
_UINT64 = 2**64
_INT32 = 2**31
#: What requests say when they mean the server's own region.
OWN_REGION = "global"
NO_PATH = "No path to region"
#: What a column holds at most.
LARGEST_STORED = _INT64 - 1


def read_flag(query: QueryDict, name: str) -> bool | None:
    """A boolean; None when absent or empty."""
    text = query.get(name, "")
    if not text:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise OperationRefused(
        f'Failed to parse value of "{name}" ({text}) as a bool:'
        f" strconv.ParseBool: parsing {quoted(text)}: invalid syntax"
    )


def read_integer(query: QueryDict, name: str) -> int | None:
    """A signed integer; None when absent or empty."""
    text = query.get(name, "")
    if not text:
        return None
    problem = "value out of range" if _INTEGER.fullmatch(text) else "invalid syntax"
    if _INTEGER.fullmatch(text) and len(text) <= 20 and -_INT64 <= int(text) < _INT64:
        return int(text)
    raise OperationRefused(
        f'Failed to parse value of "{name}" ({text}) as a int:'
        f" strconv.Atoi: parsing {quoted(text)}: {problem}"
    )


def read_unsigned(query: QueryDict, name: str) -> int | None:
    """A number of 64 bits without a sign; None when absent or empty."""
    text = query.get(name, "")
    if not text:
        return None
    value = unsigned(text)
    if value is None:
        problem = "value out of range" if _DIGITS.fullmatch(text) else "invalid syntax"
        raise OperationRefused(
            f'Failed to parse value of "{name}" ({text}) as a uint64:'
            f" strconv.ParseUint: parsing {quoted(text)}: {problem}"
        )
    return value


def read_index(query: QueryDict) -> int:
    """The index after which a read should answer; 0 when it should answer at once."""
    text = query.get("index", "")
    if not text:
        return 0
    index = unsigned(text)
    if index is None:
        raise OperationRefused("Invalid index")
    return index


def read_wait(query: QueryDict) -> int | None:
    """Nanoseconds a read may wait; None when not said."""
    text = query.get("wait", "")
    if not text:
        return None
    wait = read_duration(text)
    if wait is None:
        raise OperationRefused("Invalid wait time")
    return wait


def check_stale(query: QueryDict) -> None:
    """Refuse a `stale` that is neither empty nor a boolean. With one store it changes nothing."""
    text = query.get("stale", "")
    if text and text not in _TRUE and text not in _FALSE:
        raise OperationRefused("Expect `true` or `false` for `stale` query string parameter")


def check_region(query: QueryDict) -> None:
    """Refuse a question to another region than this one, which is the only one."""
    if query.get("region", "") not in {"", OWN_REGION, settings.BIVOUAC_REGION}:
        raise OperationRefused(NO_PATH)


def read_per_page(query: QueryDict) -> int:
    """How many items a page has at most; 0 for no limit."""
    text = query.get("per_page", "")
    if not text:
        return 0
    if not _INTEGER.fullmatch(text) or len(text) > 12 or not -_INT32 <= int(text) < _INT32:
        raise OperationRefused("Expect a number for `per_page` query string parameter")
    return max(0, int(text))


def is_pretty(query: QueryDict) -> bool:
    """Whether the answer is to be indented: present with any value but `0`."""
    return "pretty" in query and query["pretty"] != "0"


def asks_for_additions(query: QueryDict) -> bool:
    """Whether the answer is to hold what is ours beside the reference's fields."""
    return "additions" in query and read_flag(query, "additions") is not False


def unsigned(text: str) -> int | None:
    """The number a text of digits says, if it fits 64 bits."""
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        return None
    value = int(text)
    return value if value < _UINT64 else None


def quoted(text: str) -> str:
    """A text in quotes, with what would break a line or a terminal escaped."""
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\x{ord(letter):02x}"
