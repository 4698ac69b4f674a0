"""What storing, collecting and causing evaluations does to other rows (evaluations.md 61-73)."""

import pytest

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.evaluations import collect, write_evaluations
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.node_evaluations import (
    node_evaluations,
    registration_needs_evaluations,
    status_needs_evaluations,
)
from scheduler.structs.allocation import AllocState, ClientStatus, DesiredStatus
from scheduler.structs.evaluation import CauseKind, EvalStatus, EvalTrigger
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSummary, TaskGroupSummary
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import ReschedulePolicy
from tests.builders import (
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)

KEY = JobKey("default", "web")
KIND = WriteKind.EVALUATION_UPDATED


@pytest.fixture
def store():
    return MemoryStateStore()


def write(store, work, now=100):
    return store.write(KIND, work, now=now)


def test_61_rewriting_an_evaluation_moves_its_modify_index_only(store):
    first, _ = write(store, lambda change: write_evaluations(change, [make_evaluation()]))
    second, _ = write(store, lambda change: write_evaluations(change, [make_evaluation()]))
    stored = store.evaluation(make_evaluation().id)
    assert (stored.create_index, stored.modify_index) == (first, second)
    assert store.table_index("evaluations") == second


def test_62_a_complete_evaluation_cancels_every_blocked_one_of_its_job(store):
    blocked = [make_evaluation(number, status=EvalStatus.BLOCKED) for number in (1, 2)]
    other = make_evaluation(3, status=EvalStatus.BLOCKED, namespace="team")
    write(store, lambda change: write_evaluations(change, [*blocked, other]))
    done = make_evaluation(4, status=EvalStatus.COMPLETE, modify_time=777)
    write(store, lambda change: write_evaluations(change, [make_evaluation(4)]))
    index, _ = write(store, lambda change: write_evaluations(change, [done]))
    for number in (1, 2):
        stored = store.evaluation(make_evaluation(number).id)
        assert stored.status is EvalStatus.CANCELED
        assert stored.status_description == f'evaluation "{done.id}" successful'
        assert (stored.modify_time, stored.modify_index) == (777, index)
    assert store.evaluation(other.id).status is EvalStatus.BLOCKED


def test_j26_the_sibling_that_waits_ends_with_the_write_that_makes_it_needless(store):
    waiting = make_evaluation(1, status=EvalStatus.BLOCKED)
    write(store, lambda change: write_evaluations(change, [waiting, make_evaluation(2)]))
    before = store.index
    done = make_evaluation(2, status=EvalStatus.COMPLETE)
    index, _ = write(store, lambda change: write_evaluations(change, [done]))
    assert index == before + 1
    assert store.evaluation(waiting.id).status is EvalStatus.CANCELED
    assert store.evaluation(waiting.id).modify_index == index


def test_a_complete_evaluation_with_failed_groups_cancels_nothing(store):
    blocked = make_evaluation(1, status=EvalStatus.BLOCKED)
    write(store, lambda change: write_evaluations(change, [blocked]))
    done = make_evaluation(
        2, status=EvalStatus.COMPLETE, failed_task_groups={"web": make_allocation().metrics}
    )
    write(store, lambda change: write_evaluations(change, [make_evaluation(2), done]))
    assert store.evaluation(blocked.id).status is EvalStatus.BLOCKED


def test_63_queued_counts_go_to_known_groups(store):
    write(store, lambda change: write_job(change, make_job()))
    evaluation = make_evaluation(queued_allocations={"web": 3, "other": 1})
    index, _ = write(store, lambda change: write_evaluations(change, [evaluation]))
    summary = store.get(JOB_SUMMARIES, KEY)
    assert {name: counts.queued for name, counts in summary.summary.items()} == {"web": 3}
    assert summary.modify_index == index
    write(store, lambda change: write_evaluations(change, [evaluation]))
    assert store.get(JOB_SUMMARIES, KEY).modify_index == index


RECONNECTS = [
    pytest.param(1, EvalStatus.PENDING, id="one-of-two-is-back"),
    pytest.param(2, EvalStatus.CANCELED, id="both-are-back"),
]


@pytest.mark.parametrize(("count", "status"), RECONNECTS)
def test_66_a_follow_up_ends_when_nobody_waits_for_it(store, count, status):
    follow_up = make_evaluation(9, wait_until=10**12)
    allocs = [
        make_allocation(
            number=number,
            client_status=ClientStatus.UNKNOWN,
            followup_eval_id=follow_up.id,
            alloc_states=(AllocState(value="unknown", time=1),),
        )
        for number in (0, 1)
    ]

    def begin(change):
        write_job(change, make_job())
        write_evaluations(change, [follow_up])
        for alloc in allocs:
            put_found(change, alloc)

    write(store, begin)
    for alloc in allocs[:count]:
        back = alloc.changed(client_status=ClientStatus.RUNNING)
        write(store, lambda change, back=back: update_from_client(change, [back], CountingIDs()))
        assert store.allocation(alloc.id).followup_eval_id == ""
    stored = store.evaluation(follow_up.id)
    assert stored.status is status
    assert stored.status_description == (
        "allocs reconnected" if status is EvalStatus.CANCELED else ""
    )
    assert stored.modify_time == follow_up.modify_time


def evaluated(store, node=None):
    made = store.read(
        lambda reader: node_evaluations(reader, node or make_node(), CountingIDs(), now=5)
    )
    return [(item.namespace, item.job_id, item.type) for item in made]


def test_67_a_node_concerns_its_service_jobs_and_all_matching_system_jobs(store):
    system = make_job(id="logs", type="system", datacenters=("dc*",))
    sysbatch = make_job(id="once", type="sysbatch")

    def begin(change):
        change.put_job(system)
        change.put_job(sysbatch)
        put_found(change, make_allocation())
        put_found(change, make_allocation(sysbatch, 1))

    write(store, begin)
    assert evaluated(store) == [("default", "web", "service"), ("default", "logs", "system")]
    first, second = store.read(
        lambda reader: node_evaluations(reader, make_node(modify_index=9), CountingIDs(), now=5)
    )
    for made in (first, second):
        assert (made.triggered_by, made.node_id, made.node_modify_index) == (
            EvalTrigger.NODE_UPDATE,
            make_node().id,
            9,
        )
    assert (first.cause.kind, first.cause.id, first.cause.index) == (
        CauseKind.NODE,
        make_node().id,
        9,
    )


SYSTEM_JOBS = [
    pytest.param({"namespace": "team"}, 2, id="same-id-in-two-namespaces"),
    pytest.param({"id": "far", "datacenters": ("far",)}, 1, id="another-datacenter"),
    pytest.param({"id": "gone", "stop": True}, 1, id="stopped"),
    pytest.param({"id": "gpu", "node_pool": "gpu"}, 1, id="another-pool"),
    pytest.param({"id": "every", "node_pool": "all"}, 2, id="every-pool"),
]


@pytest.mark.parametrize(("fields", "count"), SYSTEM_JOBS)
def test_68_system_jobs_are_judged_each_by_itself(store, fields, count):
    def begin(change):
        change.put_job(make_job(id="logs", type="system"))
        change.put_job(make_job(**({"id": "logs", "type": "system"} | fields)))

    write(store, begin)
    assert len(evaluated(store)) == count


RUN, STOP = DesiredStatus.RUN, DesiredStatus.STOP
CONCERNED = [
    pytest.param("service", RUN, ClientStatus.RUNNING, 1, id="69-service-runs"),
    pytest.param("service", STOP, ClientStatus.RUNNING, 1, id="69-service-is-stopping"),
    pytest.param("service", RUN, ClientStatus.COMPLETE, 1, id="69-service-ended-by-itself"),
    pytest.param("service", STOP, ClientStatus.COMPLETE, 0, id="69-service-is-over"),
    pytest.param("batch", RUN, ClientStatus.RUNNING, 1, id="70-batch-runs"),
    pytest.param("batch", RUN, ClientStatus.PENDING, 1, id="70-batch-pends"),
    pytest.param("batch", RUN, ClientStatus.COMPLETE, 0, id="70-batch-complete"),
    pytest.param("batch", RUN, ClientStatus.FAILED, 0, id="70-batch-failed"),
]


@pytest.mark.parametrize(("job_type", "desired", "client", "count"), CONCERNED)
def test_an_allocation_decides_whether_its_job_is_concerned(
    store, job_type, desired, client, count
):
    alloc = make_allocation(make_job(type=job_type), desired_status=desired, client_status=client)
    write(store, lambda change: put_found(change, alloc))
    assert len(evaluated(store)) == count


def group(policy):
    return make_task_group(reschedule_policy=policy)


UNLIMITED = ReschedulePolicy(unlimited=True)
ONCE = ReschedulePolicy(attempts=1, interval=10**12)
F, R, C, U = (
    ClientStatus.FAILED,
    ClientStatus.RUNNING,
    ClientStatus.COMPLETE,
    ClientStatus.UNKNOWN,
)
REPORTS = [
    pytest.param(R, F, {}, UNLIMITED, EvalTrigger.ALLOC_FAILURE, id="71-fails"),
    pytest.param(R, F, {}, ONCE, EvalTrigger.ALLOC_FAILURE, id="fails-with-an-attempt-left"),
    pytest.param(R, F, {}, None, None, id="fails-without-policy"),
    pytest.param(R, F, {"followup_eval_id": "f"}, UNLIMITED, None, id="fails-with-follow-up"),
    pytest.param(U, R, {}, None, EvalTrigger.RECONNECT, id="71-unknown-runs"),
    pytest.param(U, F, {}, UNLIMITED, EvalTrigger.RECONNECT, id="unknown-fails"),
    pytest.param(U, F, {"task_group": "gone"}, UNLIMITED, None, id="unknown-fails-no-group"),
    pytest.param(R, R, {}, UNLIMITED, None, id="71-still-runs"),
    pytest.param(C, C, {}, UNLIMITED, None, id="71-still-complete"),
    pytest.param(R, F, {"task_group": "gone"}, UNLIMITED, None, id="71-unknown-group"),
]


@pytest.mark.parametrize(("stored", "reported", "fields", "policy", "trigger"), REPORTS)
def test_71_a_report_makes_at_most_one_evaluation(
    store, stored, reported, fields, policy, trigger
):
    alloc = make_allocation(client_status=stored, **fields)

    def begin(change):
        write_job(change, make_job(task_groups=(group(policy),)))
        put_found(change, alloc)

    write(store, begin)
    report = alloc.changed(client_status=reported)
    _, result = write(store, lambda change: update_from_client(change, [report], CountingIDs()))
    made = [(item.triggered_by, item.wait_until, item.node_id) for item in result.evaluations]
    assert made == ([] if trigger is None else [(trigger, 0, "")])
    assert [store.evaluation(item.id) for item in result.evaluations] == list(result.evaluations)


def test_reports_for_one_job_share_an_evaluation(store):
    allocs = [make_allocation(number=number, client_status=R) for number in (0, 1)]

    def begin(change):
        write_job(change, make_job(task_groups=(group(UNLIMITED),)))
        for alloc in allocs:
            put_found(change, alloc)

    write(store, begin)
    reports = [alloc.changed(client_status=F) for alloc in allocs]
    _, result = write(store, lambda change: update_from_client(change, reports, CountingIDs()))
    (made,) = result.evaluations
    assert (made.cause.kind, made.cause.id) == (CauseKind.ALLOCATION, allocs[0].id)
    assert [alloc.id for alloc in result.freed] == [alloc.id for alloc in allocs]


def test_a_terminal_report_for_a_purged_job_asks_to_deregister(store):
    alloc = make_allocation(client_status=R)
    write(store, lambda change: put_found(change, alloc))
    report = alloc.changed(client_status=C)
    _, result = write(store, lambda change: update_from_client(change, [report], CountingIDs()))
    (made,) = result.evaluations
    assert (made.triggered_by, made.type) == (EvalTrigger.JOB_DEREGISTER, alloc.job_type)


def test_collecting_the_last_evaluation_lets_the_job_be_dead(store):
    def begin(change):
        write_job(change, make_job())
        write_evaluations(change, [make_evaluation()])
        put_found(change, make_allocation(client_status=C))

    write(store, begin)
    write(store, lambda change: collect(change, [make_evaluation().id], [make_allocation().id]))
    assert store.job(KEY).status == "dead"
    assert store.allocation(make_allocation().id) is None
    assert store.evaluation_stub(make_evaluation().id).job_id == "web"


INIT, READY, DOWN, LOST = (
    NodeStatus.INITIALIZING,
    NodeStatus.READY,
    NodeStatus.DOWN,
    NodeStatus.DISCONNECTED,
)
STATUSES = [
    pytest.param(INIT, READY, True, id="up"),
    pytest.param(DOWN, READY, True, id="back"),
    pytest.param(LOST, INIT, True, id="reconnects"),
    pytest.param(READY, LOST, True, id="disconnects"),
    pytest.param(READY, DOWN, True, id="down"),
    pytest.param(DOWN, DOWN, True, id="down-again"),
    pytest.param(READY, READY, False, id="stays"),
    pytest.param(LOST, LOST, False, id="stays-disconnected"),
    pytest.param(READY, INIT, False, id="begins-again"),
]


@pytest.mark.parametrize(("before", "after", "expected"), STATUSES)
def test_which_statuses_are_worth_evaluations(before, after, expected):
    assert status_needs_evaluations(before, after) is expected


REGISTRATIONS = [
    pytest.param(None, make_node(), True, id="new-and-ready"),
    pytest.param(None, make_node(status=INIT), False, id="new"),
    pytest.param(make_node(), make_node(), False, id="same"),
    pytest.param(make_node(), make_node(meta={"a": "b"}), True, id="other-meta"),
    pytest.param(make_node(), make_node(node_class="big"), True, id="other-class"),
    pytest.param(make_node(), make_node(links={"a": "b"}), False, id="other-links"),
    pytest.param(make_node(), make_node(status=DOWN), True, id="down"),
]


@pytest.mark.parametrize(("before", "after", "expected"), REGISTRATIONS)
def test_which_registrations_are_worth_evaluations(before, after, expected):
    assert registration_needs_evaluations(before, after) is expected


def test_what_is_collected_before_its_node_told_the_end_is_not_counted_as_there(store):
    job, alloc = make_job(), make_allocation(desired_status="stop")
    key = JobKey(job.namespace, job.id)
    counts = {"web": TaskGroupSummary(starting=2, complete=1)}
    summary = JobSummary(job_id=job.id, summary=counts, create_index=alloc.job_create_index)
    write(store, lambda change: change.put_job(job))
    write(store, lambda change: change.put(JOB_SUMMARIES, summary))
    write(store, lambda change: put_found(change, alloc))
    write(store, lambda change: collect(change, [], [alloc.id]))
    after = store.get(JOB_SUMMARIES, key)
    assert after.summary == {"web": TaskGroupSummary(starting=1, complete=1)}
