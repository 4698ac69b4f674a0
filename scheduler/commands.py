"""What the leader wants done as time passes, as values that `cluster/runtime` performs.

A command names rows, it does not hold decisions that could be stale: whoever performs it looks at
the rows again inside the transaction.
"""

import msgspec

from scheduler.structs.allocation import DesiredTransition
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.identity import JobKey


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be done outside the mind."""


class WakeWorkers(Command, frozen=True):
    """Send this many wake-up messages: work is ready, and that many processes are idle."""

    count: int


class RecordSteps(Command, frozen=True):
    """Write lifecycle steps that found no commit to ride in. On failure: `Leader.put_back`."""

    steps: tuple[LifecycleStep, ...]


class FailEvaluation(Command, frozen=True):
    """Write off an evaluation that came back too often (`reaper.write_failed`).

    `Leader.performed(command)` acks it; left out after a failed commit, the nack timer brings the
    command again.
    """

    evaluation: Evaluation
    #: Written too, and linked, when the job still exists.
    follow_up: Evaluation
    token: str


class CancelEvaluations(Command, frozen=True):
    """Cancel evaluations by id, each with its text (`reaper.write_canceled`)."""

    texts: dict[str, str]


class MarkNodeUnresponsive(Command, frozen=True):
    """A node's heartbeat is overdue: it becomes `disconnected` or `down`, by what is on it."""

    node_id: str
    #: Names the look that found it: nodes of one look are lost together.
    look: str = ""


class DrainAllocations(Command, frozen=True):
    """Ask allocations to leave their nodes, and evaluate their jobs (trigger `node-drain`).

    At most 7,281 ids in one command.
    """

    transitions: dict[str, DesiredTransition]


class CompleteDrain(Command, frozen=True):
    """The drains of these nodes are over."""

    #: Whether its deadline ended it, by node id.
    nodes: dict[str, bool]


class AdvanceDrain(Command, frozen=True):
    """A staged drain may let its next nodes begin, or is over."""

    drain_id: str


class StepDeployments(Command, frozen=True):
    """Evaluate the jobs of rollouts that made progress, and let allocations be replaced."""

    #: Allocations to be replaced, perhaps none, by deployment id.
    steps: dict[str, tuple[str, ...]]


class PromoteDeployment(Command, frozen=True):
    """All canaries are healthy, and the job wants no more than that to go on."""

    deployment_id: str


class FailDeployment(Command, frozen=True):
    """A rollout is given up; `rolls_back` brings the newest stable version back."""

    deployment_id: str
    #: Its progress deadline has passed.
    is_late: bool = False
    rolls_back: bool = False


class LaunchPeriodic(Command, frozen=True):
    """A periodic job is due; `catches_up`: it was so before this leadership began."""

    key: JobKey
    catches_up: bool = False
