"""Times of day and calendar as periodic jobs write them: five to seven fields, or `@daily`.

In: a cron expression and a time with its zone. Out: why it cannot be read, or the next time it
names. Local times that do not exist are skipped, repeated ones named twice. Reads no clock.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from cluster.jobspec.cron_fields import cron_field_problem, cron_parts

_FIRST_YEAR = 1970
_LAST_YEAR = 2099
#: Any time will do to see whether an expression can be read.
_PROBE = datetime(2020, 1, 1, tzinfo=UTC)


class _Cron(NamedTuple):
    #: Second to day of week, always six.
    fields: tuple[str, ...]
    year: str


def cron_problem(expression: str) -> str:
    """Why the expression cannot be read; empty if it can."""
    parts = cron_parts(expression)
    return "missing field(s)" if parts is None else cron_field_problem(parts)


def time_zone_problem(name: str) -> str:
    """Why the name is no time zone; empty if it is one."""
    return "" if time_zone(name) is not None else f"unknown time zone {name}"


def time_zone(name: str) -> tzinfo | None:
    """The zone of that name, or None if there is none."""
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def next_launch(expression: str, after: datetime) -> datetime | None:
    """The first time after `after` that the expression names in the zone of `after`.

    None if there is none.
    """
    cron = _split(expression)
    # What can be read but not computed has no next time.
    if cron is None or not _reads(" ".join(cron.fields)):
        return None
    for start, end in _spans(cron.year, after):
        found = next(CronSim(" ".join(cron.fields), start), None)
        if found is not None and found.year <= end:
            return found
    return None


def _spans(year: str, after: datetime) -> Iterator[tuple[datetime, int]]:
    """Where to begin searching, and the last year in which a time still counts."""
    if year == "*":
        yield after, _LAST_YEAR
        return
    for wanted in sorted(_years(year)):
        if wanted >= after.year:
            new_year = after.replace(
                year=wanted, month=1, day=1, hour=0, minute=0, second=0, microsecond=0
            )
            yield max(after, new_year - timedelta(seconds=1)), wanted


def _split(expression: str) -> _Cron | None:
    parts = cron_parts(expression)
    if parts is None or cron_field_problem(parts):
        return None
    year = parts.pop() if len(parts) > 5 else "*"
    seconds = parts.pop(0) if len(parts) > 5 else "0"
    # A question mark in either day field leaves the choice to the other one.
    days = ("*" if part == "?" else part for part in parts)
    return _Cron((seconds, *days), year)


def _reads(fields: str) -> bool:
    try:
        CronSim(fields, _PROBE)
    except (CronSimError, ValueError):
        return False
    return True


def _years(text: str) -> set[int]:
    """The years a field names; empty if it cannot be read."""
    years: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = str(_FIRST_YEAR), str(_LAST_YEAR)
        numbers = [first, last or first, step or "1"]
        if not all(
            number.isascii() and number.isdigit() and len(number) <= 4 for number in numbers
        ):
            return set()
        low, high, stride = (int(number) for number in numbers)
        if not _FIRST_YEAR <= low <= high <= _LAST_YEAR or stride == 0:
            return set()
        years.update(range(low, high + 1, stride))
    return years
