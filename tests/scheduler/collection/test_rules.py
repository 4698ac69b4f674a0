"""Which rows may go; ids are rows of control-plane.md 16.3."""

import pytest

from scheduler.collection.rules import is_garbage_allocation, may_be_deleted
from scheduler.structs.allocation import (
    ClientStatus,
    DesiredStatus,
    RescheduleEvent,
    RescheduleTracker,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job, JobStatus, Periodic, VersionTag
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import ReschedulePolicy
from scheduler.structs.wire import Wire
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)
from tests.scheduler.collection.rounds import HOUR, NOW, make_store, run_all

POLICY = ReschedulePolicy(attempts=1, interval=10 * 60 * SECOND)
DEAD = JobStatus.DEAD.value
RUNNING = JobStatus.RUNNING.value


def rescheduled(minutes_ago: int) -> RescheduleTracker:
    moment = NOW - minutes_ago * 60 * SECOND
    return RescheduleTracker(events=(RescheduleEvent(reschedule_time=moment),))


def job_with(policy: ReschedulePolicy | None, **fields: object) -> Job:
    group = make_task_group(reschedule_policy=policy)
    return make_job(task_groups=(group,), **({"status": RUNNING} | fields))


FAILED = {"client_status": ClientStatus.FAILED}
UNLIMITED = ReschedulePolicy(unlimited=True)


@pytest.mark.parametrize(
    ("alloc", "job", "is_garbage"),
    [
        pytest.param({}, job_with(POLICY), False, id="alive"),
        pytest.param(
            {"client_status": ClientStatus.UNKNOWN}, job_with(None), False, id="out-of-sight"
        ),
        pytest.param(FAILED | {"modify_time": NOW}, job_with(None), False, id="young"),
        pytest.param(
            {"desired_status": DesiredStatus.STOP, "client_status": ClientStatus.RUNNING},
            job_with(POLICY),
            False,
            id="told-to-stop-but-running",
        ),
        pytest.param(FAILED, None, True, id="job-gone"),
        pytest.param(FAILED, job_with(UNLIMITED, stop=True), True, id="C03-job-stopped"),
        pytest.param(FAILED, job_with(UNLIMITED, status=DEAD), True, id="job-dead"),
        pytest.param(
            FAILED | {"desired_status": DesiredStatus.STOP}, job_with(POLICY), True, id="C01-stop"
        ),
        pytest.param({"client_status": ClientStatus.LOST}, job_with(POLICY), True, id="C01-lost"),
        pytest.param(FAILED, job_with(None), True, id="no-policy"),
        pytest.param(FAILED, job_with(ReschedulePolicy()), True, id="no-attempts"),
        pytest.param(FAILED | {"task_group": "gone"}, job_with(POLICY), True, id="group-gone"),
        pytest.param(FAILED | {"next_allocation": "x"}, job_with(UNLIMITED), True, id="replaced"),
        pytest.param(FAILED, job_with(UNLIMITED), False, id="unlimited"),
        pytest.param(FAILED, job_with(POLICY), False, id="never-rescheduled"),
        pytest.param(
            FAILED | {"reschedule_tracker": rescheduled(3)}, job_with(POLICY), False, id="C02"
        ),
        pytest.param(
            FAILED | {"reschedule_tracker": rescheduled(11)}, job_with(POLICY), True, id="expired"
        ),
    ],
)
def test_c08_which_allocations_are_garbage(
    alloc: dict[str, object], job: Job | None, *, is_garbage: bool
) -> None:
    row = make_allocation(**alloc)
    assert is_garbage_allocation(row, job, cutoff=NOW - HOUR, now=NOW) is is_garbage


E = make_evaluation(status=EvalStatus.COMPLETE)
COMPLETE = {"client_status": ClientStatus.COMPLETE, "eval_id": E.id}


def batch(**fields: object) -> Job:
    return make_job(type="batch", job_modify_index=30, **fields)


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        pytest.param([job_with(None), E, make_allocation(**COMPLETE)], [], id="C01"),
        pytest.param(
            [job_with(None), E.changed(modify_time=NOW), make_allocation(**COMPLETE)],
            ["eval", "alloc 0"],
            id="young",
        ),
        pytest.param([job_with(None), make_evaluation()], ["eval"], id="open"),
        pytest.param(
            [batch(status=DEAD), E.changed(type="batch"),
             make_allocation(batch(), create_index=40, **COMPLETE)],
            [],
            id="C04-the-whole-dead-job-goes",
        ),
        pytest.param(
            [batch(status=RUNNING), E.changed(type="batch"),
             make_allocation(batch(), create_index=40, **COMPLETE)],
            ["eval", "alloc 0"],
            id="C04-current-version-stays",
        ),
        pytest.param(
            [batch(status=RUNNING), E.changed(type="batch"),
             make_allocation(batch(), create_index=20, **COMPLETE),
             make_allocation(batch(), 1, create_index=40, eval_id=E.id)],
            ["eval", "alloc 1"],
            id="C05-older-version-goes",
        ),
        pytest.param(
            [E.changed(type="batch"), make_allocation(batch(), **COMPLETE)], [], id="C06"
        ),
        pytest.param(
            [job_with(None), E, make_allocation(**COMPLETE),
             make_allocation(None, 1, eval_id=E.id)],
            ["eval", "alloc 1"],
            id="C07",
        ),
    ],
)  # fmt: skip
def test_which_evaluations_go(rows: list[Wire], left: list[str]) -> None:
    store = make_store(*rows)
    run_all(store)
    found = ["eval" for _ in store.evaluations()]
    found += [f"alloc {a.name[-2]}" for a in store.allocations_by_eval(E.id)]
    assert found == left


@pytest.mark.parametrize(
    ("rows", "is_purged"),
    [
        pytest.param([make_job(stop=True, status=DEAD), E], True, id="C10"),
        pytest.param([make_job(status=DEAD), E], False, id="service-not-stopped"),
        pytest.param([make_job(stop=True, status=DEAD, submit_time=NOW), E], False, id="young"),
        pytest.param([make_job(stop=True, status=DEAD), make_evaluation()], False, id="C09-eval"),
        pytest.param([make_job(stop=True, status=DEAD), make_allocation()], False, id="C09-alloc"),
        pytest.param(
            [make_job(stop=True, status=DEAD, version_tag=VersionTag(name="v1"))],
            False,
            id="C10-tagged",
        ),
        pytest.param([make_job(status=DEAD, periodic=Periodic(), type="batch")], False, id="C11"),
        pytest.param(
            [make_job(status=DEAD, periodic=Periodic(), stop=True)], True, id="C11-stopped"
        ),
    ],
)
def test_which_jobs_go(rows: list[Wire], *, is_purged: bool) -> None:
    store = make_store(*rows)
    run_all(store)
    assert (not list(store.jobs())) is is_purged
    if is_purged:
        assert not list(store.evaluations())


LOST = {"client_status": ClientStatus.LOST}
DOWN = make_node(status=NodeStatus.DOWN)


@pytest.mark.parametrize(
    ("rows", "is_gone"),
    [
        pytest.param([DOWN], True, id="C12-empty"),
        pytest.param(
            [DOWN, make_allocation(client_status=ClientStatus.LOST)], True, id="C12-lost"
        ),
        pytest.param([DOWN, make_allocation()], False, id="C12-running"),
        pytest.param([make_node()], False, id="ready"),
    ],
)
def test_which_nodes_go(rows: list[Wire], *, is_gone: bool) -> None:
    store = make_store(*rows)
    run_all(store)
    assert (store.node(DOWN.id) is None) is is_gone


def test_c13_a_deployment_goes_when_nothing_alive_refers_to_it() -> None:
    ended = Deployment(id="d", status=DeploymentStatus.FAILED, modify_time=SOME_MOMENT)
    kept = make_store(ended, make_allocation(deployment_id="d"))
    run_all(kept)
    assert kept.deployment("d") == ended
    gone = make_store(ended)
    run_all(gone)
    assert gone.deployment("d") is None


MOVED = {"reschedule_tracker": rescheduled(3), "next_allocation": "x"}


@pytest.mark.parametrize(
    ("alloc", "job", "may_go"),
    [
        pytest.param({"client_status": ClientStatus.RUNNING}, job_with(None), False, id="runs"),
        pytest.param(
            {"client_status": ClientStatus.UNKNOWN}, job_with(None), False, id="out-of-sight"
        ),
        pytest.param({"client_status": ClientStatus.RUNNING}, None, True, id="job-gone"),
        pytest.param(
            {"client_status": ClientStatus.RUNNING},
            job_with(None, stop=True),
            True,
            id="job-stopped",
        ),
        pytest.param(
            {"client_status": ClientStatus.RUNNING},
            job_with(None, status=DEAD),
            True,
            id="job-dead",
        ),
        pytest.param(
            {"client_status": ClientStatus.COMPLETE}, job_with(UNLIMITED), True, id="complete"
        ),
        pytest.param({"client_status": ClientStatus.LOST}, job_with(UNLIMITED), True, id="lost"),
        pytest.param(FAILED, job_with(None), True, id="never-moved-anyway"),
        pytest.param(FAILED, job_with(ReschedulePolicy()), True, id="no-attempts"),
        pytest.param(FAILED | {"task_group": "gone"}, job_with(POLICY), True, id="group-gone"),
        pytest.param(FAILED, job_with(POLICY), False, id="is-to-move"),
        pytest.param(
            FAILED | {"reschedule_tracker": rescheduled(3)},
            job_with(POLICY),
            False,
            id="was-moved-and-has-no-successor",
        ),
        pytest.param(
            FAILED | {"next_allocation": "x"}, job_with(POLICY), False, id="replaced-unmoved"
        ),
        pytest.param(FAILED | MOVED, job_with(POLICY), True, id="was-moved-on"),
        pytest.param(FAILED | MOVED, job_with(UNLIMITED), False, id="moves-without-end"),
    ],
)
def test_which_evaluations_a_person_may_delete(
    alloc: dict[str, object], job: Job | None, *, may_go: bool
) -> None:
    evaluation = make_evaluation()
    row = make_allocation(job, **({"eval_id": evaluation.id} | alloc))
    store = make_store(evaluation, row, *([job] if job else []))
    assert may_be_deleted(store, evaluation) is may_go
