"""Drive one evaluation through its scheduler, against a store in memory and a plain applier."""

from dataclasses import dataclass, field
from functools import partial

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.plan.evaluate import accept_nodes
from scheduler.engine.registry import new_scheduler
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.wire import Wire
from tests.builders import SOME_MOMENT, CountingIDs

PUTTERS = {
    Job: "put_job",
    Node: "put_node",
    Allocation: "put_allocation",
    Evaluation: "put_evaluation",
    Deployment: "put_deployment",
}


def put_row(row: Wire, change: Change) -> None:
    getattr(change, PUTTERS[type(row)])(row)


class NoPatterns:
    """Jobs of these tests have no patterns."""

    def search(self, pattern: str, text: str) -> bool:
        raise AssertionError((pattern, text))


@dataclass
class Cluster:
    """A record with some rows, and an applier that refuses what it is told to."""

    store: MemoryStateStore = field(default_factory=MemoryStateStore)
    plans: list[Plan] = field(default_factory=list)
    #: Nodes whose part of every plan is refused.
    refusing: frozenset[str] = frozenset()
    #: Whether a refusal comes with a newer snapshot.
    refreshes: bool = True

    def put(self, *rows: Wire) -> "Cluster":
        """Store each row by a write of its own: a job may come in several versions."""
        for row in rows:
            self.store.write(WriteKind.COLLECTED, partial(put_row, row), now=SOME_MOMENT)
        return self

    def run(self, evaluation: Evaluation) -> Outcome:
        """Work the evaluation off, committing what is not refused of each plan."""
        self.put(evaluation)
        scheduler = new_scheduler(
            evaluation.type,
            self.store.snapshot(),
            ids=CountingIDs(prefix="f"),
            now=SOME_MOMENT,
            matcher=NoPatterns(),
            seed=1,
        )
        run = scheduler.process(evaluation)
        try:
            plan = next(run)
            while True:
                self.plans.append(plan)
                assert len(self.plans) < 20, "the run does not end"
                plan = run.send(self._answer(plan))
        except StopIteration as end:
            return end.value

    def _answer(self, plan: Plan) -> PlanAnswer:
        refused = self.refusing & plan.node_allocation.keys()

        def work(change: Change) -> PlanResult:
            return commit_plan(change, plan, accept_nodes(plan, refused))

        _, result = self.store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
        refreshed = bool(refused) and self.refreshes
        return PlanAnswer(result=result, snapshot=self.store.snapshot() if refreshed else None)
