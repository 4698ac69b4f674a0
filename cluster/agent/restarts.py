"""When a task that ended, or could not start, runs again on its node (node-agent.md 6.3).

In: the policy, what happened, `now`, a number of chance. Out: a Decision. Knows no process.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from cluster.jobspec.durations import duration_text
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.wire import Duration, Nanoseconds

JITTER = 0.25


class RestartAction(StrEnum):
    """What becomes of the task."""

    #: Dead, and nothing is said about it.
    FINISH = "finish"
    #: Dead and failed: event `Not Restarting`.
    GIVE_UP = "give up"
    #: Again after `delay`: event `Restarting`.
    RESTART = "restart"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run of the task came to an end, or why it never began."""

    exit_code: int = 0
    signal: int = 0
    #: The driver's own words about the end.
    message: str = ""
    oom_killed: bool = False
    #: Why the task could not be started; "" when it ran.
    start_error: str = ""
    #: The start error is that of a download; nothing of the task was tried.
    failed_download: bool = False
    #: The start error is that of what comes before the driver: volumes, secrets, identities.
    failed_hook: bool = False
    #: The start error is that of a template, which no restart would cure.
    failed_template: bool = False
    #: It was not started because it is to end.
    aborted: bool = False
    #: A start error that another attempt may cure.
    recoverable: bool = False
    #: The start error is that of the driver options themselves.
    invalid_config: bool = False

    @property
    def succeeded(self) -> bool:
        """Exit code 0, no signal, and the driver had nothing to complain of."""
        return not (self.exit_code or self.signal or self.message or self.start_error)


@dataclass(frozen=True)
class Decision:
    """One answer of the tracker."""

    action: RestartAction
    reason: str = ""
    delay: Duration = 0


@dataclass
class RestartTracker:
    """Counts the restarts of one task within an interval that starts anew when it is over."""

    policy: RestartPolicy
    #: Services run again after success too; batch tasks are done then.
    on_success: bool
    interval_start: Nanoseconds
    count: int = 0

    def decide(self, ending: Ending, *, now: int, chance: float) -> Decision:
        """After a run that nobody asked to end. `chance` is in [0, 1)."""
        finished = ending.succeeded and not self.on_success
        if self.policy.attempts == 0:
            if finished:
                return Decision(RestartAction.FINISH)
            return Decision(RestartAction.GIVE_UP, "Policy allows no restarts")
        if now > self.interval_start + self.policy.interval:
            self.count = 0
            self.interval_start = now
        self.count += 1
        if ending.start_error and not ending.recoverable:
            return Decision(RestartAction.GIVE_UP, "Error was unrecoverable")
        if finished:
            return Decision(RestartAction.FINISH)
        if self.count > self.policy.attempts:
            return self._exceeded(now)
        delay = self.policy.delay
        return Decision(RestartAction.RESTART, "", delay + int(delay * chance * JITTER))

    def _exceeded(self, now: int) -> Decision:
        policy = self.policy
        if policy.mode == "delay":
            remaining = max(0, self.interval_start + policy.interval - now)
            reason = "Exceeded allowed attempts, applying a delay"
            return Decision(RestartAction.RESTART, reason, remaining)
        interval = duration_text(policy.interval)
        reason = (
            f"Exceeded allowed attempts {policy.attempts} in interval {interval}"
            f' and mode is "{policy.mode or "fail"}"'
        )
        return Decision(RestartAction.GIVE_UP, reason)


def restarts_on_success(job_type: str, hook: str, *, sidecar: bool) -> bool:
    """Whether a task that ended well is started again."""
    if hook in ("prestart", "poststart"):
        return sidecar
    return hook != "poststop" and job_type in ("service", "system")
