"""Bodies of the requests to the leader, by kind; `scheduler.messages` holds what they carry."""

import msgspec

from scheduler.messages import Delivery, FinishRequest, PlanOutcome, QueuedPlan
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.plan import Plan
from scheduler.structs.wire import Wire


class AliveBody(msgspec.Struct, frozen=True):
    """`alive`: posted each second; names the evaluations whose run has begun."""

    process: str
    working_on: tuple[str, ...] = ()


class DequeueBody(msgspec.Struct, frozen=True):
    """`dequeue`: answered by deliveries, at once or when there are some within `wait_s`."""

    process: str
    types: tuple[str, ...]
    limit: int
    wait_s: float
    #: SCHEDULER_VERSION of the one who asks; the first ones did not say.
    version: int = 0


class PlanBody(msgspec.Struct, frozen=True):
    """`plan`: answered by a PlanOutcome once the applier has judged it."""

    process: str
    #: Its outline: all that the leader looks at.
    plan: Plan
    #: Of the whole plan.
    size: int
    #: The whole plan, which the applier opens.
    cargo: msgspec.Raw


class CarriedPlan(Wire, frozen=True):
    """A `QueuedPlan` whose plan the leader hands on unopened; both read and write the same."""

    plan: msgspec.Raw
    steps: tuple[LifecycleStep, ...] = ()


class FinishBody(msgspec.Struct, frozen=True):
    """`finish`: answered when it is committed."""

    process: str
    request: FinishRequest


class NextPlansBody(msgspec.Struct, frozen=True):
    """`next_plans`: answered by queued plans, at once or when there are some within `wait_s`."""

    process: str
    limit: int
    wait_s: float


class PlansDoneBody(msgspec.Struct, frozen=True):
    """`plans_done`: what the applier made of the plans it took."""

    process: str
    outcomes: tuple[PlanOutcome, ...]


class Done(msgspec.Struct, frozen=True):
    """The answer of requests that ask for nothing back."""

    index: int = 0


Deliveries = tuple[Delivery, ...]
QueuedPlans = tuple[QueuedPlan, ...]
