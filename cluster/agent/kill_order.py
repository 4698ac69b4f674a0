"""The order in which tasks are stopped: leader, main, sidecars (node-agent.md 5.4).

Each rank is waited for before the next. Poststop tasks are not killed, except when told so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.agent import task_events as events
from cluster.agent.lifecycle_gates import hook_of, is_sidecar
from cluster.agent.task_run import Command, TaskRun
from scheduler.structs.allocation import Allocation, TaskEvent


@dataclass
class KillOrder:
    """A kill under way."""

    reason: str
    #: After the group's shutdown delay.
    begins_at: int
    also_poststop: bool = False

    @property
    def wake_at(self) -> int:
        """When the shutdown delay is over; 0 once it is."""
        return self.begins_at

    def hurry(self, now: int) -> None:
        """The server wants no delay."""
        self.begins_at = min(self.begins_at, now) if self.begins_at else 0

    def shift(self, by: int) -> None:
        """The clock was set by so much."""
        self.begins_at += by if self.begins_at else 0

    def proceed(self, tasks: Mapping[str, TaskRun], alloc: Allocation, now: int) -> list[Command]:
        """Stop the first rank that still has a live task; nothing while that one is ending."""
        if self.begins_at > now:
            return []
        self.begins_at = 0
        no_delay = bool(alloc.desired_transition.no_shutdown_delay)
        commands: list[Command] = []
        for rank in range(4):
            live = [run for run in tasks.values() if _rank(run) == rank and not run.is_dead]
            if rank == 3 and not self.also_poststop:
                break
            for run in live:
                commands += run.kill(now, reason=self.reason, no_shutdown_delay=no_delay)
            if any(not run.is_dead for run in live):
                break
        return commands


def reason_to_end(runs: Sequence[TaskRun], now: int) -> TaskEvent | None:
    """Why the tasks that still live are to end too, as they are told; None: nothing says so.

    `runs`: all but poststop tasks.
    """
    live = [run for run in runs if not run.is_dead]
    dead = [run for run in runs if run.is_dead]
    if not live:
        return None
    failed = next((run for run in dead if run.state.failed), None)
    if any(run.task.leader and not run.state.failed for run in dead):
        return events.leader_dead(now)
    if failed is not None:
        return events.sibling_failed(now, failed.task.name)
    has_main = any(not is_sidecar(run.task) for run in runs)
    if has_main and all(is_sidecar(run.task) for run in live):
        return events.main_tasks_dead(now)
    return None


def _rank(run: TaskRun) -> int:
    if hook_of(run.task) == "poststop":
        return 3
    if run.task.leader:
        return 0
    return 2 if is_sidecar(run.task) else 1
