"""One allocation on its node: task states, health, the order of stopping; a pure state machine.

In: the allocation and its job, what drivers report, the time. Out: commands, and the report for
the server. `wake_at` says when `tick` wants to be called; nothing here sleeps, starts or writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from cluster.agent import task_events as events
from cluster.agent.alloc_health import HealthTracker
from cluster.agent.alloc_status import status_of
from cluster.agent.kill_order import KillOrder, reason_to_end
from cluster.agent.lifecycle_gates import Gates, Stage, hook_of, is_sidecar
from cluster.agent.protocol import AllocationReport
from cluster.agent.restarts import Ending, RestartTracker, restarts_on_success
from cluster.agent.task_run import Command, Phase, TaskRun
from cluster.agent.withdrawal import Withdrawal
from cluster.jobspec.left_out import set_up_refusals
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    NetworkStatus,
    TaskState,
)
from scheduler.structs.job import Job
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.task_group import TaskGroup
from scheduler.structs.wire import Duration

RUN_TOO_LONG = "allocation exceeded max_run_duration"


@dataclass(frozen=True)
class Surroundings:
    """What an allocation runner must know of its node."""

    max_kill_timeout: int = 30_000_000_000
    chance: Callable[[], float] = lambda: 0.0
    #: Nothing really runs here, so that nothing of a job can be missing either.
    is_simulated: bool = False


#: Of an allocation that is stopped or done, when nobody names one of its tasks.
OVER = "restart of an alloc that should not run"


class TaskRefused(Exception):
    """A request of an operator that the task's state does not allow; the text is shown."""


class AllocRunner:
    """The state of one allocation and the commands that follow from each change."""

    def __init__(
        self, alloc: Allocation, job: Job, surroundings: Surroundings, *, now: int
    ) -> None:
        group = job.task_group(alloc.task_group)
        if group is None:
            raise ValueError(f'unknown task group "{alloc.task_group}"')
        self.alloc, self.job = alloc, job
        self.group: TaskGroup = group
        self.surroundings = surroundings
        self.tasks = {task.name: self._new_run(task.name, now) for task in group.tasks}
        self.gates = Gates(group.tasks)
        self.health = HealthTracker(
            alloc, job, group, now, passes_checks=surroundings.is_simulated
        )
        self.killing: KillOrder | None = None
        self.withdrawal: Withdrawal | None = None
        self.ran_too_long = False
        self.network_status: NetworkStatus | None = NetworkStatus()
        self.network_namespace = ""  # The file that holds it; "": the host's network.
        self.deployment_status = alloc.deployment_status

    def begin(self, now: int) -> list[Command]:
        """The allocation is new here."""
        if self.alloc.is_server_terminal or self.alloc.is_client_terminal:
            return self.kill(now)
        self.gates.open()
        self.health.begin(now)
        for run in self.tasks.values():
            run.say(events.received(now))
        return self._settle(now)

    def fail_setup(self, error: str, now: int) -> list[Command]:
        """Its directories or network could not be made."""
        for run in self.tasks.values():
            if not run.is_dead:
                run.fail_setup(now, error)
        return self._settle(now)

    def update(self, alloc: Allocation, job: Job, now: int) -> list[Command]:
        """The server changed it: other wishes, other policies, or an end."""
        came_back = alloc.client_status is ClientStatus.UNKNOWN and not self.is_terminal
        self.deployment_status = self.health.told(self.deployment_status, alloc)
        self.alloc, self.job = alloc, job
        self.group = job.task_group(alloc.task_group) or self.group
        commands = self._missing_tasks(now)
        for run in self.tasks.values():
            run.held = False
            run.task = self.group.task(run.task.name) or run.task
            run.tracker.policy = self._policy(run.task.name)
            if came_back and not run.is_dead:
                run.say(events.reconnected(now))
        if alloc.is_server_terminal:
            return [*commands, *self.kill(now)]
        self.health.follow(alloc, job, self.group, now)
        return [*commands, *self._settle(now)]

    def release(self, now: int) -> list[Command]:
        """The server was heard: tasks that were held back after a failed recovery may start."""
        for run in self.tasks.values():
            run.held = False
        return self._settle(now)

    def carry_on(self, now: int) -> list[Command]:
        """After a restart of the agent: see what follows from the states that were found."""
        self.gates.open()
        self.health.begin(now)
        return self.kill(now) if self.alloc.is_server_terminal else self._settle(now)

    def task_started(self, name: str, now: int) -> list[Command]:
        """The driver has a process."""
        return [*self.tasks[name].started(now), *self._settle(now)]

    def task_ended(self, name: str, ending: Ending, now: int) -> list[Command]:
        """A process ended, or could not be started."""
        run = self.tasks[name]
        if run.is_dead:
            return []
        commands = run.ended(ending, now=now, chance=self.surroundings.chance())
        return [*commands, *self._settle(now)]

    def tick(self, now: int) -> list[Command]:
        """Whatever was to happen by now."""
        commands = [command for run in self.tasks.values() for command in run.tick(now)]
        if self.withdrawal is not None and now >= self.withdrawal.ends_at:
            restart, self.withdrawal = self.withdrawal.restart, None
            commands += restart(now) if self.killing is None else []
        if self._deadline and now >= self._deadline and not self.is_terminal:
            self.ran_too_long = True
            commands += self.kill(now, reason=RUN_TOO_LONG)
        return [*commands, *self._settle(now)]

    def shift(self, by: Duration) -> None:
        """The clock was set by so much: what was begun before ends as much later."""
        for run in self.tasks.values():
            run.shift(by)
        self.health.shift(by)
        for each in (self.killing, self.withdrawal):
            if each is not None:
                each.shift(by)

    @property
    def wake_at(self) -> int:
        """When `tick` is wanted; 0: not before something else happens."""
        times = [0 if run.held else run.wake_at for run in self.tasks.values()]
        times += [each.wake_at for each in (self.killing, self.withdrawal) if each]
        if not self.is_terminal:
            times += [self.health.wake_at, 0 if self.ran_too_long else self._deadline]
        return min((time for time in times if time), default=0)

    def kill(self, now: int, *, reason: str = "") -> list[Command]:
        """Stop every task in order; poststop tasks run, unless it ran too long or never began."""
        if self.killing is None:
            # Services that have left already are waited for once.
            delay = self.group.shutdown_delay or 0
            over = self.withdrawal.ends_at if self.withdrawal else now + delay
            self.withdrawal = None
            self.killing = KillOrder(
                reason=reason,
                begins_at=over if self._any_running else now,
                also_poststop=self.ran_too_long or self.gates.stage is Stage.SHUT,
            )
        if self.alloc.desired_transition.no_shutdown_delay:
            self.killing.hurry(now)
        return self._settle(now)

    def restart_tasks(self, name: str, now: int, *, all_tasks: bool) -> list[Command]:
        """Restart one task, every running task (no name), or all, dead ones included."""
        if name and all_tasks:
            raise TaskRefused("task name cannot be set when restarting all tasks")
        if all_tasks:
            return self._once_withdrawn(self._restart_all, now)
        if not name:
            return self._once_withdrawn(self._restart_running, now)
        run = self.tasks.get(name)
        if run is None:
            raise TaskRefused(f"Could not find task runner for task: {name}")
        if run.phase is not Phase.RUNNING:
            raise TaskRefused("Task not running")
        return run.restart(now, "User requested task to restart")

    def note_checks(self, failing: tuple[str, ...], now: int) -> list[Command]:
        """Checks of its services were looked at: these do not pass, of those that count."""
        self.health.note_checks(failing, now)
        return self._settle(now)

    def fail_checked(self, name: str, reason: str, now: int) -> list[Command]:
        """A check has failed for too long: run its task, or every task, anew as a failure."""
        if self.killing is not None:
            return []
        if name in self.tasks:
            return self.tasks[name].fail_check(now, reason)
        return self._once_withdrawn(partial(self._fail_all, reason), now)

    def templates_changed(
        self,
        name: str,
        now: int,
        *,
        restarts: bool,
        signals: Sequence[str],
        words: Sequence[str],
        scripts: Sequence[str] = (),
    ) -> list[Command]:
        """Files of a task are new: it starts again, or is told; `words` say of what, and how.

        `scripts`: their commands.
        """
        run = self.tasks[name]
        if run.phase is not Phase.RUNNING:
            skipped = (*(f"signal {each}" for each in signals), *(f"script {e}" for e in scripts))
            for each in skipped:
                text = f"{words[2]} skipped {each}: task is not running"
                run.say(events.event("Task hook message", now, text))
            return []
        if restarts:
            return run.restart(now, words[0])
        return [c for each in signals for c in run.signal(now, each, words[1])]

    def fail_task(self, name: str, reason: str, now: int) -> list[Command]:
        """A task cannot go on, for a reason that is not its own."""
        return [*self.tasks[name].fail(now, reason), *self._settle(now)]

    def signal_tasks(self, name: str, signal: str, now: int) -> list[Command]:
        """Send a signal to one task, or to all; one on its way to an end takes it, too."""
        if name and name not in self.tasks:
            raise TaskRefused("Task not found")
        runs = [self.tasks[name]] if name else list(self.tasks.values())
        idle = [run.task.name for run in runs if not run.has_process]
        if name and idle:
            raise TaskRefused("Task not running")
        if idle:
            lines = "".join(
                f"\t* Failed to signal task: {task}, err: Task not running\n" for task in idle
            )
            count = "1 error" if len(idle) == 1 else f"{len(idle)} errors"
            raise TaskRefused(f"{count} occurred:\n{lines}\n")
        return [command for run in runs for command in run.signal(now, signal)]

    @property
    def client_status(self) -> tuple[ClientStatus, str]:
        """The allocation's status, and what is said of it."""
        if self.ran_too_long and self.is_terminal:
            return ClientStatus.COMPLETE, RUN_TOO_LONG
        return status_of(self.states.values())

    @property
    def is_terminal(self) -> bool:
        """Nothing of it runs, and nothing will."""
        return all(run.is_dead for run in self.tasks.values())

    @property
    def states(self) -> dict[str, TaskState]:
        """Each task's state, by name."""
        return {name: run.state for name, run in self.tasks.items()}

    def report(self) -> AllocationReport:
        """What the server is to know."""
        status, description = self.client_status
        return AllocationReport(
            id=self.alloc.id,
            client_status=status,
            client_description=description,
            task_states=self.states,
            deployment_status=self.deployment_status,
            network_status=self.network_status,
        )

    def _settle(self, now: int) -> list[Command]:
        commands: list[Command] = []
        self._react(now)
        if self.killing:
            commands += self.killing.proceed(self.tasks, self.alloc, now)
        self.gates.advance(self.states)
        if not (self.killing and self.killing.also_poststop):
            commands += self._open_gates(now)
        self._judge_health(now)
        return commands

    def _open_gates(self, now: int) -> list[Command]:
        starting = [run for run in self.tasks.values() if self._may_start(run)]
        if starting and not self.surroundings.is_simulated:
            refusals = set_up_refusals(self.group)
            if refusals:
                return self._refuse_setup(refusals, now)
        return [command for run in starting for command in run.start(now)]

    def _may_start(self, run: TaskRun) -> bool:
        if run.phase is not Phase.WAITING or run.held:
            return False
        is_killed = self.killing is not None and hook_of(run.task) != "poststop"
        return not is_killed and self.gates.is_open(run.task)

    def _refuse_setup(self, refusals: Mapping[str, Sequence[str]], now: int) -> list[Command]:
        """It asks for what is not carried out: no task that waits starts, and each says why."""
        texts = [
            f'task "{task}": {text}' if task else text
            for task, found in refusals.items()
            for text in found
        ]
        for name, run in self.tasks.items():
            if run.phase is Phase.WAITING:
                own = [*refusals.get(name, ()), *refusals.get("", ())]
                run.fail_setup(now, "; ".join(own or texts))
        return self._settle(now)

    def _react(self, now: int) -> None:
        """A failed task or a dead leader ends the others (node-agent.md 5.3)."""
        if self.killing is not None:
            return
        main = [run for run in self.tasks.values() if hook_of(run.task) != "poststop"]
        line = reason_to_end(main, now)
        if line is None:
            return
        for run in main:
            if not run.is_dead:
                run.say(line)
        self.killing = KillOrder(reason="", begins_at=now)

    def _judge_health(self, now: int) -> None:
        verdict = self.health.judge(self.client_status[0], self.tasks.values(), now)
        if verdict is None:
            return
        before = self.deployment_status or DeploymentHealth()
        self.deployment_status = replace(before, healthy=verdict.healthy, timestamp=now)
        for name, reason in verdict.reasons.items():
            self.tasks[name].say(events.alloc_unhealthy(now, reason))

    def _once_withdrawn(self, restart: Callable[[int], list[Command]], now: int) -> list[Command]:
        """Restart every task, after its group's services were out of the list for the delay."""
        if self.killing is not None:
            raise TaskRefused(OVER)
        delay = self.group.shutdown_delay or 0
        if not (self.group.services and delay and self._any_running):
            return restart(now)
        if self.withdrawal is None:
            self.withdrawal = Withdrawal(now + delay, restart)
            for run in self.tasks.values():
                run.say(events.withdrawn(now, delay))
        return []

    def _fail_all(self, reason: str, now: int) -> list[Command]:
        return [c for run in self.tasks.values() for c in run.fail_check(now, reason)]

    def _restart_running(self, now: int) -> list[Command]:
        text = "User requested running tasks to restart"
        return [c for run in self.tasks.values() for c in run.restart(now, text)]

    def _restart_all(self, now: int) -> list[Command]:
        text = "User requested all tasks to restart"
        commands: list[Command] = []
        self.gates.reset()
        for run in self.tasks.values():
            if run.is_dead:
                run.revive(now, text)
            else:
                commands += run.restart(now, text)
        return [*commands, *self._settle(now)]

    def _missing_tasks(self, now: int) -> list[Command]:
        gone = [run for name, run in self.tasks.items() if self.group.task(name) is None]
        return [c for run in gone if not run.is_dead for c in run.fail(now, "update missing task")]

    @property
    def _any_running(self) -> bool:
        return any(run.state.state == "running" for run in self.tasks.values())

    @property
    def _deadline(self) -> int:
        duration = self.group.max_run_duration if self.job.type in ("batch", "sysbatch") else 0
        return self.alloc.create_time + duration if duration else 0

    def _policy(self, name: str) -> RestartPolicy:
        task = self.group.task(name)
        own = task.restart_policy if task else None
        return own or self.group.restart_policy or RestartPolicy()

    def _new_run(self, name: str, now: int) -> TaskRun:
        task = self.group.task(name)
        assert task is not None, "the names come from the group"
        on_success = restarts_on_success(self.job.type, hook_of(task), sidecar=is_sidecar(task))
        tracker = RestartTracker(self._policy(name), on_success, interval_start=now)
        return TaskRun(task, tracker, self.surroundings.max_kill_timeout)
