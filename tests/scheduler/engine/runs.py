"""Drive one evaluation through its scheduler, against a store in memory and the real applier."""

from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.registry import new_scheduler
from scheduler.messages import QueuedPlan
from scheduler.plan_applier import PlanApplier
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.plan import Plan
from scheduler.structs.wire import Wire
from tests.builders import SOME_MOMENT, CountingIDs


def put_row(row: Wire, change: Change) -> None:
    if isinstance(row, Job):
        change.put_job(row)
    else:
        assert isinstance(row, Node | Allocation | Evaluation | Deployment)
        put_found(change, row)


class NoPatterns:
    """Jobs of these tests have no patterns."""

    def search(self, pattern: str, text: str) -> bool:
        raise AssertionError((pattern, text))


class Judged:
    """A store as an applier sees it: some nodes look as if they were not ready."""

    def __init__(self, store: MemoryStateStore, refusing: frozenset[str]) -> None:
        self._store = store
        self._refusing = refusing

    def write(self, kind, work, **means):
        return self._store.write(
            kind, lambda change: work(_JudgedChange(change, self._refusing)), **means
        )


class _JudgedChange:
    def __init__(self, change: Change, refusing: frozenset[str]) -> None:
        self._change = change
        self._refusing = refusing

    def __getattr__(self, name: str):
        return getattr(self._change, name)

    def node(self, node_id: str) -> Node | None:
        node = self._change.node(node_id)
        if node is None or node_id not in self._refusing:
            return node
        return replace(node, status=NodeStatus.INITIALIZING)


@dataclass
class Cluster:
    """A record with some rows, and the applier, which refuses what it is told to as well."""

    store: MemoryStateStore = field(default_factory=MemoryStateStore)
    plans: list[Plan] = field(default_factory=list)
    #: Nodes whose part of every plan is refused.
    refusing: frozenset[str] = frozenset()
    #: Other nodes instead, by the number of the plan.
    exceptions: dict[int, frozenset[str]] = field(default_factory=dict)
    #: Whether a refusal comes with a newer snapshot.
    refreshes: bool = True
    ids: CountingIDs = field(default_factory=lambda: CountingIDs(prefix="f"))

    def put(self, *rows: Wire) -> "Cluster":
        """Store each row by a write of its own: a job may come in several versions."""
        for row in rows:
            self.store.write(WriteKind.COLLECTED, partial(put_row, row), now=SOME_MOMENT)
        return self

    def run(self, evaluation: Evaluation, *, now: int = SOME_MOMENT) -> Outcome:
        """Work the evaluation off, committing what is not refused of each plan."""
        self.put(evaluation)
        scheduler = new_scheduler(
            evaluation.type,
            self.store.snapshot(),
            ids=self.ids,
            now=now,
            matcher=NoPatterns(),
            seed=1,
        )
        run = scheduler.process(evaluation)
        foretold: Outcome | None = None
        try:
            plan = next(run)
            while True:
                self.plans.append(plan)
                assert len(self.plans) < 20, "the run does not end"
                outcome = scheduler.outcome_if_whole()
                answer = self._answer(plan, now)
                is_whole = answer.snapshot is None and answer.result.is_full_commit_of(plan)
                foretold = outcome if is_whole else None
                plan = run.send(answer)
        except StopIteration as end:
            ended: Outcome = end.value
        assert foretold in (None, ended), "a run ends as it said before its plan was judged"
        return ended

    def _answer(self, plan: Plan, now: int) -> PlanAnswer:
        applier = PlanApplier(CountingIDs(prefix="e"))
        refusing = self.exceptions.get(len(self.plans), self.refusing)
        (outcome,) = applier.apply(
            Judged(self.store, refusing), [QueuedPlan(plan=plan)], Moment(now, 0.0)
        )
        assert outcome.result is not None, outcome.error
        refreshed = bool(outcome.result.refresh_index) and self.refreshes
        snapshot = self.store.snapshot() if refreshed else None
        return PlanAnswer(result=outcome.result, snapshot=snapshot)
