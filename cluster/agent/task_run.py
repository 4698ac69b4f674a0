"""One task of an allocation on its node: pending, running, dead, and back (node-agent.md 6).

In: what the driver reports, kills, the time. Out: commands for the driver. Pure.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec.structs import replace

from cluster.agent import task_events as events
from cluster.agent.restarts import Ending, RestartAction, RestartTracker
from scheduler.structs.allocation import TaskEvent, TaskState
from scheduler.structs.task_group import Task
from scheduler.structs.wire import Duration, Nanoseconds


class Phase(StrEnum):
    """What the agent is doing with the task; finer than its state."""

    #: Its gate is closed, or it waits for the server's word after a failed recovery.
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    #: Sleeping before the next run.
    DELAYED = "delayed"
    #: A kill waits for the shutdown delay to pass.
    CLOSING = "closing"
    #: The driver was told to stop it.
    STOPPING = "stopping"
    DEAD = "dead"


@dataclass(frozen=True)
class StartTask:
    """Make its directories, then start it."""

    task: str


@dataclass(frozen=True)
class StopTask:
    """Send the kill signal; after `timeout` kill the whole tree."""

    task: str
    timeout: Duration
    signal: str


@dataclass(frozen=True)
class SignalTask:
    """Pass a signal on."""

    task: str
    signal: str


@dataclass(frozen=True)
class AbortStart:
    """What its start still waits for is not wanted any more. It is stopped if it runs already."""

    task: str


Command = StartTask | StopTask | SignalTask | AbortStart


@dataclass
class TaskRun:
    """The state of one task. Every change of it goes through a method that names what happened."""

    task: Task
    tracker: RestartTracker
    max_kill_timeout: Duration
    state: TaskState = field(default_factory=TaskState)
    phase: Phase = Phase.WAITING
    #: When a delay of this phase is over.
    wake_at: Nanoseconds = 0
    #: By how much the clock was set since the process started.
    clock_moved: Duration = 0
    #: The running process is stopped for good, not for a restart.
    kill_asked: bool = False
    restart_asked: bool = False
    #: The running process is stopped because a check of its service failed.
    check_failed: bool = False
    #: Not to be started before the server was heard.
    held: bool = False

    @property
    def is_dead(self) -> bool:
        """It will not run again by itself."""
        return self.phase is Phase.DEAD

    @property
    def running_since(self) -> Nanoseconds:
        """When its process started, by the clock as it is now."""
        return self.state.started_at + self.clock_moved

    @property
    def has_process(self) -> bool:
        """It runs, be it on its way to an end."""
        return self.phase in (Phase.RUNNING, Phase.CLOSING, Phase.STOPPING)

    def say(self, line: TaskEvent) -> None:
        """Add a line to the history."""
        kept = (*self.state.events, line)[-events.KEPT :]
        self.state = replace(self.state, events=kept)

    def say_anew(self, line: TaskEvent) -> None:
        """Add a line, or put it in the place of the last one if that tells of the same."""
        if self.state.events and self.state.events[-1].type == line.type:
            self.state = replace(self.state, events=self.state.events[:-1])
        self.say(line)

    def shift(self, by: Duration) -> None:
        """The clock was set by so much."""
        self.wake_at += by if self.wake_at else 0
        self.tracker.interval_start += by
        self.clock_moved += by

    def start(self, now: int) -> list[Command]:
        """Its gate is open: begin its first run, or the first since it was revived."""
        if not self.state.restarts:
            self.say(events.setting_up(now))
        self.phase = Phase.STARTING
        return [StartTask(self.task.name)]

    def started(self, now: int) -> list[Command]:
        """The driver has a process."""
        if self.phase is Phase.STARTING:
            self.phase = Phase.RUNNING
        self.state = replace(self.state, state="running", started_at=now)
        self.clock_moved = 0
        self.say(events.started(now))
        if self.kill_asked and self.phase is Phase.RUNNING:
            return self._stop_process()
        return []

    def ended(self, ending: Ending, *, now: int, chance: float) -> list[Command]:
        """The process ended, or could not be started; decide what comes next."""
        if ending.failed_template:
            self.say(events.killing(now, self.kill_timeout, ending.start_error))
            return self._die(now, failed=not self.kill_asked)
        if ending.start_error:
            self.say(events.start_failure(now, ending))
        elif not ending.aborted:
            self.say(events.terminated(now, ending))
        if self.kill_asked:
            if not (ending.start_error or ending.aborted):
                self.say(events.killed(now))
            return self._die(now)
        if self.restart_asked:
            self.restart_asked = False
            return self._run_again(now, 0, "")
        if self.check_failed:
            self.check_failed = False
            ending = replace(ending, message=ending.message or "unhealthy")
        return self._after_own_end(ending, now, chance)

    def _after_own_end(self, ending: Ending, now: int, chance: float) -> list[Command]:
        decision = self.tracker.decide(ending, now=now, chance=chance)
        if decision.action is RestartAction.FINISH:
            return self._die(now)
        if decision.action is RestartAction.GIVE_UP:
            self.say(events.not_restarting(now, decision.reason))
            return self._die(now, failed=True)
        return self._run_again(now, decision.delay, decision.reason)

    def _run_again(self, now: int, delay: Duration, reason: str) -> list[Command]:
        self.state = replace(
            self.state, state="pending", restarts=self.state.restarts + 1, last_restart=now
        )
        self.say(events.restarting(now, delay, reason))
        if delay <= 0:
            self.phase = Phase.STARTING
            return [StartTask(self.task.name)]
        self.phase = Phase.DELAYED
        self.wake_at = now + delay
        return []

    def kill(
        self, now: int, *, reason: str = "", no_shutdown_delay: bool = False
    ) -> list[Command]:
        """Stop it for good. A second call may cut a shutdown delay short."""
        if self.phase is Phase.CLOSING and no_shutdown_delay:
            return self._stop_process()
        if self.is_dead or self.kill_asked:
            return []
        self.kill_asked = True
        self.say(events.killing(now, self.kill_timeout, reason))
        if self.phase in (Phase.WAITING, Phase.DELAYED):
            return self._die(now)
        if self.phase is Phase.STARTING:
            return [AbortStart(self.task.name)]
        delay = self.task.shutdown_delay
        if delay > 0 and self.phase is Phase.RUNNING:
            self.say(events.shutdown_delay(now, delay, skipped=no_shutdown_delay))
            if not no_shutdown_delay:
                self.phase = Phase.CLOSING
                self.wake_at = now + delay
                self.state = replace(self.state, state="pending")
                return []
        return self._stop_process()

    def restart(self, now: int, reason: str) -> list[Command]:
        """Stop the running process and start it again at once, without using up an attempt."""
        if self.phase is not Phase.RUNNING:
            return []
        self.say(events.restart_signaled(now, reason))
        self.restart_asked = True
        return self._stop_process()

    def fail_check(self, now: int, reason: str) -> list[Command]:
        """Stop the running process; its end counts as a failure, whatever it says."""
        if self.phase is not Phase.RUNNING:
            return []
        self.say(events.restart_signaled(now, reason))
        self.check_failed = True
        return self._stop_process()

    def fail(self, now: int, reason: str) -> list[Command]:
        """End it as failed, for a reason that is not its own."""
        commands = self.kill(now, reason=reason)
        self.state = replace(self.state, failed=True)
        return commands

    def revive(self, now: int, reason: str) -> None:
        """A dead task begins again, for a restart of the whole allocation."""
        self.say(events.restart_signaled(now, reason))
        self.phase = Phase.WAITING
        self.kill_asked = False
        self.restart_asked = False
        self.state = replace(
            self.state, state="pending", failed=False, finished_at=0,
            restarts=self.state.restarts + 1, last_restart=now,
        )  # fmt: skip
        self.say(events.restarting(now, 0, ""))

    def signal(self, now: int, name: str, reason: str = "") -> list[Command]:
        """Pass a signal to the running process."""
        self.say(events.signaling(now, name, reason))
        return [SignalTask(self.task.name, name)]

    def tick(self, now: int) -> list[Command]:
        """The time of `wake_at` may have come."""
        if not self.wake_at or now < self.wake_at or self.held:
            return []
        self.wake_at = 0
        if self.phase is Phase.DELAYED:
            self.phase = Phase.STARTING
            return [StartTask(self.task.name)]
        if self.phase is Phase.CLOSING:
            return self._stop_process()
        return []

    def fail_setup(self, now: int, error: str) -> None:
        """The allocation cannot be prepared, so the task never runs."""
        self.say(events.setup_failure(now, error))
        self._die(now, failed=True)

    def give_up(self, now: int) -> None:
        """It was to end anyway, and its process is gone."""
        self._die(now)

    def lose(self, now: int) -> None:
        """Its process was not found again: wait for the server's word before starting anew."""
        self.say(events.failed_restoring(now))
        self.phase = Phase.WAITING
        self.restart_asked = False
        self.state = replace(self.state, state="pending")

    @property
    def kill_timeout(self) -> Duration:
        """The task's own, capped by the node's."""
        return min(self.task.kill_timeout, self.max_kill_timeout)

    def _stop_process(self) -> list[Command]:
        self.phase = Phase.STOPPING
        self.wake_at = 0
        return [StopTask(self.task.name, self.kill_timeout, self.task.kill_signal)]

    def _die(self, now: int, *, failed: bool = False) -> list[Command]:
        self.phase = Phase.DEAD
        self.wake_at = 0
        self.state = replace(
            self.state,
            state="dead",
            failed=self.state.failed or failed,
            finished_at=self.state.finished_at or now,
        )
        return []
