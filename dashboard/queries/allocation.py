"""One allocation's page: how its tasks fare, what it holds, why it is on this node.

In: a reader and the allocation's id. Out: the context of `allocation.html`, read by a fixed number
of statements; the same for its live panels. Logs come from the agent, not from here.
"""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext, ngettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.graphs.placement import placement_view
from dashboard.queries.alloc_tasks import (
    TaskLine,
    events_of,
    first_to_read,
    tasks_of,
    tasks_told,
)
from dashboard.queries.allocations import index_of, note_of, state_of
from dashboard.queries.terminal import choices_context
from dashboard.stories.names import title_of
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number, short_id
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import Allocation

#: The newest line of a task that has ended and will be started again.
_BETWEEN_STARTS = frozenset({"Restarting", "Terminated", "Driver Failure", "Restart Signaled"})


def allocation_page(reader: RecordReader, viewer: Viewer, alloc_id: str) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    parts = _parts(reader, alloc, viewer.may_in(alloc.namespace))
    return {
        **parts,
        "log_task": first_to_read(parts["tasks"]),
        "usage_url": f"/allocations/{alloc.id}/usage/",
        "files_url": f"/allocations/{alloc.id}/files/",
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)), (alloc.name, "")
        ),
        "live_topics": f"allocation:{alloc.id}",
    }


def allocation_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """Every part of it that follows the record; `alloc` is None once it is gone."""
    alloc = reader.allocation(subscription.key)
    if alloc is None:
        return {"alloc": None, "tasks": (), "events": ()}
    return _parts(reader, alloc, subscription.may)


def _parts(reader: RecordReader, alloc: Allocation, may: Collection[str]) -> dict[str, Any]:
    job = reader.job_of(alloc)
    tasks = tasks_of(alloc, job)
    scored = {score.node_id for score in alloc.metrics.score_meta_data}
    reader.preload(nodes=scored)
    found = (reader.node(node_id) for node_id in scored)
    names = {node.id: node.name for node in found if node is not None}
    return {
        **_standing(reader, alloc, tasks),
        **choices_context(alloc, job, may, {}),
        "tasks": tasks,
        "tasks_told": tasks_told(tasks),
        "events": events_of(tasks),
        "disk_mb": alloc.allocated_resources.shared.disk_mb,
        "why": placement_view(alloc.metrics, names, chosen=alloc.node_id),
        "score": _score_of(alloc),
        "story": _story_of(reader, alloc),
        "namespace": alloc.namespace,
        "may": may,
    }


def _story_of(reader: RecordReader, alloc: Allocation) -> dict[str, str]:
    """That of the evaluation that placed or changed it last; empty where nobody knows."""
    made = reader.evaluation(alloc.eval_id) or reader.evaluation_stub(alloc.eval_id)
    story = reader.get(STORIES, made.story_id) if made is not None and made.story_id else None
    return {"id": story.id, "name": title_of(story).plain} if story is not None else {}


def _score_of(alloc: Allocation) -> float | None:
    """What its node was given in all when it was placed; None where that was not recorded."""
    scores = alloc.metrics.score_meta_data
    return next((each.norm_score for each in scores if each.node_id == alloc.node_id), None)


def _standing(
    reader: RecordReader, alloc: Allocation, tasks: tuple[TaskLine, ...]
) -> dict[str, Any]:
    strong, rest = _sentence(alloc, tasks)
    node = reader.node(alloc.node_id)
    return {
        "alloc": alloc,
        "state": state_of(alloc),
        "is_canary": _is_canary(alloc) and not alloc.is_terminal,
        "place": index_of(alloc),
        "started_at": min(
            (task.state.started_at for task in tasks if task.state.started_at), default=0
        ),
        "restarts": sum(task.state.restarts for task in tasks),
        "node_name": node.name if node is not None else alloc.node_name,
        "node_is_known": node is not None,
        "is_simulated": node is not None and node.is_simulated,
        "job_url": job_url(alloc.job_key),
        "strong": strong,
        "rest": rest,
    }


def _is_canary(alloc: Allocation) -> bool:
    """Whether nobody has promoted it yet."""
    return alloc.deployment_status is not None and alloc.deployment_status.canary


def _sentence(alloc: Allocation, tasks: tuple[TaskLine, ...]) -> tuple[str, str]:
    state = state_of(alloc)
    wanted = [task for task in tasks if not task.has_done_its_part]
    running = sum(task.state.state == "running" for task in wanted)
    note = note_of(alloc)
    told = _sentence_of(note)
    if state == "running":
        restarts = sum(task.state.restarts for task in tasks)
        again = ""
        if restarts:
            again = ngettext("Restarted once.", "Restarted {count} times.", restarts)
            again = again.format(count=number(restarts))
        if _is_canary(alloc):
            canary = gettext("A canary of v{version}.").format(version=alloc.job_version)
            again = f"{canary} {again}".strip()
        return gettext("{running} of {task} running.").format(
            running=running, task=count_of(len(wanted), "{count} task", "{count} tasks")
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
