"""Building a plan: first stop stands, stops can be taken back, updates take the plan's version."""

from scheduler.engine.plan.builder import PlanBuilder
from scheduler.structs.allocation import AllocState, ClientStatus, DesiredStatus
from scheduler.structs.plan import Plan
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job

JOB = make_job(version=3, all_at_once=True)
EVALUATION = make_evaluation(priority=70)


def builder(job=JOB) -> PlanBuilder:
    return PlanBuilder(EVALUATION, job, plan_id="plan", snapshot_index=9)


def test_an_empty_plan_is_made_for_the_evaluation_and_does_nothing():
    plan = builder().build()
    assert plan == Plan(
        id="plan",
        eval_id=EVALUATION.id,
        priority=70,
        all_at_once=True,
        namespace="default",
        job_id="web",
        job_version=3,
        snapshot_index=9,
    )
    assert plan.is_no_op


def test_a_plan_for_a_purged_job_names_no_version():
    plan = builder(None).build()
    assert (plan.job_version, plan.all_at_once) == (None, False)


def test_a_stop_notes_the_status_it_forces():
    alloc = make_allocation()
    plan = builder()
    plan.add_stop(alloc, "gone", client_status=ClientStatus.LOST, now=SOME_MOMENT)
    plan.add_stop(alloc, "later")
    assert plan.build().node_update == {
        alloc.node_id: (
            alloc.changed(
                desired_status=DesiredStatus.STOP,
                desired_description="gone",
                client_status=ClientStatus.LOST,
                alloc_states=(AllocState(value="lost", time=SOME_MOMENT),),
            ),
        )
    }


def test_a_stop_that_is_taken_back_leaves_no_trace():
    plan = builder()
    plan.add_stop(make_allocation(), "going")
    assert plan.remove_stop(make_allocation())
    assert not plan.remove_stop(make_allocation())
    assert plan.build().is_no_op


def test_an_update_takes_the_plans_version_unless_it_has_ended():
    plan = builder()
    running = make_allocation(number=0, job_version=1)
    ended = make_allocation(number=1, job_version=1, client_status=ClientStatus.FAILED)
    plan.add_update(running)
    plan.add_update(ended)
    (placed,) = plan.build().node_allocation.values()
    assert [alloc.job_version for alloc in placed] == [3, 1]


def test_an_evicted_alloc_names_the_one_it_gives_way_to():
    alloc = make_allocation()
    plan = builder()
    plan.add_preemption(alloc, "winner")
    ((evicted,),) = plan.build().node_preemptions.values()
    assert (evicted.desired_status, evicted.desired_description) == (
        DesiredStatus.EVICT,
        "Preempted by alloc ID winner",
    )
    assert plan.build().is_no_op
