"""Whether an allocation is healthy in its deployment or migration (node-agent-2.md 14).

In: task states, checks that fail, the time. Out: one verdict, given once per deployment. States of
the tasks decide, and where it is asked for the checks of their services as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from cluster.agent.lifecycle_gates import hook_of, is_sidecar
from cluster.agent.task_run import TaskRun
from cluster.jobspec.durations import duration_text
from cluster.jobspec.left_out import counted_checks
from cluster.jobspec.quoting import quoted
from scheduler.structs.allocation import Allocation, ClientStatus, DeploymentHealth
from scheduler.structs.job import Job, JobType
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.task_group import TaskGroup
from scheduler.structs.wire import Duration, Nanoseconds


@dataclass(frozen=True)
class HealthReport:
    """The answer, and for each culpable task why."""

    healthy: bool
    reasons: dict[str, str] = field(default_factory=dict)


class HealthTracker:
    """Watches one allocation until its health is decided."""

    def __init__(
        self,
        alloc: Allocation,
        job: Job,
        group: TaskGroup,
        now: int,
        *,
        passes_checks: bool = False,
    ) -> None:
        self.deployment_id = alloc.deployment_id
        self.min_healthy: Duration = 0
        self.deadline: Nanoseconds = 0
        self.span: Duration = 0
        self.since: Nanoseconds = now
        self.is_decided = True
        self.wake_at: Nanoseconds = 0
        #: What it waits for before its tasks counts for nothing.
        self.has_begun = False
        #: A simulated node: checks pass there as tasks run there.
        self.passes_checks = passes_checks
        self.counts_checks = False
        #: What was last found to fail; None: nothing was probed yet.
        self.found: tuple[str, ...] | None = None
        #: The checks that have to pass and do not, by name; at first all of them.
        self.failing: tuple[str, ...] = ()
        #: When the last of them passed.
        self.passing_since: Nanoseconds = 0
        self._arm(alloc, job, group, now)

    def begin(self, now: int) -> None:
        """Its tasks may start: the time it has for becoming healthy begins."""
        self.has_begun = True
        if not self.is_decided:
            self._set_off(now)

    def follow(self, alloc: Allocation, job: Job, group: TaskGroup, now: int) -> None:
        """A new deployment begins the watch anew; anything else leaves it as it is."""
        if alloc.deployment_id != self.deployment_id:
            self.deployment_id = alloc.deployment_id
            self._arm(alloc, job, group, now)

    def told(self, own: DeploymentHealth | None, alloc: Allocation) -> DeploymentHealth | None:
        """What stands after the server changed the allocation; `own`: what stood before.

        Whether it is a canary is the server's word. The verdict of another deployment does not
        count in this one; where both have given one the later counts. Without any the watch goes
        on, unless the allocation is to end.
        """
        stands = alloc.deployment_status
        if (
            own is not None
            and alloc.deployment_id == self.deployment_id
            and _is_later(own, stands)
        ):
            stands = replace(own, canary=stands.canary if stands else own.canary)
        self.keep(stands)
        if alloc.is_server_terminal:
            self._end()
        return stands

    def keep(self, stands: DeploymentHealth | None) -> None:
        """A verdict that was given is not given again."""
        if _is_verdict(stands):
            self._end()

    def _end(self) -> None:
        self.is_decided = True
        self.wake_at = 0

    def note_checks(self, failing: tuple[str, ...], now: int) -> None:
        """Which of the checks that count do not pass."""
        if failing or self.found != ():
            self.passing_since = now
        self.found = self.failing = failing

    def judge(
        self, status: ClientStatus, runs: Iterable[TaskRun], now: int
    ) -> HealthReport | None:
        """The verdict, the first time there is one; else `wake_at` says when to look again."""
        if self.is_decided or not self.has_begun:
            return None
        verdict = self._verdict(status, list(runs), now)
        if verdict is not None:
            self._end()
        return verdict

    def shift(self, by: Duration) -> None:
        """The clock was set by so much."""
        self.since += by
        self.deadline += by if self.deadline else 0
        self.wake_at += by if self.wake_at else 0
        self.passing_since += by if self.passing_since else 0

    def _arm(self, alloc: Allocation, job: Job, group: TaskGroup, now: int) -> None:
        self.since = now
        strategy = group.update if alloc.deployment_id else group.migrate or MigrateStrategy()
        self.is_decided = (
            strategy is None
            or _is_verdict(alloc.deployment_status)
            or job.type not in (JobType.SERVICE, JobType.SYSTEM)
            or strategy.health_check == "manual"
            or strategy.healthy_deadline == 0
            or alloc.is_terminal
        )
        if strategy is None or self.is_decided:
            self.wake_at = 0
            return
        self.counts_checks = not self.passes_checks and strategy.health_check != "task_states"
        if self.counts_checks and self.found is None:
            self.failing = counted_checks(group)
        self.min_healthy = strategy.min_healthy_time
        self.span = strategy.healthy_deadline
        self._set_off(now)

    def _set_off(self, now: int) -> None:
        self.since = now
        self.deadline = now + self.span
        self.wake_at = self.deadline if self.has_begun else 0

    def _verdict(self, status: ClientStatus, runs: list[TaskRun], now: int) -> HealthReport | None:
        watched = [run for run in runs if hook_of(run.task) != "poststop"]
        culprits = {run.task.name: _death(run) for run in watched if _has_ended_badly(run)}
        if culprits or status is ClientStatus.FAILED:
            return HealthReport(healthy=False, reasons=self._told(culprits))
        if all(run.state.state != "pending" for run in watched):
            # A process that ran before this deployment proves itself in it all the same.
            failing = self.failing if self.counts_checks else ()
            passing = self.passing_since if self.counts_checks else 0
            latest = max((self.since, passing, *(run.running_since for run in watched)))
            if now >= latest + self.min_healthy and not failing:
                return HealthReport(healthy=True)
            due = self.deadline if failing else latest + self.min_healthy
            self.wake_at = min(self.deadline, due)
        else:
            self.wake_at = self.deadline
        if now >= self.deadline:
            return HealthReport(healthy=False, reasons=self._told(self._late(watched)))
        return None

    def _late(self, watched: list[TaskRun]) -> dict[str, str]:
        by = f"by healthy_deadline of {duration_text(self.span)}"
        reasons = {}
        for run in watched:
            if run.state.state == "pending":
                reasons[run.task.name] = f"Task not running {by}"
            elif run.state.state == "running" and self.counts_checks and self.failing:
                names = ", ".join(quoted(name) for name in self.failing)
                wanted = duration_text(self.min_healthy)
                reasons[run.task.name] = (
                    f"Checks not passing for min_healthy_time of {wanted} {by}: {names}"
                )
            elif run.state.state == "running":
                wanted = duration_text(self.min_healthy)
                reasons[run.task.name] = f"Task not running for min_healthy_time of {wanted} {by}"
        return reasons

    def _told(self, reasons: dict[str, str]) -> dict[str, str]:
        """Tasks hear of it only within a deployment."""
        return reasons if self.deployment_id else {}


def _is_verdict(health: DeploymentHealth | None) -> bool:
    return health is not None and health.healthy is not None


def _is_later(own: DeploymentHealth, other: DeploymentHealth | None) -> bool:
    """Whether the node's own word counts before the server's."""
    if other is None or other.healthy is None:
        return _is_verdict(own)
    return _is_verdict(own) and own.timestamp >= other.timestamp


def _has_ended_badly(run: TaskRun) -> bool:
    """Failed, or over although it was to run on."""
    if run.state.failed:
        return True
    if run.state.state != "dead":
        return False
    ends_by_itself = hook_of(run.task) in ("prestart", "poststart") and not is_sidecar(run.task)
    return not ends_by_itself


def _death(run: TaskRun) -> str:
    return (
        "Unhealthy because of failed task"
        if run.state.failed
        else "Unhealthy because of dead task"
    )
