"""Rounds of collection as a worker runs them, performed reap by reap on any store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.writer import DjangoStateStore
from scheduler.collection.reaps import write_ended, write_reaped
from scheduler.messages import Delivery, Reap, Reaped
from scheduler.ports import Change, MirroredSnapshot, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import Allocation
from scheduler.structs.collection import (
    CORE_TYPE,
    FORCED_ORDER,
    CollectionSettings,
    CoreJob,
    core_job_of,
)
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.wire import Wire
from scheduler.worker import Batch, WorkerTools
from tests.builders import SECOND, SOME_MOMENT, CountingIDs
from tests.simulation.world import Patterns

HOUR = 3600 * SECOND
NOW = SOME_MOMENT + 100 * HOUR
DEFAULTS = CollectionSettings()


def make_store(*rows: Wire) -> MemoryStateStore:
    """A store that holds these rows."""
    store = MemoryStateStore()

    def work(change: Change) -> None:
        for row in rows:
            match row:
                case Job():
                    change.put_job(row)
                case Node() | Allocation() | Deployment() | Evaluation():
                    put_found(change, row)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
    return store


def core_evaluation(job_id: str, **fields: object) -> Evaluation:
    """What the leader puts into the broker."""
    evaluation = Evaluation(
        id=f"core-{job_id}", namespace="-", priority=32767, type=CORE_TYPE, job_id=job_id
    )
    return evaluation.changed(**({"create_time": NOW} | fields))


@contextmanager
def snapshots(store: StateStore) -> Iterator[Callable[[int], MirroredSnapshot]]:
    """What a worker looks at, for one of its batches."""
    if isinstance(store, MemoryStateStore):
        yield lambda _index: store.snapshot()
        return
    assert isinstance(store, DjangoStateStore)
    cache = SnapshotCache(store.alias)
    try:
        with cache.batch():
            yield cache.snapshot_at
    finally:
        cache.close()


def deliver(
    snapshot: Callable[[int], MirroredSnapshot], job_id: str, settings: CollectionSettings
) -> Batch:
    """A worker that was handed one core evaluation."""
    tools = WorkerTools(
        snapshot=snapshot, ids=CountingIDs(), matcher=Patterns(), collection=settings
    )
    delivery = Delivery(evaluation=core_evaluation(job_id), token="t", wait_index=0)
    return Batch(tools, [delivery])


def begin(store: MemoryStateStore, job_id: str) -> Batch:
    """The same on a store in memory."""
    return deliver(lambda _index: store.snapshot(), job_id, CollectionSettings())


def perform(store: StateStore, reap: Reap, *, now: int = NOW) -> Reaped:
    """One write."""
    _, reaped = store.write(
        WriteKind.COLLECTED, lambda change: write_reaped(change, reap, CountingIDs()), now=now
    )
    return reaped


def run_core(
    store: StateStore,
    job_id: str,
    *,
    now: int = NOW,
    settings: CollectionSettings = DEFAULTS,
) -> list[Reap]:
    """One core job to its very end, as often as it goes on; what it asked to be deleted."""
    reaps = []
    at = job_id
    while at:
        with snapshots(store) as snapshot:
            batch = deliver(snapshot, at, settings)
            turn = batch.begin_all(now=now)
            while turn.reaps:
                [request] = turn.reaps
                reaps.append(request.reap)
                turn = batch.reaped(request.eval_id, perform(store, request.reap, now=now))
        [finish] = turn.finishes
        assert finish.ack, finish.error
        at = finish.goes_on
    core_job = core_job_of(job_id)
    store.write(WriteKind.COLLECTED, lambda change: write_ended(change, core_job, NOW), now=now)
    return reaps


def run_all(store: StateStore, *, force: bool = False) -> list[Reap]:
    """Every core job by its thresholds, or one forced run."""
    job_ids = [CoreJob.FORCED] if force else FORCED_ORDER
    return [reap for job_id in job_ids for reap in run_core(store, job_id)]
