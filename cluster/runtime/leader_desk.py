"""Serves the requests of workers and the applier on behalf of one leadership.

In: requests off the leader's list. Out: answers, and one commit per group of `finish` requests.
Decides nothing: the leader does, this module carries.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from cluster.operations.finishes import explained_bounds, kind_of, write_finishes, writes_anything
from cluster.operations.garbage import reap
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_protocol import (
    ALIVE,
    DEQUEUE,
    FINISH,
    LONGEST_WAIT_S,
    NEXT_PLANS,
    PLAN,
    PLANS_DONE,
    REAP,
    UNREADABLE,
    AnswerBody,
    Body,
    CarriedPlan,
    DequeueBody,
    Done,
    FinishBody,
    Kind,
    NextPlansBody,
    ReapBody,
    Request,
)
from scheduler.access.caller import CLUSTER
from scheduler.errors import Fenced, SchedulerError
from scheduler.leader import Leader
from scheduler.messages import FinishWrite, PlanOutcome, check_dequeue
from scheduler.ports import Fence, StateStore
from scheduler.structs.moment import Moment

log = logging.getLogger(__name__)

#: Finish requests committed together (design.md, How the processes talk).
FINISH_GROUP = 64


class _Parked(NamedTuple):
    request: Request
    body: DequeueBody | NextPlansBody
    deadline: float


class LeaderDesk:
    """The requests of one leadership that still wait for an answer."""

    def __init__(self, leader: Leader, inbox: Inbox, store: StateStore, fence: Fence) -> None:
        self.leader = leader
        self.inbox = inbox
        self.store = store
        self.fence = fence
        self._clock = SystemClock()
        self._ids = RandomIDs()
        self._parked: list[_Parked] = []
        #: Plan requests by plan id, with the whole plan; answered when the applier has judged.
        self._plans: dict[str, tuple[Request, msgspec.Raw]] = {}
        self._finishes: list[tuple[Request, FinishBody]] = []
        self._reaps: deque[tuple[Request, ReapBody]] = deque()
        self._handlers: dict[str, Callable[[Request], None]] = {
            ALIVE.name: self._alive,
            DEQUEUE.name: self._park_dequeue,
            PLAN.name: self._plan,
            FINISH.name: self._finish,
            REAP.name: self._take_reap,
            NEXT_PLANS.name: self._park_next_plans,
            PLANS_DONE.name: self._plans_done,
        }

    def next_deadline(self) -> float | None:
        """When the first parked request must be answered at the latest; at once for deletions."""
        if self._reaps:
            return 0.0
        return min((item.deadline for item in self._parked), default=None)

    def serve(self, requests: list[Request]) -> None:
        """Take requests in; answer what can be answered; `commit` does the finishes."""
        for request in requests:
            handler = self._handlers.get(request.kind)
            if handler is None:
                self.inbox.answer(request, Done(), f"unknown request {request.kind!r}")
                continue
            try:
                handler(request)
            except SchedulerError as error:
                self.inbox.answer(request, Done(), str(error) or type(error).__name__)

    def serve_parked(self) -> None:
        """Hand out what has become ready, and let those go who waited long enough."""
        moment, answers, kept = self._clock.moment(), [], []
        for item in self._parked:
            found = self._find(item.body, moment)
            if not found and moment.monotonic < item.deadline:
                kept.append(item)
                continue
            answers.append((item.request, found, ""))
            if not found:
                self._send_away(item.body)
        self._parked = kept
        for reply in self.leader.take_replies():
            asked = self._plans.pop(reply.outcome.plan_id, None)
            if asked is not None:
                answers.append((asked[0], reply.outcome, ""))
        if answers:
            self.inbox.answer_all(answers)

    def _find(self, body: DequeueBody | NextPlansBody, moment: Moment) -> object:
        if isinstance(body, DequeueBody):
            return self.leader.dequeue(body.process, body.types, body.limit, moment)
        queued = self.leader.next_plans(body.limit, moment)
        return tuple(CarriedPlan.of(each, self._plans[each.plan.id][1]) for each in queued)

    def _send_away(self, body: DequeueBody | NextPlansBody) -> None:
        if isinstance(body, DequeueBody):
            self.leader.worker_sent_away(body.process)
        else:
            self.leader.applier_sent_away()

    def _alive(self, request: Request) -> None:
        body = _body(request, ALIVE)
        self.leader.alive(body.process, body.working_on, monotonic=self._clock.monotonic())
        self.inbox.answer(request, Done())

    def _park_dequeue(self, request: Request) -> None:
        body = _body(request, DEQUEUE)
        check_dequeue(body.types, body.version)
        self._park(request, body)

    def _park_next_plans(self, request: Request) -> None:
        self._park(request, _body(request, NEXT_PLANS))

    def _park(self, request: Request, body: DequeueBody | NextPlansBody) -> None:
        # A process asks one thing at a time: its older question is nobody's any more.
        self._parked = [
            item
            for item in self._parked
            if item.request.reply != request.reply or item.request.kind != request.kind
        ]
        # What is no number is not greater than zero either.
        wait_s = min(body.wait_s, LONGEST_WAIT_S) if body.wait_s > 0 else 0.0
        deadline = self._clock.monotonic() + wait_s
        self._parked.append(_Parked(request, body, deadline))

    def _plan(self, request: Request) -> None:
        body = _body(request, PLAN)
        if request.epoch != self.fence.epoch:
            raise SchedulerError("the evaluation was delivered by an earlier leader")
        moment = self._clock.moment()
        self.leader.submit_plan(body.process, body.plan, body.size, moment, body.claim)
        self._plans[body.plan.id] = request, body.cargo

    def _plans_done(self, request: Request) -> None:
        body = _body(request, PLANS_DONE)
        self.plans_done(body.outcomes)
        self.inbox.answer(request, Done(self.leader.index))

    def plans_done(self, outcomes: tuple[PlanOutcome, ...]) -> None:
        """The applier has judged these plans."""
        self.leader.plans_done(outcomes, self._clock.moment())

    def _finish(self, request: Request) -> None:
        self._finishes.append((request, _body(request, FINISH)))

    def _take_reap(self, request: Request) -> None:
        self._reaps.append((request, _body(request, REAP)))

    def reap(self) -> None:
        """Do one of the deletions that wait: between two of them everybody else is served."""
        if not self._reaps:
            return
        request, body = self._reaps.popleft()
        try:
            self.leader.check_reap(body.process, body.request, self._clock.moment())
            reaped = reap(
                self.store,
                body.request.reap,
                by=CLUSTER,
                now=self._clock.now(),
                ids=self._ids,
                fence=self.fence,
            )
        except Fenced:
            raise
        except SchedulerError as error:
            self.inbox.answer(request, Done(), str(error) or type(error).__name__)
        except Exception:
            log.exception("action=reap eval=%s could not be committed", body.request.eval_id)
            self.inbox.answer(request, Done(), "the deletion could not be committed")
        else:
            self.inbox.answer(request, reaped)

    def commit(self) -> None:
        """Commit the finishes that came in, and answer them."""
        finishes, self._finishes = self._finishes, []
        for start in range(0, len(finishes), FINISH_GROUP):
            self._commit_group(finishes[start : start + FINISH_GROUP])

    def _commit_group(self, group: list[tuple[Request, FinishBody]]) -> None:
        accepted: list[tuple[Request, FinishBody, FinishWrite]] = []
        for request, body in group:
            try:
                write = self.leader.check_finish(body.process, body.request, self._clock.moment())
            except SchedulerError as error:
                self.inbox.answer(request, Done(), str(error) or type(error).__name__)
            else:
                accepted.append((request, body, write))
        if not accepted:
            return
        try:
            index = self._write([write for _, _, write in accepted])
        except Fenced:
            raise
        except Exception:
            if len(accepted) > 1:
                self._one_by_one(accepted)
                return
            request, body, write = accepted[0]
            log.exception("action=finish eval=%s could not be committed", body.request.eval_id)
            self.leader.put_back(write.steps)
            self.inbox.answer(request, Done(), "the outcome could not be committed")
            return
        self._finished(accepted, index)

    def _one_by_one(self, accepted: list[tuple[Request, FinishBody, FinishWrite]]) -> None:
        """One of a group cannot be committed: the others must not suffer."""
        for request, body, write in accepted:
            self.leader.put_back(write.steps)
            self._commit_group([(request, body)])

    def _finished(
        self, accepted: list[tuple[Request, FinishBody, FinishWrite]], index: int
    ) -> None:
        answers: list[tuple[Request, object, str]] = []
        for request, body, _write in accepted:
            try:
                self.leader.finished(body.request, self._clock.moment())
            except SchedulerError as error:
                answers.append((request, Done(index), str(error) or type(error).__name__))
            else:
                answers.append((request, Done(index), ""))
        self.inbox.answer_all(answers)

    def _write(self, writes: list[FinishWrite]) -> int:
        if not writes_anything(writes):
            return self.leader.index

        index, _ = self.store.write(
            kind_of(writes),
            lambda change: write_finishes(change, writes, explained_bounds()),
            now=self._clock.now(),
            fence=self.fence,
        )
        return index


def _body(request: Request, kind: Kind[Body, AnswerBody]) -> Body:
    """The body of a request. Raises SchedulerError for bytes that are none."""
    try:
        return kind.read_body(request)
    except UNREADABLE:
        raise SchedulerError(f"the body of a {request.kind!r} was not understood") from None
