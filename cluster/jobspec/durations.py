"""Spans of time as job files and messages write them: `1h30m`, `500ms`.

In and out: text and nanoseconds. Knows nothing else.
"""

import re

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)")
_LONGEST = 64


def read_duration(text: str) -> int | None:
    """Nanoseconds of a text like `1h30m`; None for a text that is no duration."""
    body = text.lstrip("+-") if text[:1] in "+-" and text[1:2] not in "+-" else text
    if body == "0":
        return 0
    if not body or len(body) > _LONGEST:
        return None
    total = 0
    position = 0
    while position < len(body):
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]):
            return None
        unit = _UNITS[match[3]]
        fraction = match[2] or ""
        total += int(match[1] or 0) * unit
        total += int(fraction or 0) * unit // 10 ** len(fraction)
        position = match.end()
    if total >= 2**63:
        return None
    return -total if text.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """The shortest usual spelling: `0s`, `1.5s`, `1m0s`, `2h0m0s`, `10ms`."""
    if nanoseconds < 0:
        return "-" + duration_text(-nanoseconds)
    if nanoseconds == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if nanoseconds < size * 1_000 and nanoseconds < _UNITS["s"]:
            return _decimal(nanoseconds, size) + unit
    minutes, rest = divmod(nanoseconds, _UNITS["m"])
    seconds = _decimal(rest, _UNITS["s"]) + "s"
    if minutes == 0:
        return seconds
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    if rest == 0:
        return str(whole)
    digits = len(str(size)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
