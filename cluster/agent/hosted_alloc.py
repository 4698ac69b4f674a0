"""One allocation on its node, as its host holds it."""

import asyncio
from dataclasses import dataclass, field

from cluster.agent.agent_state import StoredAlloc, StoredTask
from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.drivers.driver import Handle
from cluster.agent.protocol import AllocationReport
from scheduler.structs.wire import Duration


@dataclass
class HostedAlloc:
    """One allocation here."""

    runner: AllocRunner
    handles: dict[str, Handle] = field(default_factory=dict)
    #: Keys of the artifacts in place, by task.
    fetched: dict[str, set[str]] = field(default_factory=dict)
    acknowledged: AllocationReport | None = None
    timer: asyncio.TimerHandle | None = None
    timer_at: int = 0
    #: Not begun: allocations it replaces still run, here or on the node they were on.
    waits_for: frozenset[str] = frozenset()
    finished_at: int = 0
    #: The server has collected it; it goes as soon as its tasks are dead.
    is_unwanted: bool = False

    def disarm(self) -> None:
        """Nothing is to happen by time alone."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.timer_at = None, 0

    def shift(self, by: Duration) -> None:
        """The clock was set by so much."""
        self.runner.shift(by)
        self.timer_at += by if self.timer_at else 0

    @property
    def patience(self) -> Duration:
        """How long it runs on without the server; 0: for ever."""
        group = self.runner.group
        of_block = group.disconnect.stop_on_client_after if group.disconnect else 0
        return of_block or group.stop_after_client_disconnect or 0

    @property
    def stored(self) -> StoredAlloc:
        """What is kept of it over a restart of the agent."""
        runner = self.runner
        return StoredAlloc(
            alloc=runner.alloc,
            job=runner.job,
            tasks={
                name: StoredTask(
                    state=run.state,
                    phase=run.phase,
                    wake_at=run.wake_at,
                    kill_asked=run.kill_asked,
                    restart_asked=run.restart_asked,
                    restart_count=run.tracker.count,
                    interval_start=run.tracker.interval_start,
                    fetched=tuple(sorted(self.fetched.get(name, ()))),
                    handle=self.handles.get(name),
                )
                for name, run in runner.tasks.items()
            },
            deployment_status=runner.deployment_status,
            acknowledged=self.acknowledged,
        )
