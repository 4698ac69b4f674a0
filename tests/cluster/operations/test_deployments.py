"""Steering a rollout: what each verb writes, refuses and evaluates (control-plane.md 16.4)."""

import pytest
from msgspec.structs import replace

from cluster.operations.deployments import (
    end_deployment,
    fail_deployment,
    pause_deployment,
    promote_by_itself,
    promote_deployment,
    set_allocation_health,
    step_deployments,
)
from cluster.operations.errors import NotFound, OperationRefused
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import mark_stable, stop_job, write_job
from scheduler.structs.allocation import DeploymentHealth
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_job,
    make_task_group,
)
from tests.callers import MANAGER

NOW = SOME_MOMENT + SECOND
VERBS = {
    "promote": lambda s, d, **m: promote_deployment(s, d, every_group=True, **m),
    "pause": lambda s, d, **m: pause_deployment(s, d, pause=True, **m),
    "resume": lambda s, d, **m: pause_deployment(s, d, pause=False, **m),
    "fail": fail_deployment,
    "set health of allocations for a": lambda s, d, **m: set_allocation_health(
        s, d, healthy=("a",), unhealthy=(), **m
    ),
}
DEPLOYMENT = Deployment(
    id="dddddddd-0000-0000-0000-000000000001",
    job_id="web",
    job_version=1,
    eval_priority=70,
    task_groups={"web": GroupRollout(desired_total=2, progress_deadline=10 * SECOND)},
)


@pytest.fixture
def store():
    """Version 0 stable, version 1 being rolled out to two allocations."""
    store = MemoryStateStore()
    job = make_job(create_index=0, modify_index=0, job_modify_index=0)

    def begin(change):
        write_job(change, job)
        mark_stable(change, job.key, 0)

    store.write(WriteKind.JOB_REGISTERED, begin, now=SOME_MOMENT)
    changed = replace(job, task_groups=(make_task_group(count=2),))
    store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, changed), now=SOME_MOMENT
    )
    put(store, DEPLOYMENT)
    return store


def put(store, deployment, **health):
    """The deployment, and an allocation of it for each name with its health."""
    job = store.job(deployment.job_key)

    def work(change):
        change.put_deployment(replace(deployment, job_create_index=job.create_index))
        for number, (name, status) in enumerate(health.items()):
            alloc = make_allocation(job, number, id=name, deployment_id=deployment.id)
            change.put_allocation(alloc.changed(deployment_status=status))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def means():
    return {"by": MANAGER, "now": NOW, "ids": CountingIDs()}


def with_group(**fields):
    group = replace(DEPLOYMENT.task_groups["web"], **fields)
    return replace(DEPLOYMENT, task_groups={"web": group})


CANARY = DeploymentHealth(canary=True)
HEALTHY_CANARY = DeploymentHealth(canary=True, healthy=True)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_d02_every_verb_refuses_an_unknown_deployment(store, verb):
    with pytest.raises(NotFound, match="deployment not found"):
        verb(store, "none", **means())


@pytest.mark.parametrize("verb", VERBS)
def test_d21_every_verb_refuses_a_deployment_that_has_ended(store, verb):
    put(store, replace(DEPLOYMENT, status=DeploymentStatus.SUCCESSFUL))
    before = store.index

    with pytest.raises(OperationRefused, match=f"can't {verb} terminal deployment"):
        VERBS[verb](store, DEPLOYMENT.id, **means())
    assert store.index == before


def test_d14_canaries_are_promoted_only_when_enough_are_healthy(store):
    put(store, with_group(desired_canaries=2), one=HEALTHY_CANARY, two=CANARY)
    before = store.index

    with pytest.raises(OperationRefused) as refused:
        promote_deployment(store, DEPLOYMENT.id, every_group=True, **means())
    assert str(refused.value) == (
        '1 error occurred:\n\t* Task group "web" has 1/2 healthy allocations\n\n'
    )
    assert store.index == before


def test_a_promotion_makes_ordinary_allocations_of_the_canaries(store):
    put(store, with_group(desired_canaries=1), one=HEALTHY_CANARY, two=CANARY)

    written = promote_deployment(store, DEPLOYMENT.id, groups=("web",), **means())

    deployment = store.deployment(DEPLOYMENT.id)
    evaluation = store.evaluation(written.eval_id)
    canary = {name: store.allocation(name).deployment_status.canary for name in ("one", "two")}
    assert (deployment.task_groups["web"].promoted, deployment.status_description) == (
        True,
        "Deployment is running",
    )
    assert canary == {"one": False, "two": True}
    assert (evaluation.triggered_by, evaluation.priority, evaluation.deployment_id) == (
        "deployment-watcher",
        70,
        DEPLOYMENT.id,
    )


def test_d15_groups_that_were_not_named_still_wait_for_their_promotion(store):
    group = GroupRollout(desired_canaries=1)
    waiting = "Deployment is running but requires manual promotion"
    put(
        store,
        replace(DEPLOYMENT, task_groups={"web": group, "api": group}, status_description=waiting),
        one=HEALTHY_CANARY,
    )

    promote_deployment(store, DEPLOYMENT.id, groups=("web",), **means())

    deployment = store.deployment(DEPLOYMENT.id)
    promoted = {name: group.promoted for name, group in deployment.task_groups.items()}
    assert promoted == {"web": True, "api": False}
    assert deployment.status_description == waiting


def test_d20_only_going_on_is_worth_an_evaluation(store):
    made = [
        bool(pause_deployment(store, DEPLOYMENT.id, pause=pause, **means()).eval_id)
        for pause in (True, True, False, False)
    ]
    assert made == [False, False, True, True]
    deployment = store.deployment(DEPLOYMENT.id)
    due = deployment.task_groups["web"].require_progress_by
    assert (deployment.status, due) == (DeploymentStatus.RUNNING, NOW + 10 * SECOND)


def test_d19_a_failed_rollout_brings_the_stable_version_back(store):
    put(store, with_group(auto_revert=True))

    written = fail_deployment(store, DEPLOYMENT.id, **means())

    deployment, job = store.deployment(DEPLOYMENT.id), store.job(DEPLOYMENT.job_key)
    assert deployment.status_description == (
        "Deployment marked as failed - rolling back to job version 0"
    )
    assert (written.reverted_version, job.version, job.stable) == (0, 2, True)
    assert job.task_groups[0].count == 1


def test_a_failed_rollout_never_goes_back_to_a_stop(store):
    key = DEPLOYMENT.job_key

    def write(work):
        return store.write(WriteKind.JOB_REGISTERED, work, now=NOW)[1]

    write(lambda change: mark_stable(change, key, 1))
    stopped = write(lambda change: stop_job(change, key))
    assert (stopped.version, stopped.stable) == (2, True)
    write(
        lambda change: write_job(change, replace(stopped, stop=False, stable=False, priority=60))
    )
    put(store, replace(with_group(auto_revert=True), job_version=3))

    written = fail_deployment(store, DEPLOYMENT.id, **means())

    job = store.job(key)
    assert (written.reverted_version, job.version, job.stop) == (1, 4, False)


@pytest.mark.parametrize(
    ("reverts", "description"),
    [
        pytest.param(False, "Deployment marked as failed", id="not-wanted"),
        pytest.param(
            True,
            "Deployment marked as failed - no stable job version to auto revert to",
            id="D19-none-is-stable",
        ),
    ],
)
def test_a_failed_rollout_may_have_nothing_to_go_back_to(store, reverts, description):
    key = DEPLOYMENT.job_key
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: mark_stable(change, key, 0, stable=False),
        now=NOW,
    )
    put(store, with_group(auto_revert=reverts))

    written = fail_deployment(store, DEPLOYMENT.id, **means())

    assert store.deployment(DEPLOYMENT.id).status_description == description
    assert (written.reverted_version, store.job(key).version) == (None, 1)


def test_d06_going_back_to_the_same_specification_would_never_end(store):
    put(store, replace(with_group(auto_revert=True), job_version=0))

    end_deployment(store, DEPLOYMENT.id, is_late=False, rolls_back=True, **means())

    assert store.deployment(DEPLOYMENT.id).status_description == (
        "Failed due to unhealthy allocations - not rolling back to stable job version 0"
        " as current job has same specification"
    )
    assert store.job(DEPLOYMENT.job_key).version == 1


def test_d18_an_allocation_said_to_be_unhealthy_ends_the_rollout(store):
    put(store, with_group(auto_revert=True), one=DeploymentHealth(), two=DeploymentHealth())

    written = set_allocation_health(
        store, DEPLOYMENT.id, healthy=("one",), unhealthy=("two",), **means()
    )

    deployment = store.deployment(DEPLOYMENT.id)
    group = deployment.task_groups["web"]
    assert deployment.status_description == (
        "Failed due to unhealthy allocations - rolling back to job version 0"
    )
    assert (group.healthy_allocs, group.unhealthy_allocs) == (1, 1)
    assert written.reverted_version == 0


@pytest.mark.parametrize(
    ("alloc_ids", "text"),
    [
        pytest.param((), "must specify at least one", id="none"),
        pytest.param(("nobody",), "unknown alloc 'nobody'", id="unknown"),
    ],
)
def test_health_is_refused_for_nothing_and_for_strangers(store, alloc_ids, text):
    with pytest.raises(OperationRefused, match=text):
        set_allocation_health(store, DEPLOYMENT.id, healthy=alloc_ids, unhealthy=(), **means())


def test_d22_health_that_comes_back_moves_no_counter(store):
    put(store, with_group(unhealthy_allocs=1), one=DeploymentHealth(healthy=False))

    set_allocation_health(store, DEPLOYMENT.id, healthy=("one",), unhealthy=(), **means())

    group = store.deployment(DEPLOYMENT.id).task_groups["web"]
    assert store.allocation("one").deployment_status.healthy is True
    assert (group.healthy_allocs, group.unhealthy_allocs) == (0, 1)


def test_d04_progress_of_several_rollouts_is_one_commit(store):
    other = replace(DEPLOYMENT, id="dddddddd-0000-0000-0000-000000000002")
    put(store, other, one=DeploymentHealth(healthy=False))
    before = store.index

    step_deployments(store, {DEPLOYMENT.id: (), other.id: ("one",)}, **means())

    made = [evaluation.deployment_id for evaluation in store.evaluations()]
    assert (store.index, made) == (before + 1, [DEPLOYMENT.id, other.id])
    assert store.allocation("one").desired_transition.reschedule is True


@pytest.mark.parametrize(
    ("placed", "healthy", "promoted"),
    [
        pytest.param(2, 2, True, id="D16-all-healthy"),
        pytest.param(2, 1, False, id="one-is-missing"),
        pytest.param(3, 2, True, id="D17-one-more-placed-than-wanted"),
    ],
)
def test_a_rollout_promotes_itself_once_its_canaries_are_healthy(store, placed, healthy, promoted):
    names = [f"canary-{number}" for number in range(placed)]
    health = {
        name: HEALTHY_CANARY if number < healthy else CANARY for number, name in enumerate(names)
    }
    group = {"desired_canaries": 2, "auto_promote": True, "placed_canaries": tuple(names)}
    put(store, with_group(**group), **health)

    promote_by_itself(store, DEPLOYMENT.id, **means())

    assert store.deployment(DEPLOYMENT.id).task_groups["web"].promoted is promoted
    assert len(list(store.evaluations())) == promoted
