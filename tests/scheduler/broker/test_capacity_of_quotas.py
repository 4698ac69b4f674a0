"""Which committed writes mean room in a quota."""

import pytest

from scheduler.broker.blocked_evals import BlockedEvals
from scheduler.broker.capacity import CapacityHooks
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import make_allocation, make_evaluation, make_node

NODE = make_node(1)
HELD = make_allocation(node_id=NODE.id, client_status=ClientStatus.RUNNING)


def quota(name: str = "q", **limits: int) -> QuotaSpec:
    return QuotaSpec(name=name, limits=QuotaAmounts(**limits))


def put(*rows: object):
    def work(change: Change) -> None:
        for row in rows:
            if isinstance(row, QuotaSpec):
                change.put(QUOTAS, row)
            elif isinstance(row, Namespace):
                change.put(NAMESPACES, row)
            else:
                put_found(change, row)

    return work


@pytest.mark.parametrize(
    ("kind", "work", "is_released"),
    [
        pytest.param(
            QUOTAS.upserted, put(quota(cpu=200, memory_mb=50)), True, id="a-limit-raised"
        ),
        pytest.param(QUOTAS.upserted, put(quota(memory_mb=50)), True, id="a-limit-taken-away"),
        pytest.param(
            QUOTAS.upserted, put(quota(cpu=50, memory_mb=50)), False, id="a-limit-lowered"
        ),
        pytest.param(QUOTAS.upserted, put(quota("other", cpu=999)), False, id="another-quota"),
        pytest.param(
            NAMESPACES.upserted,
            put(Namespace(name="default", quota="q", description="x")),
            False,
            id="a-namespace-that-keeps-its-quota",
        ),
        pytest.param(
            NAMESPACES.upserted,
            put(Namespace(name="default")),
            True,
            id="a-namespace-that-leaves-the-quota",
        ),
        pytest.param(
            NAMESPACES.upserted,
            put(Namespace(name="team", quota="q")),
            True,
            id="a-namespace-that-comes-to-it",
        ),
        pytest.param(
            WriteKind.PLAN_RESULT,
            put(HELD.changed(client_status=ClientStatus.LOST)),
            True,
            id="an-allocation-lost-by-a-plan",
        ),
        pytest.param(
            WriteKind.PLAN_RESULT,
            put(HELD.changed(client_status=ClientStatus.UNKNOWN)),
            False,
            id="one-out-of-sight",
        ),
        pytest.param(
            WriteKind.ALLOCATION_UPDATED,
            put(HELD.changed(client_status=ClientStatus.COMPLETE)),
            True,
            id="an-allocation-that-ended",
        ),
    ],
)
def test_an_evaluation_that_waits_for_a_quota_is_released(kind, work, *, is_released):
    assert released_by(kind, work) is is_released


def test_an_allocation_that_ends_frees_its_quota_although_its_node_is_gone():
    done = put(HELD.changed(client_status=ClientStatus.COMPLETE))
    assert released_by(WriteKind.ALLOCATION_UPDATED, done, node_is_gone=True)


def released_by(kind: str, work, *, node_is_gone: bool = False) -> bool:
    """Whether a write lets an evaluation go that waits for quota `q`."""
    store, tracker = MemoryStateStore(), BlockedEvals()
    tracker.set_enabled(enabled=True)
    start = put(quota(cpu=100, memory_mb=50), quota("other", cpu=1))
    store.write(QUOTAS.upserted, start, now=1)

    def fill(change: Change) -> None:
        put_found(change, NODE)
        change.put(NAMESPACES, Namespace(name="default", quota="q"))
        put_found(change, HELD)

    store.write(WriteKind.NODE_REGISTRATION, fill, now=1)
    hooks = CapacityHooks(tracker)
    hooks.restore(store)
    if node_is_gone:
        index, _ = store.write(
            WriteKind.NODE_DEREGISTRATION, lambda change: change.delete_node(NODE.id), now=1
        )
        hooks.observe(*store.frames_since(index - 1), 0.0)
    waiting = make_evaluation(
        status=EvalStatus.BLOCKED, quota_limit_reached="q", snapshot_index=store.index
    )
    tracker.block(waiting)
    index, _ = store.write(kind, work, now=2)
    (frame,) = store.frames_since(index - 1)
    released = hooks.observe(frame, 0.0)
    assert {item.evaluation.id for item in released} <= {waiting.id}
    return bool(released)
