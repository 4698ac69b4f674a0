"""The record with something else in it, for the real engine to decide over; nothing is written.

In: a reader, and whatever is put over it. Out: a snapshot that follows what is put, and what a
scheduler makes of it when every plan is taken whole.
"""

from cluster.jobspec.patterns import Re2Matcher
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.registry import new_scheduler
from scheduler.ports import IDSource, Snapshot, StateReader
from scheduler.state.node_table import NodeTable
from scheduler.state.nouns import NAMESPACE_USES, NODE_USES
from scheduler.state.open_change import OpenChange
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.quota import QuotaAmounts
from scheduler.worker import seed_of

MATCHER = Re2Matcher()


class TrialSnapshot(OpenChange, Snapshot):
    """A reader to put things over. Nothing of it is ever committed."""

    def __init__(self, base: StateReader, now: int, table: NodeTable | None = None) -> None:
        super().__init__(base, now)
        self._table = node_table_of(base) if table is None else table
        self._namespace_uses: dict[str, QuotaAmounts] | None = None

    @property
    def node_table(self) -> NodeTable:
        """The nodes as they were given, and those that were followed since."""
        return self._table

    def follow_node(self, node_id: str) -> None:
        """Take a node that was put into the table as well."""
        node = self.node(node_id)
        assert node is not None, "only what was put is followed"
        self._table = self._table.with_changes(nodes=[node])

    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """As the record has it, read at once for all: a quota may be shared by many."""
        if self._puts[NAMESPACE_USES].get(namespace) is not None:
            return super().namespace_use(namespace)
        if self._namespace_uses is None:
            rows = self._base.list_all(NAMESPACE_USES)
            self._namespace_uses = {row.namespace: row.used for row in rows}
        return self._namespace_uses.get(namespace, QuotaAmounts())


def node_table_of(reader: StateReader) -> NodeTable:
    """All nodes and what is held of them, in two reads."""
    return NodeTable().with_changes(
        nodes=reader.nodes(), uses=reader.list_all(NODE_USES), removed=()
    )


def decided(
    trial: Snapshot, evaluation: Evaluation, *, now: int, ids: IDSource
) -> tuple[list[Plan], Outcome]:
    """Every plan that the evaluation's scheduler makes, each taken whole, and how it ends."""
    scheduler = new_scheduler(
        evaluation.type, trial, ids=ids, now=now, matcher=MATCHER, seed=seed_of(evaluation.job_key)
    )
    run = scheduler.process(evaluation)
    plans: list[Plan] = []
    try:
        plans.append(next(run))
        while True:
            plans.append(run.send(PlanAnswer(result=PlanResult.whole(plans[-1]))))
    except StopIteration as end:
        return plans, end.value


def registration_of(job: Job, eval_id: str, now: int, *, annotated: bool = False) -> Evaluation:
    """What storing the job would make: an evaluation that looks at all of it."""
    return Evaluation(
        id=eval_id,
        namespace=job.namespace,
        priority=job.priority,
        type=job.type,
        triggered_by=EvalTrigger.JOB_REGISTER.value,
        job_id=job.id,
        job_modify_index=job.job_modify_index,
        annotate_plan=annotated,
        create_time=now,
        modify_time=now,
    )
