"""The page "Inside": what grows, how large it is, and which setting keeps it within bounds.

In: sizes of the record, of log files and of the disk, and the settings. Out: the context of
`inside.html`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext

from cluster.store.sizes import RecordSizes
from dashboard.wording import age, count_of, data_size, number

#: Less than this share of a disk is told as a fault to come.
_LITTLE = 0.05
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Disk(NamedTuple):
    """The disk of the data directory, in bytes."""

    free: int
    total: int


class Bounds(NamedTuple):
    """The settings that keep what grows within bounds."""

    event_hours: float
    event_bytes: int
    explained_runs: int
    explained_bytes: int
    stub_days: float
    stub_count: int
    session_days: float
    audit_days: float
    log_bytes: int
    log_files: int


class Growing(NamedTuple):
    """One thing that grows."""

    name: str
    size: str
    kept: str
    settings: tuple[str, ...]
    #: Its table in the admin, by the model's name in lower case; "" where it has none.
    table: str = ""


def inside_context(
    sizes: RecordSizes,
    bounds: Bounds,
    logs: Sequence[tuple[str, int]],
    disk: Disk,
    now: int,
) -> Mapping[str, Any]:
    """The context of the page."""
    is_little = disk.total > 0 and disk.free < _LITTLE * disk.total
    return {
        "strong": gettext("{free} of {total} are free on the disk of the data directory.").format(
            free=data_size(disk.free), total=data_size(disk.total)
        ),
        "is_little": is_little,
        "database": _DATABASES.get(sizes.database, sizes.database),
        "size": data_size(sizes.size),
        "log_size": data_size(sizes.log_size) if sizes.log_size else "",
        "index": number(sizes.index),
        "growing": _growing(sizes, bounds, now),
        "rows": [(name.replace("_", " "), count) for name, count in sizes.rows.items() if count],
        "logs": [(name, data_size(size)) for name, size in logs],
        "logs_total": data_size(sum(size for _, size in logs)),
        "logs_kept": gettext("each up to {log_bytes}, {older} beside it").format(
            log_bytes=data_size(bounds.log_bytes),
            older=count_of(bounds.log_files, "{count} older part", "{count} older parts"),
        ),
    }


_STUB_SETTINGS = ("BIVOUAC_STUB_DAYS", "BIVOUAC_STUB_COUNT")


def _growing(sizes: RecordSizes, bounds: Bounds, now: int) -> list[Growing]:
    rows = sizes.rows
    stubs = gettext("{days}, at most {stub_count}").format(
        days=_days(bounds.stub_days), stub_count=number(bounds.stub_count)
    )
    writes = count_of(sizes.event_count, "{count} write", "{count} writes")
    runs = count_of(sizes.explained_count, "{count} run", "{count} runs")
    events = f"{writes}, {data_size(sizes.event_size)}"
    if sizes.oldest_event_at:
        told = gettext("{events}, the oldest {time} ago")
        events = told.format(events=events, time=age(sizes.oldest_event_at, now))
    sessions = count_of(sizes.session_count, "{count} session", "{count} sessions")
    if sizes.ended_session_count:
        told = gettext("{sessions}, {count} of them ended")
        sessions = told.format(sessions=sessions, count=number(sizes.ended_session_count))
    return [
        Growing(
            gettext("Event log"),
            events,
            gettext("{event_hours:g} h, at most {event_bytes}").format(
                event_hours=bounds.event_hours, event_bytes=data_size(bounds.event_bytes)
            ),
            ("BIVOUAC_EVENT_HOURS", "BIVOUAC_EVENT_BYTES"),
            "eventrow",
        ),
        Growing(
            gettext("Explanations, node by node"),
            f"{runs}, {data_size(sizes.explained_size)}",
            gettext(
                "of each job {run}, at most {explained_bytes}: in turns those that "
                "failed, that wait, the first of each version and the newest; the newest "
                "always"
            ).format(
                run=count_of(bounds.explained_runs, "{count} run", "{count} runs"),
                explained_bytes=data_size(bounds.explained_bytes),
            ),
            ("BIVOUAC_EXPLAINED_RUNS", "BIVOUAC_EXPLAINED_BYTES"),
            "explanationrow",
        ),
        Growing(
            gettext("Left of collected evaluations"), number(rows.get("evaluation_stub", 0)),
            stubs, _STUB_SETTINGS, "evaluationstubrow",
        ),
        Growing(
            gettext("Left of purged jobs"), number(rows.get("job_stub", 0)),
            stubs, _STUB_SETTINGS, "jobstubrow",
        ),
        Growing(
            "Audit",
            count_of(rows.get("audit", 0), "{count} entry", "{count} entries"),
            _days(bounds.audit_days),
            ("BIVOUAC_AUDIT_KEEP",),
        ),
        Growing(
            gettext("Signed-in browsers"),
            sessions,
            _days(bounds.session_days),
            ("BIVOUAC_SESSION_DAYS",),
        ),
    ]  # fmt: skip


def _days(days: float) -> str:
    return gettext("1 day") if days == 1 else gettext("{days:g} days").format(days=days)
