"""Terminals inside tasks: the page that opens them, and the actions that a job's tasks offer.

In: an allocation, or a job and its newest allocations. Out: the context of `terminal.html`, and
lines with a way to it. What runs in a terminal is told by the agent and kept nowhere.
"""

import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.operations.task_sessions import RIGHT, RIGHT_ON_NODE, has_host_around
from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import number
from scheduler.structs.allocation import Allocation, ClientStatus, TaskState
from scheduler.structs.job import Job
from scheduler.structs.task_group import Task

#: What is run where nobody says anything else.
SHELL = "/bin/sh"


class TaskChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A task to open a terminal in."""

    name: str
    driver: str
    is_running: bool
    #: Not one that runs before, beside or after the others.
    is_main: bool = True
    #: The right that the viewer lacks for this one; "" for none.
    missing: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a terminal can be opened in it now."""
        return self.is_running and not self.missing


class ActionLine(msgspec.Struct, frozen=True, kw_only=True):
    """An action of a task. `url` is "" where no task that offers it runs."""

    name: str
    task: str
    group: str
    command: str
    url: str = ""
    is_chosen: bool = False


def terminal_page(
    reader: RecordReader, viewer: Viewer, alloc_id: str, asked: Mapping[str, str]
) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    node = reader.node(alloc.node_id)
    may = viewer.may_in(alloc.namespace)
    address = f"/allocations/{alloc.id}/"
    return {
        **choices_context(alloc, reader.job_of(alloc), may, asked),
        "alloc": alloc,
        "is_simulated": node is not None and node.is_simulated,
        "namespace": alloc.namespace,
        "may": may,
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)), (alloc.name, address),
            ("terminal", ""),
        ),
    }  # fmt: skip


def choices_context(
    alloc: Allocation, job: Job | None, may: Collection[str], asked: Mapping[str, str]
) -> dict[str, Any]:
    """What can be opened inside an allocation; `asked`: a task, command, action, any missing."""
    tasks = _tasks(alloc, job)
    choices = [_choice(may, alloc, task) for task in tasks]
    is_open = [each for each in choices if each.is_open]
    # Main tasks first: they are what people come for.
    likely = sorted(is_open or choices, key=lambda each: not each.is_main)
    wished = asked.get("task", "")
    chosen = next((each for each in choices if each.name == wished), None)
    chosen = chosen or next(iter(likely), None)
    return {
        "choices": choices,
        "chosen": chosen,
        "can_open": bool(is_open),
        "terminal_told": _told(choices),
        "shell": asked.get("command") or SHELL,
        "actions": [
            ActionLine(
                name=action.name, task=task.name, group=alloc.task_group,
                command=shlex.join((action.command, *action.args)),
                url=_address(alloc, task.name, action.name),
                is_chosen=(task.name, action.name) == (wished, asked.get("action", "")),
            )
            for task, choice in zip(tasks, choices, strict=True)
            if choice.is_open
            for action in task.actions
        ],
    }  # fmt: skip


def task_actions(job: Job, allocations: Iterable[Allocation]) -> list[ActionLine]:
    """What the tasks of a job offer, each with the page of the newest task that runs."""
    runs = [each for each in allocations if each.client_status == ClientStatus.RUNNING]
    return [
        ActionLine(
            name=action.name,
            task=task.name,
            group=group.name,
            command=shlex.join((action.command, *action.args)),
            url=_way_to(runs, group.name, task.name, action.name),
        )
        for group in job.task_groups
        for task in group.tasks
        for action in task.actions
    ]


def _way_to(runs: Iterable[Allocation], group: str, task: str, action: str) -> str:
    for alloc in runs:
        if alloc.task_group == group and _is_running(alloc, task):
            return _address(alloc, task, action)
    return ""


def _address(alloc: Allocation, task: str, action: str) -> str:
    query = urlencode({"task": task, "action": action})
    return f"/allocations/{alloc.id}/terminal/?{query}"


def _told(choices: Collection[TaskChoice]) -> str:
    """`2 of 3 tasks can be entered`; else what is missing."""
    running = [each for each in choices if each.is_running]
    is_open = [each for each in running if not each.missing]
    if is_open:
        return ngettext(
            "{count} of {tasks} task can be entered",
            "{count} of {tasks} tasks can be entered",
            len(choices),
        ).format(count=number(len(is_open)), tasks=number(len(choices)))
    if running:
        return gettext("to enter a task needs {right}").format(right=running[0].missing)
    return gettext("no task of it runs")


def _tasks(alloc: Allocation, job: Job | None) -> tuple[Task, ...]:
    group = None if job is None else job.task_group(alloc.task_group)
    return () if group is None else group.tasks


def _choice(may: Collection[str], alloc: Allocation, task: Task) -> TaskChoice:
    wanted = {"terminal": RIGHT}
    if has_host_around(task):
        wanted["terminal-on-host"] = RIGHT_ON_NODE
    lacking = [right for action, right in wanted.items() if action not in may]
    return TaskChoice(
        name=task.name,
        driver=task.driver,
        is_running=_is_running(alloc, task.name),
        is_main=task.lifecycle is None or not task.lifecycle.hook,
        missing=gettext("{right} in namespace {namespace}").format(
            right=lacking[0], namespace=alloc.namespace
        )
        if lacking
        else "",
    )


def _is_running(alloc: Allocation, task: str) -> bool:
    return alloc.task_states.get(task, TaskState()).state == "running"
