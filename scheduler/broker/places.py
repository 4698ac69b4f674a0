"""The places an evaluation can be in inside the broker, and what is said about it from there."""

from enum import Enum, auto

import msgspec

from scheduler.structs.evaluation import Evaluation, Step

#: Queue of evaluations that came back too often.
FAILED_QUEUE = "_failed"


class Place(Enum):
    """Where in the broker an evaluation is; always in exactly one place."""

    #: Waits for a moment; holds no lock on its job.
    DELAYED = auto()
    #: Waits while another evaluation holds its job.
    PENDING = auto()
    READY = auto()
    OUTSTANDING = auto()
    #: Waits after a nack, and keeps its job locked.
    BACKING_OFF = auto()
    #: Given out too often; only the reaper takes it, and its job stays locked.
    FAILED = auto()
    #: Superseded; never delivered again.
    CANCELABLE = auto()


class Entry(msgspec.Struct):
    """What the broker knows of one evaluation."""

    evaluation: Evaluation
    place: Place
    #: Its number among all that came in. It keeps its place when it was held up behind another of
    #: its job: how long that one took must not decide who is next.
    order: int = 0
    deliveries: int = 0
    token: str = ""
    #: The nack timer stands still.
    paused: bool = False


class Outstanding(msgspec.Struct, frozen=True):
    """A delivery that its worker has not answered yet."""

    evaluation: Evaluation
    token: str
    deliveries: int


class Note(msgspec.Struct, frozen=True):
    """Something that happened to an evaluation."""

    eval_id: str
    step: Step
    reason: str = ""


class BrokerStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of evaluations.md 14. `by_scheduler`: type, or `_failed`, to (ready, unacked)."""

    total_ready: int = 0
    total_unacked: int = 0
    total_pending: int = 0
    total_waiting: int = 0
    total_cancelable: int = 0
    #: Evaluations with a WaitUntil, and that moment.
    delayed: dict[str, int] = {}
    by_scheduler: dict[str, tuple[int, int]] = {}
