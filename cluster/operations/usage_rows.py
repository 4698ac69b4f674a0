"""What was measured over the past hour, as agents tell it: columns of rows, and their sums.

Times are those of one grid for all nodes, so that rows of different tasks can be added up.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.structs.wire import Nanoseconds, Wire

#: Seconds between two rows, and rows that are kept: one hour.
STEP_S = 10
ROWS = 360


class Columns(Wire, frozen=True):
    """Rows as columns, oldest first; a value that could not be measured is None."""

    #: Seconds since 1970, multiples of `STEP_S`.
    at: tuple[int, ...] = ()
    #: Megahertz.
    cpu_ticks: tuple[float | None, ...] = ()
    memory_bytes: tuple[int, ...] = ()
    #: Percent of the time in which it was held back; None where nothing tells.
    throttled_percent: tuple[float | None, ...] = ()


class Sums(Wire, frozen=True):
    """Rows of many added up, and of how many each one is. What is not known adds nothing."""

    at: tuple[int, ...] = ()
    #: None where nothing of it is known.
    cpu_ticks: tuple[float | None, ...] = ()
    memory_bytes: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()


class AllocationRows(Wire, frozen=True):
    """The past hour of one allocation, task by task."""

    alloc_id: str
    #: The agent remembers nothing before; 0: it measures nothing, as on a simulated node.
    since: Nanoseconds = 0
    #: By the clock of the node.
    now: Nanoseconds = 0
    step_seconds: int = STEP_S
    tasks: dict[str, Columns] = {}


class NodeRows(Wire, frozen=True):
    """The past hour of one machine."""

    since: Nanoseconds = 0
    now: Nanoseconds = 0
    step_seconds: int = STEP_S
    machine: Columns = Columns()


class Used(Wire, frozen=True):
    """What one allocation used over a short while before now."""

    #: Megahertz, on average; None where nothing of it is known.
    cpu_ticks: float | None = None
    #: The highest of its rows.
    memory_bytes: int = 0


class SumRows(Wire, frozen=True):
    """The past hour of several allocations of one node together."""

    since: Nanoseconds = 0
    now: Nanoseconds = 0
    step_seconds: int = STEP_S
    sums: Sums = Sums()
    #: By allocation, where it was asked for: those of which something was measured.
    each: dict[str, Used] = {}


def as_one(tasks: Iterable[Columns]) -> Sums:
    """The tasks of one allocation together; `counted` is 1 throughout."""
    sums = added_up(
        Sums(
            at=columns.at,
            cpu_ticks=columns.cpu_ticks,
            memory_bytes=columns.memory_bytes,
            counted=(1,) * len(columns.at),
        )
        for columns in tasks
    )
    return replace(sums, counted=(1,) * len(sums.at))


def used_since(rows: Sums, since: int) -> Used | None:
    """What rows later than `since`, in seconds, say of one allocation; None without any."""
    places = [place for place, at in enumerate(rows.at) if at > since]
    if not places:
        return None
    shares = [value for place in places if (value := rows.cpu_ticks[place]) is not None]
    return Used(
        cpu_ticks=round(sum(shares) / len(shares), 1) if shares else None,
        memory_bytes=max(rows.memory_bytes[place] for place in places),
    )


def added_up(every: Iterable[Sums]) -> Sums:
    """The rows of many, place by place of the grid."""
    sums: dict[int, tuple[float | None, int, int]] = {}
    for one in every:
        for at, cpu, memory, counted in zip(
            one.at, one.cpu_ticks, one.memory_bytes, one.counted, strict=True
        ):
            before, *others = sums.get(at, (None, 0, 0))
            known = before if cpu is None else cpu + (before or 0.0)
            sums[at] = (known, memory + others[0], counted + others[1])
    rows = sorted(sums.items())
    return Sums(
        at=tuple(at for at, _ in rows),
        cpu_ticks=tuple(None if row[0] is None else round(row[0], 1) for _, row in rows),
        memory_bytes=tuple(row[1] for _, row in rows),
        counted=tuple(row[2] for _, row in rows),
    )
