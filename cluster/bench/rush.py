"""Workers, an applier and a queue between them, in virtual time and in memory.

In: a record, evaluations that wait. Out: how many placements were judged, and refused. Batches,
schedulers, the judge and what the leader tells workers of each other are the real ones; only what
they take of time is made up, so that collisions do not depend on the machine.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from cluster.bench.offline import NOW, NumberedIDs
from cluster.jobspec.patterns import Re2Matcher
from cluster.runtime.batch_size import BatchSize, looks_up
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.plan_desk import PlanDesk
from scheduler.broker.turns import Turns
from scheduler.broker.worker_roll import WorkerRoll
from scheduler.messages import Delivery, PlanOutcome, QueuedPlan
from scheduler.plan_applier import GROUP_LIMIT, PlanApplier
from scheduler.ports import MirroredSnapshot
from scheduler.state.claims import Claim
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.moment import Moment
from scheduler.structs.plan import Plan
from scheduler.worker import Batch, Turn, WorkerTools

Value = TypeVar("Value")

#: Milliseconds, near what was measured: a run, each of its placements, a message, a commit.
_THINK, _PLACE, _HOP, _COMMIT = 0.8, 0.06, 0.3, 4.0


class Rush:
    """Some workers that work off what waits, all at once."""

    def __init__(self, store: MemoryStateStore, ids: NumberedIDs, workers: int) -> None:
        self._store = store
        self._applier = PlanApplier(ids)
        self._workers = [_Worker(store, ids, f"worker {place}") for place in range(workers)]
        self._roll = WorkerRoll(LeaderSettings())
        self._turns = Turns()
        self._desk = PlanDesk()
        self._queue: deque[Evaluation] = deque()
        self._plans: deque[tuple[_Worker, Plan]] = deque()
        self._is_judging = False
        self._now = 0.0
        self._order = count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        #: Placements judged by the applier, and refused.
        self.judged = 0
        self.refused = 0

    @property
    def refused_share(self) -> float:
        """Of all placements that were judged."""
        return self.refused / max(1, self.judged)

    def work_off(self, evaluations: Iterable[Evaluation]) -> None:
        """Run all of these to their end."""
        self._queue.extend(evaluations)
        for place, worker in enumerate(self._workers):
            self._roll.heard(worker.name, self._now)
            # Nobody starts in step with another.
            self._after(place * _THINK / 3, worker, self._work)
        while self._agenda:
            self._now, _, act = heapq.heappop(self._agenda)
            act()

    def _after(self, delay: float, worker: "_Worker", act: Callable[["_Worker"], None]) -> None:
        entry = (self._now + delay, next(self._order), lambda: act(worker))
        heapq.heappush(self._agenda, entry)

    def _work(self, worker: "_Worker") -> None:
        """One worker's next step: what was answered, then the next run, then the next batch."""
        spent = 0.0
        for outcome in worker.heard():
            spent += self._send(worker, worker.answer(outcome))
        if worker.is_done and self._may_take(worker):
            size = min(worker.size.limit, len(self._queue))
            taken = [self._queue.popleft() for _ in range(size)]
            for evaluation in taken:
                self._roll.deliver(worker.name, evaluation.id, evaluation.id, self._seconds)
            worker.take(taken, self._desk.claims_beside(worker.name))
        if worker.has_more:
            spent += self._send(worker, worker.begin_next())
        goes_on = worker.is_done and self._may_take(worker)
        worker.is_waiting = not (spent or worker.has_more or goes_on)
        if not worker.is_waiting:
            self._after(max(spent, _THINK), worker, self._work)

    @property
    def _seconds(self) -> float:
        return self._now / 1000

    def _may_take(self, worker: "_Worker") -> bool:
        """As `Leader.dequeue` has it."""
        others_turn = self._turns.are_taken and self._roll.others_think(worker.name, self._seconds)
        return bool(self._queue) and not others_turn

    def _hand_on(self) -> None:
        """Those that wait for something to do may find that it is their turn."""
        for worker in self._workers:
            if worker.is_waiting and worker.is_done and self._queue:
                worker.is_waiting = False
                self._after(0.0, worker, self._work)

    def _send(self, worker: "_Worker", turn: Turn) -> float:
        """Submit plans; the time that making them took."""
        spent = 0.0
        for plan in turn.plans:
            spent += _THINK + _PLACE * _size(plan)
            self._after(spent + _HOP, worker, _bound(self._submit, plan))
        for finish in turn.finishes:
            self._roll.returned(finish.eval_id, self._seconds)
            worker.size.grow()
        return spent

    def _submit(self, worker: "_Worker", plan: Plan) -> None:
        self._roll.submitted(worker.name, plan.eval_id)
        self._desk.submit(worker.name, plan, _size(plan), worker.claim(plan.id))
        self._hand_on()
        self._plans.append((worker, plan))
        if not self._is_judging:
            self._judge_next(worker)

    def _judge_next(self, worker: "_Worker") -> None:
        """Begin a commit with what is there; the next group gathers meanwhile."""
        group = [self._plans.popleft() for _ in range(min(GROUP_LIMIT, len(self._plans)))]
        self._is_judging = bool(group)
        if group:
            self._after(_COMMIT, worker, _bound(self._judge, group))

    def _judge(self, worker: "_Worker", group: "_Group") -> None:
        queued = [QueuedPlan(plan=plan) for _, plan in group]
        outcomes = self._applier.apply(self._store, queued, Moment(NOW, self._now))
        for (owner, plan), outcome in zip(group, outcomes, strict=True):
            self._count(plan, outcome)
            self._after(_HOP, owner, _bound(self._deliver, self._answer(owner, plan, outcome)))
        self._judge_next(worker)

    def _answer(self, owner: "_Worker", plan: Plan, outcome: PlanOutcome) -> PlanOutcome:
        """As `PlanExchange` has it."""
        self._desk.done([outcome])
        self._turns.note(was_refused=outcome.is_refused)
        if not outcome.is_refused:
            self._roll.returned(plan.eval_id, self._seconds)
            return outcome
        self._roll.refused(owner.name, plan.eval_id)
        return replace(outcome, claims=self._desk.claims_beside(owner.name))

    def _count(self, plan: Plan, outcome: PlanOutcome) -> None:
        rejected = outcome.result.rejected_nodes if outcome.result else tuple(plan.node_allocation)
        self.judged += _size(plan)
        self.refused += sum(len(plan.node_allocation.get(node_id, ())) for node_id in rejected)

    def _deliver(self, worker: "_Worker", outcome: PlanOutcome) -> None:
        worker.inbox.append(outcome)
        self._hand_on()
        if worker.is_waiting:
            worker.is_waiting = False
            self._after(0.0, worker, self._work)


class _Worker:
    """One worker process: its batch, its snapshots, and the answers it has not looked at."""

    def __init__(self, store: MemoryStateStore, ids: NumberedIDs, name: str) -> None:
        self.name = name
        self._store = store
        self._tools = WorkerTools(snapshot=self._snapshot, ids=ids, matcher=Re2Matcher())
        self._current: MirroredSnapshot | None = None
        self._batch = Batch(self._tools, ())
        self._todo: deque[str] = deque()
        self._size = 0
        self.size = BatchSize()
        self.inbox: list[PlanOutcome] = []
        self.is_waiting = False

    @property
    def is_done(self) -> bool:
        """It can take the next batch."""
        return self._batch.is_done

    def take(self, evaluations: Sequence[Evaluation], claims: tuple[Claim, ...]) -> None:
        """Begin a batch beside these plans of others."""
        deliveries = [
            Delivery(
                evaluation=item,
                token=item.id,
                wait_index=item.modify_index,
                claims=() if place else claims,
            )
            for place, item in enumerate(evaluations)
        ]
        self._batch = Batch(self._tools, deliveries)
        self._todo = deque(item.id for item in evaluations)
        self._size = len(evaluations)
        self._current = None

    @property
    def has_more(self) -> bool:
        """Some of the batch is still to be begun."""
        return bool(self._todo)

    def heard(self) -> list[PlanOutcome]:
        """The answers to take in now: while runs are begun that is done a few times only."""
        place = self._size - len(self._todo)
        if self._todo and not looks_up(place, self._size):
            return []
        found, self.inbox = self.inbox, []
        return found

    def claim(self, plan_id: str) -> Claim | None:
        """What a plan of the batch would take."""
        return self._batch.claim(plan_id)

    def begin_next(self) -> Turn:
        """Run the next delivery up to its plan."""
        return self._batch.begin(self._todo.popleft(), now=NOW)

    def answer(self, outcome: PlanOutcome) -> Turn:
        """Go on with an answered run."""
        self.size.note(was_refused=outcome.is_refused)
        return self._batch.answer(outcome, now=NOW)

    def _snapshot(self, index: int) -> MirroredSnapshot:
        """As `SnapshotCache` does within a batch: the newest one again while it is new enough."""
        if self._current is None or self._current.index < index:
            self._current = self._store.snapshot()
        return self._current


_Group = list[tuple[_Worker, Plan]]


def _bound(act: Callable[[_Worker, Value], None], value: Value) -> Callable[[_Worker], None]:
    return lambda worker: act(worker, value)


def _size(plan: Plan) -> int:
    return sum(map(len, plan.node_allocation.values()))
