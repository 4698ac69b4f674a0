"""The store in memory and the one in a database, driven by the same random writes, stay equal."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from cluster.store.writer import DjangoStateStore
from scheduler.errors import SchedulerError
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.node_use import node_use_of
from scheduler.state.nouns import JOB_SUMMARIES, NAMESPACE_USES, NODE_POOLS
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.evaluations import collect, write_evaluations
from scheduler.state.writes.jobs import purge_job, stop_job, write_job
from scheduler.state.writes.nodes import delete_node, update_node_status, write_node
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeStatus
from scheduler.structs.plan import Plan, PlanResult
from tests.builders import CountingIDs, make_allocation, make_evaluation, make_job, make_node
from tests.namespace_sums import counted_sums, kept_sums
from tests.record_databases import copy_sqlite, database

NUMBERS = st.integers(1, 3)
JOB_IDS = st.sampled_from(["web", "cache"])
NODE_IDS = [make_node(number).id for number in (1, 2, 3)]


class TwoStores(RuleBasedStateMachine):
    """Every rule is one write to both; both must answer alike, errors included."""

    template = None
    directory = None
    copies = 0

    def __init__(self):
        super().__init__()
        self.now = 1

    @initialize()
    def begin(self):
        TwoStores.copies += 1
        path = self.directory / f"copy{TwoStores.copies}.sqlite3"
        self.opened = database(copy_sqlite(self.template, path))
        self.stores = [MemoryStateStore(), DjangoStateStore(self.opened.__enter__())]

    def teardown(self):
        if hasattr(self, "opened"):
            self.opened.__exit__(None, None, None)

    def write(self, work):
        self.now += 1
        answers = []
        for store in self.stores:
            try:
                answers.append(store.write(WriteKind.PLAN_RESULT, work, now=self.now))
            except SchedulerError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1]

    @rule(number=NUMBERS, pool=st.sampled_from(["default", "gpu"]))
    def register_node(self, number, pool):
        self.write(lambda change: write_node(change, make_node(number, node_pool=pool)))

    @rule(number=NUMBERS, status=st.sampled_from(NodeStatus))
    def set_node_status(self, number, status):
        self.write(lambda change: update_node_status(change, make_node(number).id, status))

    @rule(number=NUMBERS)
    def forget_node(self, number):
        self.write(lambda change: delete_node(change, make_node(number).id))

    @rule(job_id=JOB_IDS, priority=st.integers(1, 3), number=NUMBERS)
    def register_job(self, job_id, priority, number):
        def work(change):
            job = write_job(change, make_job(id=job_id, priority=priority))
            return job, write_evaluations(change, [make_evaluation(number, job_id=job_id)])

        self.write(work)

    @rule(job_id=JOB_IDS, purge=st.booleans())
    def end_job(self, job_id, purge):
        end = purge_job if purge else stop_job
        self.write(lambda change: end(change, JobKey("default", job_id)))

    @rule(number=NUMBERS, job_id=JOB_IDS, status=st.sampled_from(EvalStatus))
    def write_evaluation(self, number, job_id, status):
        evaluation = make_evaluation(
            number, job_id=job_id, status=status, queued_allocations={"web": number}
        )
        self.write(lambda change: write_evaluations(change, [evaluation]))

    @rule(
        job_id=JOB_IDS, number=NUMBERS, slots=st.sets(st.integers(0, 4), max_size=4), stop=NUMBERS
    )
    def apply_plan(self, job_id, number, slots, stop):
        def work(change):
            key = JobKey("default", job_id)
            job = change.job(key)
            version = job.version if job else None
            allocs = [
                make_allocation(job, slot, node_id=NODE_IDS[slot % 3])
                for slot in sorted(slots)
                if job is not None
            ]
            stopped = change.allocations_by_job(key)[:stop]
            plan = Plan(
                id="p", eval_id=make_evaluation(number).id, namespace="default",
                job_id=job_id, job_version=version,
            )  # fmt: skip
            result = PlanResult(
                node_allocation={alloc.node_id: (alloc,) for alloc in allocs},
                node_update={
                    alloc.node_id: (alloc.changed(desired_description="enough"),)
                    for alloc in stopped
                    if alloc.desired_status is DesiredStatus.RUN
                },
            )
            return commit_plan(change, plan, result)

        self.write(work)

    @rule(slots=st.sets(st.integers(0, 4), min_size=1), status=st.sampled_from(ClientStatus))
    def report(self, slots, status):
        reports = [
            make_allocation(number=slot, node_id=NODE_IDS[slot % 3], client_status=status)
            for slot in sorted(slots)
        ]
        self.write(lambda change: update_from_client(change, reports, CountingIDs(prefix="e")))

    @rule(number=NUMBERS)
    def collect_evaluation(self, number):
        def work(change):
            eval_id = make_evaluation(number).id
            allocs = [alloc.id for alloc in change.allocations_by_eval(eval_id)]
            collect(change, [eval_id], [alloc_id for alloc_id in allocs if alloc_id[-1] != "1"])

        self.write(work)

    @invariant()
    def both_read_alike(self):
        if hasattr(self, "stores"):
            memory, durable = (store.read(everything) for store in self.stores)
            assert memory == durable

    @invariant()
    def the_use_of_nodes_is_exact(self):
        if hasattr(self, "stores"):
            memory = self.stores[0]
            for node_id in NODE_IDS:
                assert sorted_use(memory.node_use(node_id)) == sorted_use(
                    node_use_of(node_id, memory.allocations_by_node(node_id))
                )

    @invariant()
    def the_use_of_namespaces_is_exact(self):
        if hasattr(self, "stores"):
            memory = self.stores[0]
            assert kept_sums(memory) == counted_sums(memory.allocations())

    @invariant()
    def frames_are_alike(self):
        if hasattr(self, "stores"):
            memory, durable = (list(store.frames_since(0)) for store in self.stores)
            assert memory == durable
            assert [frame.index for frame in memory] == list(range(1, len(memory) + 1))


def everything(reader):
    keys = [JobKey("default", job_id) for job_id in ("web", "cache")]
    evaluations = [make_evaluation(number).id for number in (1, 2, 3)]
    allocs = list(reader.allocations())
    return (
        reader.index,
        [reader.table_index(table) for table in ("jobs", "nodes", "allocations", "evaluations")],
        list(reader.jobs()),
        list(reader.nodes()),
        list(reader.list_all(NODE_POOLS)),
        [reader.node_use(node_id) for node_id in NODE_IDS],
        list(reader.list_all(NAMESPACE_USES)),
        allocs,
        [reader.job_of(alloc) for alloc in allocs],
        [reader.job_versions(key) for key in keys],
        [reader.get(JOB_SUMMARIES, key) for key in keys],
        [reader.allocations_by_job(key) for key in keys],
        [reader.evaluations_by_job(key) for key in keys],
        [reader.blocked_evaluations(key) for key in keys],
        list(reader.open_evaluations()),
        [reader.evaluation_stub(eval_id) for eval_id in evaluations],
        [reader.live_allocation_ids(key, 100) == [] for key in keys],
        [reader.evaluation_ids(key, 100, only_open=True) == [] for key in keys],
    )


def sorted_use(use):
    return [
        (part.cpu, part.memory_mb, part.disk_mb, part.alloc_count, sorted(map(repr, part.ports)))
        for part in (use.held, use.planned)
    ]


@pytest.mark.timeout(240)
def test_memory_and_sqlite_agree(sqlite_template, tmp_path, django_db_blocker):
    machine = type("Machine", (TwoStores,), {"template": sqlite_template, "directory": tmp_path})
    with django_db_blocker.unblock():
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=30,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
