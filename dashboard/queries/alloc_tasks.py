"""The tasks of an allocation as its page tells them: where each stands, and what came to pass.

In: an allocation and the job that it was placed for (None: no longer kept). Out: one line for each
task, their events together, sentences. What tasks use is not in the record: see `usage`.
"""

from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext, ngettext

from dashboard.task_endings import TERMINATED, code_of
from dashboard.wording import number, span
from scheduler.structs.allocation import Allocation, TaskEvent, TaskState
from scheduler.structs.job import Job
from scheduler.structs.task_group import Task


class TaskLine(msgspec.Struct, frozen=True, kw_only=True):
    """One task: what it is, where it stands, its history newest first."""

    name: str
    driver: str
    state: TaskState
    #: A key of the labels of tasks.
    status: str
    #: When it runs, beside or around the main tasks; empty for a main task.
    part: str
    #: What came to pass last, as a clause.
    last: str
    events: tuple[TaskEvent, ...]
    cpu_mhz: int
    memory_mb: int
    #: It runs once, around the main tasks, and ended as it should.
    has_done_its_part: bool


class TaskEventLine(msgspec.Struct, frozen=True):
    """One event among those of all tasks."""

    task: str
    event: TaskEvent


def tasks_of(alloc: Allocation, job: Job | None) -> tuple[TaskLine, ...]:
    """In the order of the job; those that its version no longer names at the end."""
    group = job.task_group(alloc.task_group) if job is not None else None
    defined = {task.name: task for task in group.tasks} if group is not None else {}
    names = [*defined, *(name for name in sorted(alloc.task_states) if name not in defined)]
    return tuple(_task(alloc, name, defined.get(name)) for name in names)


def tasks_told(tasks: Sequence[TaskLine]) -> str:
    """`2 run, 1 is complete as it should be`."""
    running = sum(task.state.state == "running" for task in tasks)
    failed = sum(task.status == "failed" for task in tasks)
    done = sum(task.has_done_its_part for task in tasks)
    told = [ngettext("{count} runs", "{count} run", running)] if running else []
    counts = [running] * bool(running)
    if failed:
        told.append(ngettext("{count} failed", "{count} failed", failed))
        counts.append(failed)
    if done:
        told.append(
            ngettext(
                "{count} is complete as it should be", "{count} are complete as they should be",
                done,
            )
        )  # fmt: skip
        counts.append(done)
    return ", ".join(
        text.format(count=number(count)) for text, count in zip(told, counts, strict=True)
    )


def events_of(tasks: Sequence[TaskLine]) -> tuple[TaskEventLine, ...]:
    """Of all tasks, the newest first."""
    lines = [TaskEventLine(task.name, event) for task in tasks for event in task.events]
    return tuple(sorted(lines, key=lambda line: line.event.time, reverse=True))


def first_to_read(tasks: Sequence[TaskLine]) -> str:
    """Whose output is shown first: a main task, that is what people come for."""
    main = [task.name for task in tasks if not task.part]
    return next(iter([*main, *(task.name for task in tasks)]), "")


def _task(alloc: Allocation, name: str, task: Task | None) -> TaskLine:
    state = alloc.task_states.get(name, TaskState())
    held = alloc.allocated_resources.tasks.get(name)
    lifecycle = task.lifecycle if task is not None else None
    runs_once = lifecycle is not None and bool(lifecycle.hook) and not lifecycle.sidecar
    is_done = runs_once and state.state == "dead" and not state.failed
    status = "complete" if is_done else state.state
    return TaskLine(
        name=name,
        driver=task.driver if task is not None else "",
        state=state,
        status="failed" if state.failed else status,
        part=_part(lifecycle.hook, is_beside=lifecycle.sidecar) if lifecycle is not None else "",
        last=_last(state),
        events=tuple(reversed(state.events)),
        cpu_mhz=held.cpu.cpu_shares if held is not None else 0,
        memory_mb=held.memory.memory_mb if held is not None else 0,
        has_done_its_part=is_done,
    )


def _part(hook: str, *, is_beside: bool) -> str:
    if is_beside:
        return gettext("beside the others")
    return {
        "prestart": gettext("before the others"),
        "poststart": gettext("once the others run"),
        "poststop": gettext("after the others"),
    }.get(hook, "")


def _last(state: TaskState) -> str:
    """What came to pass last; empty while its node has not reported anything."""
    if not state.events:
        return ""
    newest = state.events[-1]
    ended = next((each for each in reversed(state.events) if each.type == TERMINATED), None)
    told = newest.display_message or newest.message or newest.type
    if state.state == "running" and newest.type == "Started":
        return _started(state, ended)
    if state.state != "dead" or ended is None:
        return told
    clause = _ending(state, ended)
    return clause if newest is ended or not state.failed else f"{clause}; {told}"


def _started(state: TaskState, ended: TaskEvent | None) -> str:
    if not state.restarts:
        return gettext("started")
    told = (
        gettext("restarted once")
        if state.restarts == 1
        else gettext("restarted {count} times").format(count=number(state.restarts))
    )
    return told if ended is None else f"{told}: {code_of(ended)}"


def _ending(state: TaskState, ended: TaskEvent) -> str:
    told = gettext("ended, {code}").format(code=code_of(ended))
    if not 0 < state.started_at < ended.time:
        return told
    return gettext("{told}, after {time}").format(
        told=told, time=span(ended.time - state.started_at)
    )
