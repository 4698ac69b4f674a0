"""Lists of allocations: what stands in a row, and the one word for where an allocation stands.

In: allocations and readers. Out: words and rows. What the server wants and what the node reports
are two statuses; people are told the one that matters now.
"""

from collections.abc import Collection
from typing import Any

from cluster.store import codec
from cluster.store.listing import Listing, page
from cluster.store.reader import DjangoStateReader
from dashboard.labels import label_for
from dashboard.live.rooms import register_rows
from dashboard.wording import count_of
from scheduler.state.events import Topic
from scheduler.structs.allocation import Allocation, DesiredStatus
from scheduler.structs.identity import JobKey

_NEWEST_FIRST = "create_index DESC, id DESC LIMIT {}"
_NOT_OVER = (
    "namespace = %s AND job_id = %s AND"
    " (desired_status = 'run' AND client_status NOT IN ('complete', 'failed', 'lost')"
    " OR client_status IN ('pending', 'running', 'unknown'))"
)


def state_of(alloc: Allocation) -> str:
    """`running`, `stopping`, `stopped`, `failed` ...; a key of the labels of allocations."""
    if alloc.is_client_terminal and alloc.client_status.value != "complete":
        return alloc.client_status.value
    if not alloc.is_server_terminal:
        return alloc.client_status.value
    if not alloc.is_client_terminal:
        return "stopping"
    return "evicted" if alloc.desired_status is DesiredStatus.EVICT else "stopped"


def index_of(alloc: Allocation) -> str:
    """`[3]`, the place of `web.frontend[3]` in its group."""
    return alloc.name[alloc.name.rfind("[") :] if "[" in alloc.name else alloc.name


def note_of(alloc: Allocation) -> str:
    """What is worth saying beside the state."""
    restarts = sum(state.restarts for state in alloc.task_states.values())
    if alloc.client_status.value == "lost" and alloc.desired_description:
        # What its node said last is older than its loss.
        return alloc.desired_description
    if alloc.client_description and alloc.client_status.value in {"failed", "lost", "unknown"}:
        return alloc.client_description
    if alloc.is_server_terminal and alloc.desired_description:
        return alloc.desired_description
    times = "once" if restarts == 1 else count_of(restarts, "time")
    return f"restarted {times}" if restarts else ""


def row_context(alloc: Allocation, now: int) -> dict[str, Any]:
    """Of `_job_allocation_row.html`, from the changed value alone."""
    return {
        "alloc": alloc,
        "place": alloc.name.removeprefix(f"{alloc.job_id}."),
        "state": state_of(alloc),
        "note": note_of(alloc),
        "now": now,
    }


def cell_context(alloc: Allocation) -> dict[str, Any]:
    """Of one cell of a group's grid."""
    label = label_for("allocation", state_of(alloc))
    return {"alloc": alloc, "label": label, "place": index_of(alloc)}


def newest_of_job(reader: DjangoStateReader, key: JobKey, limit: int) -> list[Allocation]:
    """The newest allocations of a job, one more than `limit` when there are more."""
    order = _NEWEST_FIRST.format(int(limit) + 1)
    return reader.select(codec.ALLOCATION, "namespace = %s AND job_id = %s", key, order)


def open_of_job(reader: DjangoStateReader, key: JobKey, limit: int) -> list[Allocation]:
    """Those that run, should run, or still stop; at most `limit`, in order of their names."""
    found = reader.select(codec.ALLOCATION, _NOT_OVER, key, f"id LIMIT {int(limit)}")
    return sorted(found, key=lambda alloc: (alloc.task_group, _number(alloc), alloc.create_index))


def newest(
    reader: DjangoStateReader, namespaces: Collection[str] | None, limit: int
) -> list[Allocation]:
    """The newest allocations of these namespaces (None: all), one more than `limit` if any."""
    return page(reader, "allocations", Listing(namespaces=namespaces, limit=limit, reverse=True))


def _number(alloc: Allocation) -> int:
    digits = index_of(alloc).strip("[]")
    return int(digits) if digits.isdecimal() else 0


register_rows(
    "allocations", Topic.ALLOCATION, "allocations", "dashboard/partials/_allocation_row.html",
    row_context,
)  # fmt: skip
