"""Functions of instants written as RFC 3339.

In and out: values of expressions. Reads no clock.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from cluster.jobspec.durations import read_duration
from cluster.jobspec.hcl.functions_text import BadArgument, text_argument
from cluster.jobspec.hcl.values import Value

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def _instant(value: Value, position: int) -> datetime:
    text = text_argument(value, position, "time")
    if _RFC3339.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    raise BadArgument(position, "time", f'not a valid RFC3339 timestamp: "{text[:64]}"')


def timeadd(instant: Value, duration: Value) -> Value:
    """An instant later or earlier by a span like `1h30m`."""
    start = _instant(instant, 0)
    span = read_duration(text_argument(duration, 1, "duration"))
    if span is None:
        raise BadArgument(1, "duration", "not a valid duration")
    moved = start + timedelta(microseconds=span / 1000)
    return moved.isoformat(timespec="seconds").replace("+00:00", "Z")


def formatdate(pattern: Value, instant: Value) -> Value:
    """The instant in a form like `YYYY-MM-DD hh:mm`; text in single quotes stays."""
    moment = _instant(instant, 1)
    words = _words(moment)
    pieces = []
    for match in _TOKEN.finditer(text_argument(pattern, 0, "format")):
        if match[0].startswith("'") and match[1] is not None:
            pieces.append(match[1].replace("''", "'"))
        elif match[2] and match[0] not in words:
            raise BadArgument(0, "format", f'invalid date format verb "{match[0]}"')
        else:
            pieces.append(words.get(match[0], match[0]))
    return "".join(pieces)


def _words(moment: datetime) -> dict[str, str]:
    half_day = (moment.hour + 11) % 12 + 1
    offset = moment.strftime("%z")
    zone = f"{offset[:3]}:{offset[3:5]}"
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return {
        "YYYY": f"{moment.year:04d}", "YY": f"{moment.year % 100:02d}", "MMMM": month,
        "MMM": month[:3],
        "MM": f"{moment.month:02d}", "M": str(moment.month), "DD": f"{moment.day:02d}",
        "D": str(moment.day), "EEEE": day, "EEE": day[:3], "hh": f"{moment.hour:02d}",
        "h": str(moment.hour), "HH": f"{half_day:02d}", "H": str(half_day),
        "AA": "AM" if moment.hour < 12 else "PM", "aa": "am" if moment.hour < 12 else "pm",
        "mm": f"{moment.minute:02d}", "m": str(moment.minute), "ss": f"{moment.second:02d}",
        "s": str(moment.second), "ZZZZZ": zone, "ZZZZ": zone.replace(":", ""),
        "ZZZ": "UTC" if offset[:5] == "+0000" else zone.replace(":", ""),
        "Z": "Z" if offset[:5] == "+0000" else zone,
    }  # fmt: skip


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {"formatdate": formatdate, "timeadd": timeadd}
