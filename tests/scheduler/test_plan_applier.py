"""The judge of plans over a store in memory; numbers are rows of evaluations.md 17."""

import pytest

from scheduler.errors import Fenced
from scheduler.messages import PlanOutcome, QueuedPlan
from scheduler.plan_applier import PlanApplier
from scheduler.ports import Change
from scheduler.rejected_nodes import RejectedNodes, RejectionSettings
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DesiredStatus,
    RescheduleEvent,
    RescheduleTracker,
)
from scheduler.structs.evaluation import Cause, CauseKind, Evaluation, LifecycleStep, Step
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.node import NodeEligibility
from scheduler.structs.plan import Plan
from scheduler.structs.resources import AllocatedResources, Resources
from scheduler.structs.scheduler_settings import NodeRejection, SchedulerSettings
from scheduler.structs.story import story_id
from tests.builders import (
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)

NODE = make_node()
#: Eight of these fill a node's 4000 MHz.
JOB = make_job(task_groups=(make_task_group(count=30, tasks=(make_task(),)),))


def make_store(*evaluations: Evaluation) -> MemoryStateStore:
    store = MemoryStateStore()

    def work(change: Change) -> None:
        change.put_node(NODE)
        change.put_job(JOB)
        for evaluation in (make_evaluation(), *evaluations):
            change.put_evaluation(evaluation)

    store.write(WriteKind.JOB_REGISTERED, work, now=SOME_MOMENT)
    return store


def put(store: MemoryStateStore, *allocs: Allocation) -> None:
    def work(change: Change) -> None:
        for alloc in allocs:
            change.put_allocation(alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def planned(number: int, job: Job = JOB, **fields: object) -> Allocation:
    fresh = {"create_index": 0, "modify_index": 0, "alloc_modify_index": 0}
    return make_allocation(job, number, **(fresh | fields))


def make_plan(name: str, *allocs: Allocation, **fields: object) -> QueuedPlan:
    by_node: dict[str, tuple[Allocation, ...]] = {}
    for alloc in allocs:
        by_node[alloc.node_id] = (*by_node.get(alloc.node_id, ()), alloc)
    defaults: dict[str, object] = {
        "id": name,
        "eval_id": make_evaluation().id,
        "namespace": "default",
        "job_id": "web",
        "job_version": 0,
        "node_allocation": by_node,
    }
    return QueuedPlan(plan=Plan(**(defaults | fields)))


def apply(
    store: MemoryStateStore, *queued: QueuedPlan, applier: PlanApplier | None = None
) -> list[PlanOutcome]:
    judge = applier or PlanApplier(CountingIDs())
    return judge.apply(store, queued, Moment(SOME_MOMENT, 0.0))


def test_90_a_plan_that_fits_is_committed_at_one_index() -> None:
    store = make_store()
    (outcome,) = apply(store, make_plan("p", planned(0)))
    assert outcome.result is not None
    assert (outcome.result.alloc_index, outcome.result.refresh_index) == (store.index, 0)
    assert [a.create_index for a in store.allocations_by_job(JOB.key)] == [store.index]


def test_89_a_plan_for_an_unknown_node_writes_nothing_and_asks_for_a_refresh() -> None:
    store = make_store()
    put(store, make_allocation(JOB, 9))
    before = store.index
    (outcome,) = apply(store, make_plan("p", planned(0, node_id="gone")))
    assert outcome.result is not None
    assert outcome.result.rejections == {"gone": "node does not exist"}
    assert (outcome.result.alloc_index, outcome.result.refresh_index) == (0, before)
    assert store.index == before


def test_110_plans_of_a_group_see_the_earlier_ones() -> None:
    store = make_store()
    outcomes = apply(store, *(make_plan(f"p{n}", planned(n)) for n in range(10)))
    committed = [o.result.alloc_index for o in outcomes if o.result and o.result.alloc_index]
    assert committed == [store.index] * 8
    assert len(store.allocations_by_job(JOB.key)) == 8
    assert [o.reason for o in outcomes[8:]] == [f"{NODE.id}: cpu"] * 2
    # A worker that looked at the state before the group would choose the same node again.
    assert [o.result.refresh_index for o in outcomes[8:] if o.result] == [store.index] * 2


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param({"eval_id": "gone"}, 'unable to find eval id "gone"', id="no-evaluation"),
        pytest.param({"job_version": None}, "plan missing embedded job", id="108-no-job"),
        pytest.param(
            {"job_id": "gone"}, 'job "gone" in namespace "default" not found', id="94-job-gone"
        ),
        pytest.param(
            {"node_update": {NODE.id: (make_allocation(JOB, 77),)}},
            f"alloc {make_allocation(JOB, 77).id} doesn't exist",
            id="127-stop-of-a-collected-allocation",
        ),
    ],
)
def test_a_plan_that_errors_leaves_the_group_without_trace(
    broken: dict[str, object], reason: str
) -> None:
    store = make_store()
    outcomes = apply(
        store,
        make_plan("first", planned(0)),
        make_plan("broken", planned(1), **broken),
        make_plan("last", planned(2)),
    )
    assert [o.error for o in outcomes] == ["", reason, ""]
    assert [a.name for a in store.allocations_by_job(JOB.key)] == ["web.web[0]", "web.web[2]"]


def test_a_plan_that_breaks_while_it_is_written_is_taken_out() -> None:
    store = make_store()
    outcomes = apply(
        store,
        make_plan("first", planned(0)),
        make_plan(
            "broken",
            planned(1),
            namespace="nowhere",
            job_version=None,
            node_allocation={},
            node_update={NODE.id: ()},
        ),
        make_plan("last", planned(2)),
    )
    assert outcomes[1] == PlanOutcome(
        plan_id="broken", error='namespace "nowhere" not found for job "web"'
    )
    assert len(store.allocations_by_job(JOB.key)) == 2


def test_stops_of_a_purged_job_are_committed() -> None:
    store = make_store()
    alloc = make_allocation(JOB)
    put(store, alloc)
    store.write(
        WriteKind.JOB_DEREGISTERED, lambda change: change.delete_job(JOB.key), now=SOME_MOMENT
    )
    stop = alloc.changed(desired_status=DesiredStatus.STOP, desired_description="gone")
    plan = make_plan("p", job_version=None, node_update={NODE.id: (stop,)})
    (outcome,) = apply(store, plan)
    assert outcome.error == ""
    stored = store.allocation(alloc.id)
    assert stored is not None
    assert stored.desired_status is DesiredStatus.STOP


def test_91_of_stops_and_evictions_only_what_a_plan_may_say_is_taken() -> None:
    store = make_store()
    put(store, make_allocation(JOB, 0), make_allocation(JOB, 1))
    stopped, evicted = held = [store.allocation(make_allocation(JOB, n).id) for n in (0, 1)]
    forged = {
        "name": "web.web[77]",
        "eval_id": "another",
        "job_version": 9,
        "task_group": "another",
        "deployment_id": "another",
        "allocated_resources": AllocatedResources(),
        "reschedule_tracker": RescheduleTracker(events=(RescheduleEvent(reschedule_time=1),)),
        "next_allocation": "another",
        "create_time": 1,
        "modify_time": 1,
    }
    told = {
        "desired_status": DesiredStatus.STOP,
        "desired_description": "not needed",
        "client_status": ClientStatus.LOST,
        "followup_eval_id": "later",
    }
    plan = make_plan(
        "p",
        node_update={NODE.id: (stopped.changed(**forged | told),)},
        node_preemptions={
            NODE.id: (
                evicted.changed(
                    **forged, preempted_by_allocation="winner", client_status=ClientStatus.LOST
                ),
            )
        },
    )
    apply(store, plan)
    written = {
        "modify_index": store.index,
        "alloc_modify_index": store.index,
        "modify_time": SOME_MOMENT,
    }
    assert [store.allocation(alloc.id) for alloc in held] == [
        stopped.changed(**told | written),
        evicted.changed(
            **written,
            desired_status=DesiredStatus.EVICT,
            desired_description="Preempted by alloc ID winner",
            preempted_by_allocation="winner",
        ),
    ]


def test_107_each_job_that_loses_allocations_is_evaluated_once() -> None:
    store = make_store()
    cheap = make_job(id="cheap", priority=20, type="batch")
    victims = [make_allocation(cheap, n) for n in (50, 51)]
    gone = make_allocation(make_job(id="gone"), 52)
    store.write(WriteKind.JOB_REGISTERED, lambda change: change.put_job(cheap), now=SOME_MOMENT)
    put(store, *victims, gone)
    evicted = tuple(
        alloc.changed(desired_status=DesiredStatus.EVICT, preempted_by_allocation=planned(0).id)
        for alloc in (*victims, gone)
    )
    apply(store, make_plan("p", planned(0), node_preemptions={NODE.id: evicted}))
    (evaluation,) = store.evaluations_by_job(cheap.key)
    assert evaluation == Evaluation(
        id="00000000-0000-0000-0000-000000000001",
        priority=20,
        type="batch",
        triggered_by="preemption",
        job_id="cheap",
        create_index=store.index,
        modify_index=store.index,
        create_time=SOME_MOMENT,
        modify_time=SOME_MOMENT,
        cause=Cause(
            kind=CauseKind.PLAN,
            id="p",
            text=f"preempted by evaluation {make_evaluation().id} of job web",
        ),
        story_id=story_id("preemption", make_evaluation().id),
    )


def test_steps_ride_in_the_commit_of_their_plan() -> None:
    store = make_store()
    step = LifecycleStep(
        eval_id=make_evaluation().id, number=1, step=Step.ENQUEUED, at=SOME_MOMENT
    )
    queued = QueuedPlan(plan=make_plan("p", planned(0)).plan, steps=(step,))
    apply(store, queued)
    assert [s.index for s in store.lifecycle(make_evaluation().id)] == [store.index]


def test_a_fenced_applier_writes_nothing() -> None:
    class Lease:
        name = "applier"
        epoch = 1

    store = make_store()
    store.grant_lease("applier", 2)
    with pytest.raises(Fenced):
        PlanApplier(CountingIDs()).apply(
            store, [make_plan("p", planned(0))], Moment(SOME_MOMENT, 0.0), fence=Lease()
        )
    assert not store.allocations_by_job(JOB.key)


def test_a_node_that_refuses_too_often_is_closed() -> None:
    greedy = make_job(
        task_groups=(make_task_group(tasks=(make_task(resources=Resources(cpu=9000)),)),)
    )
    store = make_store()
    applier = PlanApplier(
        CountingIDs(), RejectedNodes(RejectionSettings(enabled=True, threshold=2))
    )
    for number in range(2):
        (outcome,) = apply(
            store, make_plan(f"p{number}", planned(number, greedy)), applier=applier
        )
    assert outcome.result is not None
    assert outcome.result.ineligible_nodes == (NODE.id,)
    assert outcome.result.alloc_index == store.index
    node = store.node(NODE.id)
    assert node is not None
    assert node.scheduling_eligibility is NodeEligibility.INELIGIBLE


def test_a_node_is_closed_as_the_record_says_not_as_the_applier_was_started() -> None:
    greedy = make_job(
        task_groups=(make_task_group(tasks=(make_task(resources=Resources(cpu=9000)),)),)
    )
    store = make_store()
    settings = SchedulerSettings(node_rejection=NodeRejection(refusals=2))
    store.write(
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        lambda change: change.put(SCHEDULER_SETTINGS, settings),
        now=SOME_MOMENT,
    )
    applier = PlanApplier(CountingIDs(), RejectedNodes(RejectionSettings(enabled=False)))
    closed = []
    for number in range(2):
        (outcome,) = apply(
            store, make_plan(f"p{number}", planned(number, greedy)), applier=applier
        )
        assert outcome.result is not None
        closed.append(outcome.result.ineligible_nodes)
    assert closed == [(), (NODE.id,)]


@pytest.mark.parametrize(("others", "is_closed"), [(8, False), (9, True)])
def test_no_more_than_the_largest_share_of_nodes_is_closed(
    others: int, *, is_closed: bool
) -> None:
    greedy = make_job(
        task_groups=(make_task_group(tasks=(make_task(resources=Resources(cpu=9000)),)),)
    )
    store = make_store()

    def fill(change: Change) -> None:
        for number in range(others + 1 - len(store.nodes())):
            change.put_node(make_node(100 + number))

    store.write(WriteKind.NODE_REGISTRATION, fill, now=SOME_MOMENT)
    settings = RejectionSettings(enabled=True, threshold=1, largest_share=0.1)
    applier = PlanApplier(CountingIDs(), RejectedNodes(settings))
    for number in range(2):
        apply(store, make_plan(f"p{number}", planned(number, greedy)), applier=applier)

    closed = [node for node in store.nodes() if node.scheduling_eligibility != "eligible"]
    assert [node.id for node in closed] == ([NODE.id] if is_closed else [])
