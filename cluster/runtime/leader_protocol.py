"""All that processes say to each other through Redis: keys, messages, encoding, limits.

Redis carries questions and hints, never truth. Any message may be lost, late, doubled or forged: a
question is asked again under its id; tokens, epochs and indexes are checked against the record.
Who speaks: `leader_channel` (workers, applier), `inbox` and `leader_desk` (leader), `wake_ups`
(leader), `step_hints` (web), `cluster.store.hints` (whoever commits).
"""

from typing import Generic, TypeVar

import msgspec

from cluster.store import hints
from scheduler.messages import (
    Delivery,
    FinishRequest,
    PlanOutcome,
    QueuedPlan,
    Reaped,
    ReapRequest,
)
from scheduler.state.claims import Claim
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.plan import Plan
from scheduler.structs.wire import Nanoseconds, Wire

# Keys.

#: List of `Request`s, from workers and applier; a new leader empties it, for its epoch is new.
LEADER_IN = "leader:in"
#: List of `Answer`s to one process, `reply:<process>`. The leader answers nowhere else, whatever a
#: request asks for.
REPLY_PREFIX = "reply:"
#: Channel, from whoever committed, to everyone: the newest index in decimal digits. It belongs to
#: the store. Lost, the commit is found by the look that everyone takes every 250 ms.
INDEX_HINTS = hints.CHANNEL
#: Channel, from the leader to web processes: an array of `LifecycleStep`s that are not recorded
#: yet. Lost, they come with the record, within a second.
STEP_HINTS = "steps"
#: Lists of Celery, from the leader: each message says nothing but "wake up and ask". Lost, it is
#: sent again after `LeaderSettings.wake_again_after`.
WORKER_WAKE_UPS, APPLIER_WAKE_UPS = "evaluations", "plans"

# Limits, in seconds.

#: A request without an answer is sent again, with the id it had.
RESEND_S = 1.0
#: Answers are remembered for requests that come again, so that each is carried out once.
REMEMBER_S = 60.0
#: Without an answer for this long the asker gives up: a worker its deliveries, which come again.
GIVE_UP_S = 15.0
#: A `dequeue` or `next_plans` waits for something to hand out at most this long.
LONGEST_WAIT_S = 30.0
#: A worker says that it lives; `LeaderSettings.lost_worker_after` says when it is given up.
ALIVE_EVERY_S = 1.0
#: A list of answers that nobody reads goes.
REPLY_EXPIRY_S = 120
#: A wake-up that nobody took is worthless.
WAKE_UP_EXPIRY_S = 30

# Envelopes. They travel as msgpack arrays: fields are only ever added, at the end, with a default.


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One message to the leader."""

    #: A fresh UUID; the same when it is sent again.
    id: str
    #: The name of one of `KINDS`.
    kind: str
    #: The list that takes the answer; "" for none.
    reply: str
    #: What `kind` says, encoded by itself, so that the leader opens only what it knows.
    body: msgspec.Raw
    #: The leader epoch the sender believes in; 0 when it does not matter.
    epoch: int = 0


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The leader's answer to the request of that id."""

    id: str
    #: Of the leader that answers.
    epoch: int
    #: What the request's kind says, or `Done` beside an error.
    body: msgspec.Raw
    #: Why it was not done; empty when it was.
    error: str = ""


# Bodies of requests, and of answers; `scheduler.messages` holds what they carry.


class AliveBody(msgspec.Struct, frozen=True):
    """Names the evaluations whose run has begun."""

    process: str
    working_on: tuple[str, ...] = ()


class DequeueBody(msgspec.Struct, frozen=True):
    """Answered at once, or when there is something within `wait_s`."""

    process: str
    types: tuple[str, ...]
    limit: int
    wait_s: float
    #: SCHEDULER_VERSION of the one who asks; the first ones did not say. Another version than the
    #: leader's is refused, so workers and leader read each other's evaluations and plans.
    version: int = 0


class PlanBody(msgspec.Struct, frozen=True):
    """Answered once the applier has judged it; refused when sent under another leader's epoch."""

    process: str
    #: Its outline: all that the leader looks at.
    plan: Plan
    #: Of the whole plan.
    size: int
    #: The whole plan, which the applier opens.
    cargo: msgspec.Raw
    #: What it would take of the nodes, which the leader tells other workers.
    claim: Claim | None = None


class FinishBody(msgspec.Struct, frozen=True):
    """Answered when it is committed."""

    process: str
    request: FinishRequest


class ReapBody(msgspec.Struct, frozen=True):
    """Answered when it is done, or refused; one at a time, between other requests."""

    process: str
    request: ReapRequest


class NextPlansBody(msgspec.Struct, frozen=True):
    """Answered at once, or when there is something within `wait_s`."""

    process: str
    limit: int
    wait_s: float


class CarriedPlan(Wire, frozen=True):
    """A `QueuedPlan` whose plan the leader hands on unopened; both read and write the same."""

    plan: msgspec.Raw
    steps: tuple[LifecycleStep, ...] = ()
    newest_step: LifecycleStep | None = None
    taken_at: Nanoseconds = 0

    @classmethod
    def of(cls, queued: QueuedPlan, cargo: msgspec.Raw) -> "CarriedPlan":
        """All that goes with a plan, and the plan as it came."""
        return cls(
            plan=cargo,
            steps=queued.steps,
            newest_step=queued.newest_step,
            taken_at=queued.taken_at,
        )


class PlansDoneBody(msgspec.Struct, frozen=True):
    """What the applier made of the plans it took."""

    process: str
    outcomes: tuple[PlanOutcome, ...]


class Done(msgspec.Struct, frozen=True):
    """The answer of requests that ask for nothing back."""

    #: The leader's index, or that of the commit that was asked for.
    index: int = 0


Body = TypeVar("Body")
AnswerBody = TypeVar("AnswerBody")

#: What decoding raises for bytes that are no message: bad text and bottomless nesting included.
UNREADABLE = (ValueError, RecursionError)


class Kind(Generic[Body, AnswerBody]):
    """One kind of request: its name on the wire, its body, and the body of its answer."""

    def __init__(self, name: str, body: type[Body], answer: type[AnswerBody]) -> None:
        self.name = name
        self._bodies = msgspec.msgpack.Decoder(body)
        self._answers = msgspec.msgpack.Decoder(answer)

    def read_body(self, request: Request) -> Body:
        """What a request of this kind says. Raises one of UNREADABLE."""
        return self._bodies.decode(request.body)

    def read_answer(self, answer: Answer) -> AnswerBody:
        """What the leader answered; only when there is no error. Raises one of UNREADABLE."""
        return self._answers.decode(answer.body)


#: A worker's sign of life; wants no answer.
ALIVE = Kind("alive", AliveBody, Done)
#: A worker asks for evaluations: empty when there are none in time, and it goes to sleep.
DEQUEUE = Kind("dequeue", DequeueBody, tuple[Delivery, ...])
#: A worker submits a plan.
PLAN = Kind("plan", PlanBody, PlanOutcome)
#: A worker is done with an evaluation, or gives it back.
FINISH = Kind("finish", FinishBody, Done)
#: A worker wants rows deleted that a core evaluation found to be over.
REAP = Kind("reap", ReapBody, Reaped)
#: The applier asks for plans: empty when there are none in time, and it goes to sleep.
NEXT_PLANS = Kind("next_plans", NextPlansBody, tuple[QueuedPlan, ...])
#: The applier says what became of the plans it was handed.
PLANS_DONE = Kind("plans_done", PlansDoneBody, Done)

KINDS = (ALIVE, DEQUEUE, PLAN, FINISH, REAP, NEXT_PLANS, PLANS_DONE)

_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS = msgspec.msgpack.Decoder(Request)
_ANSWERS = msgspec.msgpack.Decoder(Answer)
_STEPS = msgspec.msgpack.Decoder(tuple[LifecycleStep, ...])


def encoded(message: object) -> bytes:
    """Anything of this file, as it travels: msgpack."""
    return _ENCODER.encode(message)


def encoded_body(body: object) -> msgspec.Raw:
    """A body, to be put into its envelope or another body."""
    return msgspec.Raw(_ENCODER.encode(body))


def request_in(raw: bytes) -> Request:
    """An envelope off `LEADER_IN`; its body stays unopened. Raises one of UNREADABLE."""
    return _REQUESTS.decode(raw)


def answer_in(raw: bytes) -> Answer:
    """An envelope off a list of answers; its body stays unopened. Raises one of UNREADABLE."""
    return _ANSWERS.decode(raw)


def steps_in(raw: bytes) -> tuple[LifecycleStep, ...]:
    """A message of `STEP_HINTS`. Raises one of UNREADABLE."""
    return _STEPS.decode(raw)
