"""Brings an allocation runner back to where it was before the agent stopped (node-agent.md 13).

In: what was stored, and which processes were found again. Out: the commands to go on with. Pure.
"""

from collections.abc import Mapping

from cluster.agent.agent_state import StoredTask
from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.task_run import Command, Phase, StopTask
from scheduler.structs.job import JobType

_WITH_PROCESS = frozenset({Phase.STARTING, Phase.RUNNING, Phase.CLOSING, Phase.STOPPING})


def resume(runner: AllocRunner, tasks: Mapping[str, StoredTask]) -> None:
    """Put each task back into the phase it was left in."""
    for name, stored in tasks.items():
        run = runner.tasks.get(name)
        if run is None:
            continue
        run.state = stored.state
        run.phase = Phase(stored.phase)
        run.wake_at = stored.wake_at
        run.kill_asked = stored.kill_asked
        run.restart_asked = stored.restart_asked
        run.tracker.count = stored.restart_count
        run.tracker.interval_start = stored.interval_start
        # What never ran may have been replaced meanwhile; the server is asked first.
        run.held = run.phase in (Phase.WAITING, Phase.DELAYED)


def unfinished_runs(runner: AllocRunner) -> list[str]:
    """The tasks that had a process, or were about to."""
    return [name for name, run in runner.tasks.items() if run.phase in _WITH_PROCESS]


def recovered(runner: AllocRunner, name: str, now: int) -> list[Command]:
    """Its process was found, or its end is known: go on as if nothing had happened."""
    run = runner.tasks[name]
    if run.phase is Phase.STARTING:
        return run.started(now)
    if run.phase is Phase.STOPPING:
        return [StopTask(name, run.kill_timeout, run.task.kill_signal)]
    return []


def lost(runner: AllocRunner, name: str, now: int) -> None:
    """Its process was not found, and nothing tells how it ended."""
    run = runner.tasks[name]
    if run.kill_asked or runner.alloc.is_terminal:
        run.give_up(now)
        return
    run.lose(now)
    run.held = runner.job.type != JobType.SYSTEM
