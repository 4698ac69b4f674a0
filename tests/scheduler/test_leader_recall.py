"""Room that appeared while nobody led is noticed by the next leader."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from scheduler.broker.places import Place
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeEligibility, NodeStatus
from scheduler.structs.quota import QuotaSpec
from tests.builders import make_allocation, make_evaluation, make_node
from tests.scheduler.leading import E, make_world
from tests.simulation.world import World

OPEN = make_node()
CLOSED = replace(OPEN, scheduling_eligibility=NodeEligibility.INELIGIBLE)
DOWN = replace(OPEN, status=NodeStatus.DOWN)
ENDED = make_allocation(node_id=OPEN.id, client_status=ClientStatus.COMPLETE)
BLOCKED = make_evaluation(status=EvalStatus.BLOCKED, snapshot_index=1000)
FOR_QUOTA = replace(BLOCKED, quota_limit_reached="small")
OTHER_CLASS = replace(BLOCKED, class_eligibility={OPEN.computed_class: False})


def unwatched(world: World, kind: str, work: Callable[[Change], object]) -> None:
    """A commit, and then another leader, who did not see it happen."""
    heard_to = world.leader.index
    world.store.write(kind, work, now=world.clock.now())
    frames = world.store.frames_since(heard_to)
    world.new_leader()
    world.leader.recall(frames, world.moment)


@pytest.mark.parametrize(
    ("evaluation", "kind", "work", "is_released"),
    [
        pytest.param(
            BLOCKED, WriteKind.NODE_ELIGIBILITY, lambda c: put_found(c, OPEN), True, id="opened"
        ),
        pytest.param(
            BLOCKED, WriteKind.NODE_ELIGIBILITY, lambda c: put_found(c, CLOSED), False, id="closed"
        ),
        pytest.param(
            BLOCKED,
            WriteKind.NODE_REGISTRATION,
            lambda c: put_found(c, DOWN),
            False,
            id="went-down",
        ),
        pytest.param(
            OTHER_CLASS,
            WriteKind.NODE_ELIGIBILITY,
            lambda c: put_found(c, OPEN),
            False,
            id="of-a-class-that-does-not-fit",
        ),
        pytest.param(
            BLOCKED,
            WriteKind.ALLOCATION_UPDATED,
            lambda c: put_found(c, ENDED),
            True,
            id="end",
        ),
        pytest.param(
            FOR_QUOTA,
            QUOTAS.upserted,
            lambda c: c.put(QUOTAS, QuotaSpec(name="small")),
            True,
            id="quota",
        ),
        pytest.param(
            FOR_QUOTA,
            NAMESPACES.upserted,
            lambda c: c.put(NAMESPACES, Namespace(name="default", quota="small")),
            True,
            id="namespace",
        ),
    ],
)
def test_what_was_committed_unwatched_lets_those_run_that_waited_for_it(
    evaluation: Evaluation,
    kind: str,
    work: Callable[[Change], object],
    is_released: bool,
) -> None:
    world = make_world(evaluation)
    world.put_nodes(CLOSED)
    unwatched(world, kind, work)
    assert (world.leader.broker.place_of(E.id) is Place.READY) is is_released
    assert (E.id in world.leader.blocked) is not is_released


def test_a_run_that_was_out_meanwhile_hears_of_it_when_it_blocks() -> None:
    world = make_world()
    unwatched(world, WriteKind.NODE_ELIGIBILITY, lambda change: put_found(change, OPEN))
    world.put_evaluations(replace(BLOCKED, snapshot_index=0))
    assert world.leader.broker.place_of(E.id) is Place.READY


def test_when_the_commits_are_gone_everything_runs_again() -> None:
    world = make_world(OTHER_CLASS, replace(FOR_QUOTA, id="other", job_id="other"))
    world.new_leader()
    world.leader.recall(None, world.moment)
    assert world.leader.broker.ready_count() == 2
