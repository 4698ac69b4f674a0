"""Evaluations worked off against a database store by the worker's own code."""

from scheduler.engine.plan.evaluate import accept_nodes
from scheduler.messages import Delivery, PlanOutcome
from scheduler.state.events import WriteKind
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.explanations import write_explanations
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.evaluation import Evaluation
from scheduler.worker import Batch, WorkerTools
from tests.builders import CountingIDs


class LiveRun:
    """A worker and an applier that takes every plan, on one store."""

    def __init__(self, store, cache, matcher) -> None:
        self.store = store
        self.cache = cache
        self.ids = CountingIDs(prefix="a")
        self.matcher = matcher

    def put(self, work, now: int):
        return self.store.write(WriteKind.JOB_REGISTERED, work, now=now)[1]

    def evaluate(self, evaluation: Evaluation, now: int) -> Evaluation:
        """Store it, work it off, store what comes of it; returns it as stored in the end."""
        return self.evaluate_together([evaluation], now)[0]

    def evaluate_together(self, evaluations: list[Evaluation], now: int) -> list[Evaluation]:
        """The same with several in one batch: all are decided before a plan is committed."""
        stored = self.put(lambda change: write_evaluations(change, evaluations), now)
        tools = WorkerTools(snapshot=self.cache.snapshot_at, ids=self.ids, matcher=self.matcher)
        with self.cache.batch():
            batch = Batch(
                tools,
                [
                    Delivery(evaluation=each, token="t", wait_index=each.modify_index)
                    for each in stored
                ],
            )
            turn = batch.begin_all(now=now)
            plans, finishes = [*turn.plans], [*turn.finishes]
            while plans:
                turn = batch.answer(self._commit(plans.pop(0), now), now=now + 5)
                plans += turn.plans
                finishes += turn.finishes
        assert [request.error for request in finishes] == [""] * len(evaluations)

        def finish(change):
            for request in finishes:
                write_evaluations(change, [*request.created, request.update])
                write_explanations(change, request.explanations)

        self.put(finish, now + 5)
        return self.store.read(
            lambda reader: [reader.evaluation(evaluation.id) for evaluation in evaluations]
        )

    def _commit(self, plan, now: int) -> PlanOutcome:
        result = self.put(
            lambda change: commit_plan(change, plan, accept_nodes(plan, frozenset())), now
        )
        return PlanOutcome(plan_id=plan.id, result=result)
