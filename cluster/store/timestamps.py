"""Instants as the database's timestamps, in the form that Django reads and compares.

In: ns since the Unix epoch. Out: a text in UTC, cut to the microsecond, or None; and back.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

#: Without a zone, as the texts that Django gives SQLite; sessions of PostgreSQL are in UTC.
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC by what Django writes


# The rows of one write mostly share their instants.
@lru_cache(4096)
def timestamp(instant: int) -> str | None:
    """How a statement is given an instant; None for 0, and for what no calendar holds."""
    if not instant:
        return None
    try:
        return str(_EPOCH + timedelta(microseconds=instant // 1_000))
    except OverflowError:
        return None


@lru_cache(4096)
def moment(instant: int) -> datetime | None:
    """The same for what is given moments, as COPY to PostgreSQL is."""
    if not instant:
        return None
    try:
        return _EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=instant // 1_000)
    except OverflowError:
        return None


def instant(stored: object) -> int:
    """What a statement answers for such a column, as ns; 0 for NULL."""
    if stored is None:
        return 0
    moment = stored if isinstance(stored, datetime) else datetime.fromisoformat(str(stored))
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    # Lists ask this thousands of times: a division of two spans would take twice as long.
    since = moment - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
