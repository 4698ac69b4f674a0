"""Lists of allocations: what stands in a row, and the one word for where an allocation stands.

In: allocations and readers. Out: words and rows. What the server wants and what the node reports
are two statuses; people are told the one that matters now.
"""

from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.labels import label_for
from dashboard.wording import count_of
from scheduler.structs.allocation import Allocation, DesiredStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType


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
        return stop_words(alloc)
    times = "once" if restarts == 1 else count_of(restarts, "{count} time", "{count} times")
    return gettext("restarted {times}").format(times=times) if restarts else ""


#: Why the server wants an allocation gone: while it stops, once it has.
_STOP_WORDS = {
    # Nothing keeps the next one off the same node.
    "alloc is being migrated": (
        gettext_noop("is being moved"),
        gettext_noop("was moved"),
    ),
    "alloc is being updated due to job update": (
        gettext_noop("makes room for a changed version"),
        gettext_noop("made room for a changed version"),
    ),
    "alloc not needed due to job update": (
        gettext_noop("the job does not want it any more"),
        gettext_noop("the job did not want it any more"),
    ),
    "alloc was rescheduled because it failed": (
        gettext_noop("failed; another one is placed for it"),
        gettext_noop("failed; another one was placed for it"),
    ),
    "alloc not needed as node is tainted": (
        gettext_noop("its node is closed or gone"),
        gettext_noop("its node was closed or gone"),
    ),
    "alloc is lost since its node is down": (
        gettext_noop("its node is down"),
        gettext_noop("its node was down"),
    ),
}


def stop_words(alloc: Allocation) -> str:
    """Why it is stopped, or was; the stored words where they are of no known kind."""
    now, then = _STOP_WORDS.get(alloc.desired_description, (alloc.desired_description,) * 2)
    is_batch = alloc.job_type in (JobType.BATCH, JobType.SYSBATCH)
    if alloc.desired_description == "alloc is being migrated" and is_batch:
        # Whether one is placed instead depends on what had it stopped.
        return (
            gettext("leaves its node")
            if not alloc.is_client_terminal
            else gettext("left its node")
        )
    return gettext(then if alloc.is_client_terminal else now)


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


def open_of_job(reader: RecordReader, key: JobKey, limit: int) -> list[Allocation]:
    """Those that run, should run, or still stop; at most `limit`, in order of their names."""
    found = reader.open_allocations(key, limit)
    return sorted(
        found, key=lambda alloc: (alloc.task_group, number_of(alloc), alloc.create_index)
    )


def list_row(alloc: Allocation) -> dict[str, Any]:
    """Of `_allocation_row.html`."""
    return {"alloc": alloc, "state": state_of(alloc), "note": note_of(alloc)}


def number_of(alloc: Allocation) -> int:
    """The place in its group as a number, so that `[5]` comes before `[10]`; 0 without one."""
    digits = index_of(alloc).strip("[]")
    return int(digits) if digits.isdecimal() else 0
