"""What checks of services found, and when a task is restarted for it (node-agent-2.md 1.3-1.4).

In: outcomes and the time. Out: results as the API shows them, decisions. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum

from scheduler.structs.service import CheckRestart
from scheduler.structs.wire import Nanoseconds, Wire

#: Letters of an answer that are kept.
LONGEST_OUTPUT = 3 * 1024


class CheckStatus(StrEnum):
    """How a service is, by its newest probe."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


#: What a job file calls the status that a check begins with.
FIRST_STATUS = {"passing": CheckStatus.SUCCESS, "critical": CheckStatus.FAILURE}


class CheckOutcome(Wire, frozen=True):
    """What one probe found."""

    status: CheckStatus
    output: str = ""
    #: Of an HTTP answer.
    status_code: int = 0


@dataclass
class RestartWatch:
    """Whether a check has failed for long enough; begins anew with each start of the task."""

    rule: CheckRestart
    interval: int
    begun: Nanoseconds
    unhealthy_since: Nanoseconds = 0

    def is_due(self, status: CheckStatus, now: Nanoseconds) -> bool:
        """After a probe: whether to restart. Once it is, a new watch is needed."""
        if status is CheckStatus.SUCCESS:
            self.unhealthy_since = 0
            return False
        if now < self.begun + self.rule.grace or self.rule.limit <= 0:
            return False
        self.unhealthy_since = self.unhealthy_since or now
        # Probes come a little later than the interval says: a tenth is no reason for one more.
        patience = self.interval * (self.rule.limit - 1)
        return now >= self.unhealthy_since + patience
