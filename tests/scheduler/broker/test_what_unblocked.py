"""What is said to have let a waiting evaluation run again: the event, without anybody's job."""

import pytest
from msgspec.structs import replace

from scheduler.broker.blocked_evals import BlockedEvals
from scheduler.broker.capacity import CapacityHooks
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeEligibility, NodeStatus
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import make_allocation, make_evaluation, make_node

HELD = make_node(1, name="held", scheduling_eligibility=NodeEligibility.INELIGIBLE)
DOWN = make_node(2, name="down", status=NodeStatus.DOWN)
NEW = make_node(3, name="new")
ALLOC = make_allocation(node_id=HELD.id, node_name="held", client_status=ClientStatus.RUNNING)
QUOTA = QuotaSpec(name="team-a", limits=QuotaAmounts(cpu=10))


def write(store, kind, *rows):
    def work(change):
        for row in rows:
            if isinstance(row, QuotaSpec):
                change.put(QUOTAS, row)
            elif isinstance(row, Namespace):
                change.put(NAMESPACES, row)
            else:
                put_found(change, row)

    return store.write(kind, work, now=1)[0]


@pytest.fixture
def cluster():
    store, tracker = MemoryStateStore(), BlockedEvals()
    tracker.set_enabled(enabled=True)
    write(store, QUOTAS.upserted, QUOTA, Namespace(name="default", quota="team-a"))
    write(store, WriteKind.NODE_REGISTRATION, HELD, DOWN, ALLOC)
    hooks = CapacityHooks(tracker)
    hooks.restore(store)
    return store, tracker, hooks


EVENTS = [
    pytest.param(
        WriteKind.NODE_ELIGIBILITY,
        replace(HELD, scheduling_eligibility=NodeEligibility.ELIGIBLE),
        "node held was set eligible",
        id="eligible",
    ),
    pytest.param(
        WriteKind.NODE_STREAM_EVENT,
        replace(DOWN, status=NodeStatus.READY),
        "node down is ready",
        id="back",
    ),
    pytest.param(WriteKind.NODE_REGISTRATION, NEW, "node new joined", id="joined"),
    pytest.param(
        WriteKind.ALLOCATION_UPDATED,
        ALLOC.changed(client_status=ClientStatus.COMPLETE),
        "an allocation ended on node held",
        id="ended",
    ),
]
RAISED = pytest.param(
    QUOTAS.upserted,
    replace(QUOTA, limits=QuotaAmounts(cpu=20)),
    "quota team-a was raised",
    id="raised",
)


def observed(cluster, kind, row):
    store, _, hooks = cluster
    index = write(store, kind, row)
    (frame,) = store.frames_since(index - 1)
    return hooks.observe(frame, 0.0)


@pytest.mark.parametrize(("kind", "row", "told"), [*EVENTS, RAISED])
def test_what_waits_is_released_with_what_happened(cluster, kind, row, told):
    store, tracker, _ = cluster
    waiting = make_evaluation(
        status=EvalStatus.BLOCKED,
        snapshot_index=store.index,
        quota_limit_reached="team-a" if "quota" in told else "",
    )
    tracker.block(waiting)
    assert [item.reason for item in observed(cluster, kind, row)] == [told]


@pytest.mark.parametrize(("kind", "row", "told"), [*EVENTS, RAISED])
def test_what_a_run_overlooked_is_told_as_what_happened_meanwhile(cluster, kind, row, told):
    store, tracker, _ = cluster
    seen = store.index
    observed(cluster, kind, row)
    waiting = make_evaluation(
        status=EvalStatus.BLOCKED,
        snapshot_index=seen,
        quota_limit_reached="team-a" if "quota" in told else "",
    )
    assert [item.reason for item in tracker.block(waiting)] == [f"{told} meanwhile"]
