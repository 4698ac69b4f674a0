"""One allocation's page: how its tasks fare, what it holds, why it is on this node.

In: a reader and the allocation's id. Out: the context of `allocation.html`, read by a fixed number
of statements; the same for its live panels. Logs come from the agent, not from here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.graphs.placement import placement_view
from dashboard.queries.allocations import index_of, note_of, state_of
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number, short_id
from scheduler.structs.allocation import Allocation, TaskEvent, TaskState
from scheduler.structs.job import Job
from scheduler.structs.task_group import Task

#: The newest line of a task that has ended and will be started again.
_BETWEEN_STARTS = frozenset({"Restarting", "Terminated", "Driver Failure", "Restart Signaled"})


class TaskLine(msgspec.Struct, frozen=True, kw_only=True):
    """One task: what it is, where it stands, its history newest first."""

    name: str
    driver: str
    state: TaskState
    #: A key of the labels of tasks.
    status: str
    events: tuple[TaskEvent, ...]
    cpu_mhz: int
    memory_mb: int
    hook: str


def allocation_page(reader: RecordReader, viewer: Viewer, alloc_id: str) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    job = reader.job_of(alloc)
    tasks = _tasks(alloc, job)
    scored = {score.node_id for score in alloc.metrics.score_meta_data}
    reader.preload(nodes=scored)
    found = (reader.node(node_id) for node_id in scored)
    names = {node.id: node.name for node in found if node is not None}
    return {
        **_standing(reader, alloc, tasks),
        "alloc": alloc,
        "tasks": tasks,
        "job_url": job_url(alloc.job_key),
        "usage_url": f"/allocations/{alloc.id}/usage/",
        "story_id": _story_of(reader, alloc),
        "why": placement_view(alloc.metrics, names, chosen=alloc.node_id),
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)), (alloc.name, "")
        ),
        "live_topics": f"allocation:{alloc.id}",
        "namespace": alloc.namespace,
        "may": viewer.may_in(alloc.namespace),
    }


def _story_of(reader: RecordReader, alloc: Allocation) -> str:
    """The story of the evaluation that placed or changed it last; empty where nobody knows."""
    made = reader.evaluation(alloc.eval_id) or reader.evaluation_stub(alloc.eval_id)
    return made.story_id if made is not None else ""


def standing_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """How it stands; `alloc` is None once it is gone."""
    alloc = reader.allocation(subscription.key)
    if alloc is None:
        return {"alloc": None}
    return _standing(reader, alloc, _tasks(alloc, reader.job_of(alloc)))


def tasks_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """Its tasks; `alloc` is None once it is gone."""
    alloc = reader.allocation(subscription.key)
    if alloc is None:
        return {"alloc": None, "tasks": ()}
    return {"alloc": alloc, "tasks": _tasks(alloc, reader.job_of(alloc))}


def _standing(
    reader: RecordReader, alloc: Allocation, tasks: tuple[TaskLine, ...]
) -> dict[str, Any]:
    strong, rest = _sentence(alloc, tasks)
    node = reader.node(alloc.node_id)
    return {
        "alloc": alloc,
        "state": state_of(alloc),
        "place": index_of(alloc),
        "node_name": node.name if node is not None else alloc.node_name,
        "node_is_known": node is not None,
        "is_simulated": node is not None and node.is_simulated,
        "job_url": job_url(alloc.job_key),
        "strong": strong,
        "rest": rest,
    }


def _sentence(alloc: Allocation, tasks: tuple[TaskLine, ...]) -> tuple[str, str]:
    state = state_of(alloc)
    running = sum(task.state.state == "running" for task in tasks)
    note = note_of(alloc)
    told = _sentence_of(note)
    if state == "running":
        restarts = sum(task.state.restarts for task in tasks)
        again = (
            gettext("Restarted {time}.").format(
                time=count_of(restarts, "{count} time", "{count} times")
            )
            if restarts
            else ""
        )
        return gettext("{running} of {task} running.").format(
            running=running, task=count_of(len(tasks), "{count} task", "{count} tasks")
        ), again
    if state == "pending":
        return _starting(tasks)
    if state == "stopping":
        return "Stopping.", told
    if state == "lost":
        return gettext("Lost: its node does not answer."), told
    follow = ""
    if alloc.next_allocation:
        follow = gettext(" Replaced by {next_allocation}.").format(
            next_allocation=short_id(alloc.next_allocation)
        )
    elif alloc.followup_eval_id:
        follow = gettext(" A replacement is due later.")
    return f"{state.capitalize()}.", (told + follow).strip()


def _starting(tasks: tuple[TaskLine, ...]) -> tuple[str, str]:
    """Of one that does not run yet, or not again: which task is where, as its node says."""
    begun = [task for task in tasks if task.events]
    if not begun:
        return gettext("Placed; its node has not started it yet."), ""
    backing_off = [
        task
        for task in begun
        if task.state.state == "pending" and task.events[0].type in _BETWEEN_STARTS
    ]
    if not backing_off:
        return "Starting.", ""
    task = backing_off[0]
    more = len(backing_off) - 1
    told = _sentence_of(task.events[0].display_message or task.events[0].message)
    times = count_of(task.state.restarts, "{count} restart", "{count} restarts")
    counted = gettext("{times} so far.").format(times=times) if task.state.restarts else ""
    who = (
        gettext("Task {task} and {count} more ended and wait to be started again.")
        if more
        else gettext("Task {task} ended and waits to be started again.")
    )
    return who.format(task=task.name, count=number(more)), f"{told} {counted}".strip()


def _sentence_of(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".") if text else ""


def _tasks(alloc: Allocation, job: Job | None) -> tuple[TaskLine, ...]:
    group = job.task_group(alloc.task_group) if job is not None else None
    defined = {task.name: task for task in group.tasks} if group is not None else {}
    names = [*defined, *(name for name in sorted(alloc.task_states) if name not in defined)]
    return tuple(_task(alloc, name, defined.get(name)) for name in names)


def _task(alloc: Allocation, name: str, task: Task | None) -> TaskLine:
    state = alloc.task_states.get(name, TaskState())
    held = alloc.allocated_resources.tasks.get(name)
    lifecycle = task.lifecycle if task is not None else None
    return TaskLine(
        name=name,
        driver=task.driver if task is not None else "",
        state=state,
        status="failed" if state.failed else state.state,
        events=tuple(reversed(state.events)),
        cpu_mhz=held.cpu.cpu_shares if held is not None else 0,
        memory_mb=held.memory.memory_mb if held is not None else 0,
        hook=lifecycle.hook if lifecycle is not None else "",
    )
