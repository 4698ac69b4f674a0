"""Which tasks may run now: prestart, main, poststart, poststop (node-agent.md 5.5).

In: each task's place in the life and its state. Out: the tasks whose gate is open.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from scheduler.structs.allocation import TaskState
from scheduler.structs.task_group import Task


class Stage(IntEnum):
    """How far an allocation has come; only a restart of all tasks goes back."""

    #: Others have to end first, or its network is being made.
    SHUT = -1
    PRESTART = 0
    MAIN = 1
    POSTSTART = 2
    WAIT = 3
    POSTSTOP = 4


_OPENS_AT = {
    "prestart": Stage.PRESTART,
    "": Stage.MAIN,
    "poststart": Stage.POSTSTART,
    "poststop": Stage.POSTSTOP,
}


def hook_of(task: Task) -> str:
    """`prestart`, `poststart`, `poststop`, or "" of a main task."""
    return task.lifecycle.hook if task.lifecycle else ""


def is_sidecar(task: Task) -> bool:
    """Runs beside the main tasks for as long as they do."""
    return bool(task.lifecycle and task.lifecycle.sidecar)


class Gates:
    """The stage of one allocation."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks = tuple(tasks)
        self.stage = Stage.SHUT

    def open(self) -> None:
        """The allocation begins: everything before its tasks is done."""
        self.stage = Stage.PRESTART

    def reset(self) -> None:
        """Begin again, for a restart of all tasks."""
        if self.stage is not Stage.SHUT:
            self.stage = Stage.PRESTART

    def is_open(self, task: Task) -> bool:
        """Whether this task may run at the stage reached."""
        opens_at = _OPENS_AT[hook_of(task)]
        if self.stage is Stage.POSTSTOP:
            return opens_at is Stage.POSTSTOP
        return opens_at <= self.stage

    def advance(self, states: Mapping[str, TaskState]) -> None:
        """Go as far as the states of the tasks allow."""
        if all(states[task.name].state == "dead" for task in self._of(lambda h: h != "poststop")):
            self.stage = Stage.POSTSTOP
            return
        while Stage.SHUT < self.stage < Stage.WAIT and self._is_done(self.stage, states):
            self.stage = Stage(self.stage + 1)

    def _is_done(self, stage: Stage, states: Mapping[str, TaskState]) -> bool:
        if stage is Stage.MAIN:
            return all(
                states[task.name].state != "pending" for task in self._of(lambda hook: hook == "")
            )
        hook = "prestart" if stage is Stage.PRESTART else "poststart"
        return all(_has_done_its_part(task, states[task.name]) for task in self._of(hook.__eq__))

    def _of(self, wanted: Callable[[str], bool]) -> list[Task]:
        return [task for task in self.tasks if wanted(hook_of(task))]


def _has_done_its_part(task: Task, state: TaskState) -> bool:
    if is_sidecar(task):
        return state.state == "running"
    return state.state == "dead" and not state.failed
