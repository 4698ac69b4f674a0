"""Versions, statuses and counts of jobs (control-plane.md 16.7, the rows of the state layer)."""

import pytest
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.job_status import job_status, refresh_job_status
from scheduler.state.writes.jobs import (
    has_same_spec,
    mark_stable,
    name_version,
    purge_job,
    stop_job,
    write_job,
)
from scheduler.state.writes.summaries import count_allocation
from scheduler.state.writes.transitions import mark_transitions
from scheduler.structs.allocation import ClientStatus, DesiredStatus, DesiredTransition
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import (
    JobChildrenSummary,
    ParameterizedJob,
    Periodic,
    TaskGroupSummary,
    VersionTag,
)
from tests.builders import CountingIDs, make_allocation, make_evaluation, make_job, make_task_group

KEY = JobKey("default", "web")
KIND = WriteKind.JOB_REGISTERED


@pytest.fixture
def store():
    return MemoryStateStore()


def write(store, work, now=100):
    return store.write(KIND, work, now=now)


def fresh_job(**fields):
    return make_job(**({"create_index": 0, "modify_index": 0, "job_modify_index": 0} | fields))


def versions(store):
    return [job.version for job in store.job_versions(KEY)]


def test_j01_a_changed_job_is_a_new_version(store):
    first, _ = write(store, lambda change: write_job(change, fresh_job()))
    second, job = write(store, lambda change: write_job(change, fresh_job(priority=70)))
    assert versions(store) == [1, 0]
    assert (job.create_index, job.modify_index, job.job_modify_index) == (first, second, second)
    assert job.status == "pending"
    assert store.job(KEY) == job


def test_two_versions_of_one_write_are_both_kept(store):
    def work(change):
        for priority in (10, 20):
            write_job(change, fresh_job(priority=priority))

    write(store, work)
    assert [job.priority for job in store.job_versions(KEY)] == [20, 10]


def test_what_the_record_keeps_about_a_job_is_not_part_of_its_spec():
    stored = make_job(version=4, status="running", stable=True, submit_time=5, modify_index=99)
    assert has_same_spec(stored, fresh_job())
    assert not has_same_spec(stored, fresh_job(stop=True))
    assert not has_same_spec(stored, fresh_job(version_tag=VersionTag(name="good")))


def test_j07_a_stop_is_a_version_and_repeating_it_another(store):
    write(store, lambda change: write_job(change, fresh_job()))
    for expected in (1, 2):
        _, job = write(store, lambda change: stop_job(change, KEY), now=200)
        assert (job.version, job.stop, job.submit_time, job.status) == (
            expected,
            True,
            200,
            "dead",
        )
    assert write(store, lambda change: stop_job(change, JobKey("default", "gone")))[1] is None


def test_j07_a_purge_takes_everything_along(store):
    def begin(change):
        job = write_job(change, fresh_job())
        write_evaluations(
            change, [make_evaluation(1), make_evaluation(2, status=EvalStatus.BLOCKED)]
        )
        put_found(change, make_allocation(job))
        put_found(change, Deployment(id="d", job_id="web"))

    write(store, begin)
    created = store.job(KEY).create_index
    assert write(store, lambda change: purge_job(change, KEY))[1].id == "web"
    assert store.job(KEY) is None
    assert store.get(JOB_SUMMARIES, KEY) is None
    assert versions(store) == []
    assert store.job_version(KEY, 0, created) is None
    assert store.allocations_by_job(KEY) == []
    assert store.deployments_by_job(KEY) == []
    first, second = store.evaluations_by_job(KEY)
    assert (first.status, first.status_description) == (EvalStatus.COMPLETE, "job web deleted")
    assert second.status is EvalStatus.BLOCKED


def test_j09_six_versions_are_kept_and_the_newest_stable_one(store):
    for number in range(300):
        write(store, lambda change, number=number: write_job(change, fresh_job(priority=number)))
        if number == 0:
            write(store, lambda change: mark_stable(change, KEY, 0))
    assert versions(store) == [299, 298, 297, 296, 295, 0]


def test_a_stop_is_not_what_is_kept_to_go_back_to(store):
    write(store, lambda change: write_job(change, fresh_job()))
    write(store, lambda change: mark_stable(change, KEY, 0))
    write(store, lambda change: stop_job(change, KEY))
    for number in range(2, 10):
        write(store, lambda change, number=number: write_job(change, fresh_job(priority=number)))
    assert versions(store) == [9, 8, 7, 6, 5, 0]


def test_tagged_versions_are_kept_beside_the_six(store):
    write(store, lambda change: write_job(change, fresh_job()))
    write(store, lambda change: name_version(change, KEY, 0, VersionTag(name="good")))
    for number in range(1, 8):
        write(store, lambda change, number=number: write_job(change, fresh_job(priority=number)))
    assert versions(store) == [7, 6, 5, 4, 3, 2, 0]


def test_marking_another_version_leaves_the_running_job_alone(store):
    write(store, lambda change: write_job(change, fresh_job()))
    write(store, lambda change: write_job(change, fresh_job(priority=70)))
    running = store.job(KEY)
    index, found = write(store, lambda change: mark_stable(change, KEY, 0))
    assert found
    assert store.job(KEY) == running
    assert (store.job_version(KEY, 0).stable, store.job_version(KEY, 0).modify_index) == (
        True,
        index,
    )
    assert not write(store, lambda change: mark_stable(change, KEY, 9))[1]


def test_j16_a_parent_counts_its_children(store):
    parent = JobKey("default", "parent")
    child = fresh_job(id="child", parent_id="parent", type="batch")
    key = child.key
    counts = []

    def note():
        counts.append(store.get(JOB_SUMMARIES, parent).children)

    write(store, lambda change: write_job(change, fresh_job(id="parent", type="batch")))
    write(store, lambda change: write_job(change, child))
    note()
    alloc = make_allocation(store.job(key))

    def place(change):
        put_found(change, alloc)
        refresh_job_status(change, key)

    write(store, place)
    note()
    done = alloc.changed(client_status=ClientStatus.COMPLETE)
    write(store, lambda change: write_evaluations(change, [make_evaluation(1, job_id="child")]))
    write(
        store,
        lambda change: write_evaluations(
            change, [make_evaluation(1, job_id="child", status=EvalStatus.COMPLETE)]
        ),
    )
    note()
    write(store, lambda change: update_from_client(change, [done], CountingIDs()))
    note()
    assert counts == [
        JobChildrenSummary(pending=1),
        JobChildrenSummary(running=1),
        JobChildrenSummary(running=1),
        JobChildrenSummary(dead=1),
    ]


def test_a_purged_child_counts_as_dead(store):
    write(store, lambda change: write_job(change, fresh_job(id="parent")))
    child = fresh_job(id="child", parent_id="parent")
    write(store, lambda change: write_job(change, child))
    write(store, lambda change: purge_job(change, child.key))
    parent = store.get(JOB_SUMMARIES, JobKey("default", "parent"))
    assert parent.children == JobChildrenSummary(dead=1)


RUNNING, FAILED = ClientStatus.RUNNING, ClientStatus.FAILED
STATUSES = [
    pytest.param({}, [], "pending", id="j24-new"),
    pytest.param({"stop": True}, [], "dead", id="stopped"),
    pytest.param({"stop": True}, [make_allocation(client_status=RUNNING)], "running",
                 id="j24-stopped-with-a-running-allocation"),
    pytest.param({}, [make_allocation(client_status=FAILED)], "pending",
                 id="j24-failed-without-evaluation"),
    pytest.param({}, [make_evaluation(job_id="web-2")], "pending", id="j24-other-job-with-prefix"),
    pytest.param({}, [make_evaluation(status=EvalStatus.COMPLETE)], "dead", id="evaluated"),
    pytest.param({}, [make_evaluation(status=EvalStatus.BLOCKED)], "pending", id="blocked"),
    pytest.param({}, [Deployment(id="d", job_id="web")], "running", id="being-deployed"),
    pytest.param({}, [Deployment(id="d", job_id="web", status=DeploymentStatus.FAILED)],
                 "pending", id="was-deployed"),
    pytest.param({"type": "system"}, [], "running", id="system"),
    pytest.param({"type": "system", "stop": True},
                 [make_allocation(desired_status=DesiredStatus.RUN)], "dead", id="system-stopped"),
    pytest.param({"periodic": Periodic(spec="* * * * *")}, [], "running", id="periodic"),
    pytest.param({"parameterized_job": ParameterizedJob()}, [], "running", id="parameterized"),
    pytest.param({"parameterized_job": ParameterizedJob(), "dispatched": True}, [], "pending",
                 id="dispatched"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "rows", "expected"), STATUSES)
def test_j24_the_status_of_a_job_follows_from_the_rows_beside_it(store, fields, rows, expected):
    def begin(change):
        for row in rows:
            put_found(change, row)
        # Once more with everything in the open change.
        assert job_status(change, make_job(**fields)) == expected

    write(store, begin)
    assert store.read(lambda reader: job_status(reader, make_job(**fields))) == expected


def test_j27_counts_follow_the_client_status(store):
    job = write(store, lambda change: write_job(change, fresh_job()))[1]
    alloc = make_allocation(job)
    seen = []
    before = None
    for status in (ClientStatus.PENDING, RUNNING, FAILED, RUNNING):
        after = alloc.changed(client_status=status)
        write(store, lambda change, b=before, a=after: count_allocation(change, b, a))
        seen.append(store.get(JOB_SUMMARIES, KEY).summary["web"])
        before = after
    assert seen == [
        TaskGroupSummary(starting=1),
        TaskGroupSummary(running=1),
        TaskGroupSummary(failed=1),
        TaskGroupSummary(failed=1, running=1),
    ]


def test_counts_of_another_incarnation_do_not_move(store):
    write(store, lambda change: write_job(change, fresh_job()))
    alloc = make_allocation(job_create_index=1)
    write(store, lambda change: count_allocation(change, None, alloc))
    assert store.get(JOB_SUMMARIES, KEY).summary == {"web": TaskGroupSummary()}


def test_groups_are_added_to_the_counts_and_never_removed(store):
    write(store, lambda change: write_job(change, fresh_job()))
    other = fresh_job(task_groups=(make_task_group(name="cache"),))
    write(store, lambda change: write_job(change, other))
    assert sorted(store.get(JOB_SUMMARIES, KEY).summary) == ["cache", "web"]


def test_transitions_overwrite_only_what_they_say(store):
    alloc = make_allocation(desired_transition=DesiredTransition(reschedule=True))
    write(store, lambda change: put_found(change, alloc))
    wish = DesiredTransition(migrate=True, no_shutdown_delay=False)
    index, stored = write(
        store,
        lambda change: mark_transitions(
            change, {alloc.id: wish, "gone": wish}, [make_evaluation()]
        ),
    )
    after = store.allocation(alloc.id)
    assert after.desired_transition == replace(wish, reschedule=True)
    assert (after.modify_index, after.alloc_modify_index) == (index, index)
    assert [item.create_index for item in stored] == [index]
