"""Deployments: statuses, promotion, health and their counters (control-plane.md 6.6, 13.6)."""

import pytest
from msgspec.structs import replace

from scheduler.errors import IllegalTransition
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.deployments import (
    count_in_deployment,
    promote_groups,
    set_alloc_health,
    update_deployment_status,
    write_deployment,
)
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
)
from tests.builders import make_allocation

KIND = WriteKind.DEPLOYMENT_STATUS_UPDATE
GROUP = GroupRollout(desired_total=2, desired_canaries=1, progress_deadline=60)


@pytest.fixture
def store():
    """A record with a running deployment `d` of one group."""
    fresh = MemoryStateStore()
    deployment = Deployment(id="d", job_id="web", task_groups={"web": GROUP})
    fresh.write(KIND, lambda change: write_deployment(change, deployment), now=10)
    return fresh


def write(store, work, now=100):
    return store.write(KIND, work, now=now)[1]


def group_of(store):
    return store.deployment("d").task_groups["web"]


def member(number=0, *, healthy=None, canary=False, timestamp=0, **fields):
    health = DeploymentHealth(healthy=healthy, canary=canary, timestamp=timestamp)
    return make_allocation(number=number, deployment_id="d", deployment_status=health, **fields)


def test_a_status_that_runs_restarts_every_deadline(store):
    for status in (DeploymentStatus.PAUSED, DeploymentStatus.RUNNING):
        update = DeploymentStatusUpdate(deployment_id="d", status=status, updated_at=200)
        stored = write(store, lambda change, u=update: update_deployment_status(change, u))
        assert (stored.status, stored.modify_time) == (status, 200)
        assert group_of(store).require_progress_by == 260


def test_an_ended_or_unknown_deployment_takes_no_status(store):
    end = DeploymentStatusUpdate(deployment_id="d", status=DeploymentStatus.FAILED)
    write(store, lambda change: update_deployment_status(change, end))
    for update in (end, replace(end, deployment_id="gone")):
        with pytest.raises(IllegalTransition):
            write(store, lambda change, u=update: update_deployment_status(change, u))


def test_an_ended_deployment_that_is_planned_again_ended_when_it_did(store):
    won = replace(store.deployment("d"), status=DeploymentStatus.SUCCESSFUL)
    assert write(store, lambda change: write_deployment(change, won)).modify_time == 100
    grown = replace(won, task_groups={"web": replace(GROUP, desired_total=3)})
    again = write(store, lambda change: write_deployment(change, grown), now=500)
    assert (again.modify_time, again.task_groups["web"].desired_total) == (100, 3)
    write(store, lambda change: count_in_deployment(change, None, member()), now=600)
    assert (store.deployment("d").modify_time, group_of(store).placed_allocs) == (100, 1)


HEALTH = [
    pytest.param(None, member(modify_time=40), {"placed_allocs": 1, "require_progress_by": 100},
                 id="placed"),
    pytest.param(None, member(healthy=True, modify_time=40),
                 {"placed_allocs": 1, "require_progress_by": 100}, id="placed-healthy-is-placed"),
    pytest.param(None, member(canary=True, modify_time=40),
                 {"placed_allocs": 1, "require_progress_by": 100,
                  "placed_canaries": (member().id,)}, id="placed-canary"),
    pytest.param(member(), member(healthy=True, timestamp=50),
                 {"healthy_allocs": 1, "require_progress_by": 110}, id="first-healthy"),
    pytest.param(member(), member(healthy=False, timestamp=50), {"unhealthy_allocs": 1},
                 id="first-unhealthy-extends-nothing"),
    pytest.param(member(healthy=True), member(healthy=False, timestamp=50),
                 {"healthy_allocs": -1, "unhealthy_allocs": 1, "require_progress_by": 110},
                 id="turns-unhealthy"),
    pytest.param(member(healthy=False), member(healthy=True, timestamp=50), {},
                 id="recovers-unnoticed"),
    pytest.param(member(healthy=True), member(healthy=True), {}, id="stays-healthy"),
    pytest.param(make_allocation(), make_allocation(), {}, id="takes-no-part"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "moves"), HEALTH)
def test_allocations_move_the_counters_of_their_group(store, before, after, moves):
    write(store, lambda change: count_in_deployment(change, before, after))
    assert group_of(store) == replace(GROUP, **moves)


def test_a_promotion_frees_the_healthy_canaries(store):
    canaries = [
        member(0, healthy=True, canary=True),
        member(1, healthy=False, canary=True),
        member(2, healthy=True, canary=True, client_status=ClientStatus.FAILED),
    ]

    def begin(change):
        for alloc in canaries:
            put_found(change, alloc)

    write(store, begin)
    stored = write(
        store, lambda change: promote_groups(change, change.deployment("d"), ["web"], "runs")
    )
    assert (stored.status_description, stored.task_groups["web"].promoted) == ("runs", True)
    flags = [store.allocation(alloc.id).deployment_status.canary for alloc in canaries]
    assert flags == [False, True, True]


def test_a_plan_does_not_take_a_promotion_back(store):
    write(store, lambda change: promote_groups(change, change.deployment("d"), ["web"], "runs"))
    stale = Deployment(id="d", job_id="web", task_groups={"web": GROUP})
    with pytest.raises(IllegalTransition, match="promoted meanwhile"):
        write(store, lambda change: write_deployment(change, stale))


def test_health_set_by_hand_is_counted(store):
    def begin(change):
        for number in (0, 1):
            put_found(change, member(number))

    write(store, begin)
    healthy, unhealthy = [member(0).id], [member(1).id]
    write(
        store,
        lambda change: set_alloc_health(change, "d", healthy=healthy, unhealthy=unhealthy, at=70),
    )
    group = group_of(store)
    assert (group.healthy_allocs, group.unhealthy_allocs, group.require_progress_by) == (1, 1, 130)
    assert store.allocation(member(0).id).deployment_status == DeploymentHealth(
        healthy=True, timestamp=70, modify_index=store.index
    )


STRANGERS = [
    pytest.param(make_allocation(number=5), id="of-no-deployment"),
    pytest.param(None, id="unknown"),
]


@pytest.mark.parametrize("alloc", STRANGERS)
def test_health_of_a_stranger_is_refused(store, alloc):
    if alloc is not None:
        write(store, lambda change: put_found(change, alloc))
    before = store.index
    with pytest.raises(IllegalTransition):
        write(
            store,
            lambda change: set_alloc_health(
                change, "d", healthy=[make_allocation(number=5).id], unhealthy=[], at=1
            ),
        )
    assert store.index == before
