"""What changed lately, for figures of the last minutes and the moves of the last hour.

In: a reader and a stretch of time, ns. Out: the steps of evaluations that moved in it, when
allocations ran that changed in it, and the histories of nodes that did. Each is bounded, and says
from when on it is whole.
"""

from typing import Any

import msgspec

from cluster.store.changed_lately import Lately, MovedLives, Ran
from cluster.store.past_places import memories_since
from cluster.store.ports import Namespaces
from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import within
from cluster.store.timestamps import instant, timestamp
from scheduler.state import nouns
from scheduler.structs.wire import Instant, Wire

_NEWEST = " ORDER BY modified_at DESC, create_index DESC, id DESC"


class _TaskTimes(Wire, frozen=True):
    state: str = ""
    started_at: Instant = 0
    finished_at: Instant = 0


class _Times(Wire, frozen=True):
    """Of an allocation's body, when its tasks ran."""

    task_states: dict[str, _TaskTimes] = {}


_ALLOCS: msgspec.msgpack.Decoder[_Times] = msgspec.msgpack.Decoder(_Times)


def moved_lives(
    reader: DjangoStateReader, stretch: int, namespaces: Namespaces, at_most: int
) -> MovedLives:
    """Of the stretch before the newest change of an evaluation, and of all that are pending."""
    newest = reader.rows("SELECT MAX(modified_at) FROM evaluation", ())[0][0]
    if newest is None:
        return MovedLives([])
    since = timestamp(instant(newest) - stretch)
    where, spaces = within(namespaces, "modified_at >= %s")
    rows = reader.rows(
        f"SELECT id, modified_at FROM evaluation{where}"  # noqa: S608 - our own text
        f"{_NEWEST} LIMIT %s",
        [since, *spaces, at_most + 1],
    )
    is_cut = len(rows) > at_most
    pending, pending_spaces = within(namespaces, "status = 'pending'")
    moved = f"SELECT id FROM evaluation{where}{_NEWEST} LIMIT %s"  # noqa: S608 - our own text
    waiting = f"SELECT id FROM evaluation{pending} ORDER BY create_index DESC, id DESC LIMIT %s"  # noqa: S608 - our own text
    steps = reader.select(
        nouns.LIFECYCLE_STEPS,
        f"eval_id IN (SELECT id FROM ({moved}) AS moved)"  # noqa: S608 - our own text
        f" OR eval_id IN (SELECT id FROM ({waiting}) AS waiting)",
        [since, *spaces, at_most, *pending_spaces, at_most],
        "eval_id, number",
    )
    stubs = reader.rows(f"SELECT COUNT(*) FROM evaluation_stub{where}", [since, *spaces])  # noqa: S608 - our own text
    whole_from = instant(rows[at_most][1]) if is_cut else 0
    return MovedLives(steps, whole_from, int(stubs[0][0]))


def lately(reader: DjangoStateReader, since: int, namespaces: Namespaces, at_most: int) -> Lately:
    """When allocations that changed since an instant ran, and how nodes that did stood."""
    before = reader.rows(
        "SELECT modify_index FROM evaluation WHERE modified_at < %s"
        " ORDER BY modified_at DESC LIMIT 1",
        (timestamp(since),),
    )
    # No later than the instant: what changed before it is told by its times.
    index = int(before[0][0]) if before else 0
    where, spaces = within(namespaces, "modify_index > %s")
    rows = reader.rows(
        f"SELECT client_status, modified_at, body FROM allocation{where}"  # noqa: S608 - our own text
        " ORDER BY modify_index DESC LIMIT %s",
        [index, *spaces, at_most + 1],
    )
    found = [_run(status, modified, body) for status, modified, body in rows[:at_most]]
    whole_from = instant(rows[at_most][1]) if len(rows) > at_most else 0
    runs = [run for run in found if run is not None]
    return Lately(runs, memories_since(reader, index), whole_from)


def _run(status: str, modified: Any, body: Any) -> Ran | None:
    """From the first of its tasks to the last; one whose tasks never said so did not run."""
    tasks = _ALLOCS.decode(body).task_states.values()
    started = [task.started_at for task in tasks if task.started_at]
    if not started:
        return None
    if status == "running":
        return Ran(min(started), 0)
    ended = [task.finished_at for task in tasks if task.finished_at]
    return Ran(min(started), max(ended) if ended else instant(modified))
