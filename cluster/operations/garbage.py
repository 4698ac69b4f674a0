"""Collection: when it happens, an operator's demand for it, and what a core run has deleted.

In: a store. Out: the index of the demand or of the change, or what was deleted. What may go is
decided by `scheduler.collection`, once by the run and once more inside the write.
"""

from django.conf import settings
from msgspec.structs import replace

from cluster.operations.errors import Conflict, OperationRefused
from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.collection.reaps import is_too_large, write_demanded, write_reaped
from scheduler.errors import RequestRefused
from scheduler.messages import Reap, Reaped
from scheduler.ports import Change, Fence, IDSource, StateStore
from scheduler.state.collection_noun import COLLECTION_OVERRIDES
from scheduler.state.events import WriteKind
from scheduler.state.writes.stories import cluster_story
from scheduler.structs.collection import (
    CollectionOverrides,
    CollectionSettings,
    CoreJob,
    bounds_of,
)
from scheduler.structs.story import StoryKind

#: Which setting of the environment says what, by field of `CollectionSettings`.
VARIABLES = {
    "evaluation_interval": "BIVOUAC_EVAL_GC_INTERVAL",
    "evaluation_age": "BIVOUAC_EVAL_GC_THRESHOLD",
    "batch_evaluation_age": "BIVOUAC_BATCH_EVAL_GC_THRESHOLD",
    "job_interval": "BIVOUAC_JOB_GC_INTERVAL",
    "job_age": "BIVOUAC_JOB_GC_THRESHOLD",
    "deployment_interval": "BIVOUAC_DEPLOYMENT_GC_INTERVAL",
    "deployment_age": "BIVOUAC_DEPLOYMENT_GC_THRESHOLD",
    "node_interval": "BIVOUAC_NODE_GC_INTERVAL",
    "node_age": "BIVOUAC_NODE_GC_THRESHOLD",
    "token_interval": "BIVOUAC_ACL_TOKEN_GC_INTERVAL",
    "token_age": "BIVOUAC_ACL_TOKEN_GC_THRESHOLD",
}


def demand_collection(store: StateStore, *, by: Caller, now: int) -> int:
    """Have a worker collect as soon as can be, however young the rows are.

    The demand is kept until a run has met it, whoever leads by then.
    """
    require_management(by)

    def work(change: Change) -> None:
        write_demanded(change, CoreJob.FORCED)
        cluster_story(change, StoryKind.COLLECTION, "what is over was to be collected")

    index, _ = store.write(WriteKind.COLLECTION_DEMANDED, work, now=now, by=by)
    return index


def reap(
    store: StateStore,
    wanted: Reap,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> Reaped:
    """Delete in one write what a core run names and nobody needs; a demand of the cluster's own.

    Raises RequestRefused for more than one write may delete, and Fenced.
    """
    require_management(by)
    if is_too_large(wanted):
        raise RequestRefused("too much to be deleted in one write")
    _, reaped = store.write(
        WriteKind.COLLECTED,
        lambda change: write_reaped(change, wanted, ids),
        now=now,
        by=by,
        fence=fence,
    )
    return reaped


def set_collection_overrides(
    store: StateStore,
    overrides: CollectionOverrides,
    *,
    by: Caller,
    expected_index: int | None = None,
    now: int,
) -> int:
    """Store what stands in place of the environment's settings, whole; the leader follows it.

    With `expected_index` only if that is still the stored ModifyIndex. What changes nothing writes
    nothing. Raises OperationRefused, which names every field out of bounds, and Conflict.
    """
    require_management(by)
    if wrong := overrides.out_of_bounds:
        raise OperationRefused("; ".join(_bounds_told(field) for field in wrong))

    def work(change: Change) -> None:
        stored = change.collection_overrides()
        if expected_index is not None and stored.modify_index != expected_index:
            raise Conflict("the settings of collection were changed meanwhile")
        if stored.values != overrides.values:
            created = stored.create_index or change.index
            change.put(
                COLLECTION_OVERRIDES,
                replace(overrides, create_index=created, modify_index=change.index),
            )

    index, _ = store.write(WriteKind.COLLECTION_OVERRIDDEN, work, now=now, by=by)
    return index


def _bounds_told(field: str) -> str:
    least, most = bounds_of(field)
    return f"{field} must be from {least:g} to {most:.0f} seconds"


def collection_settings() -> CollectionSettings:
    """How often, and how old, as this process was told."""
    return CollectionSettings(
        **{field: getattr(settings, variable) for field, variable in VARIABLES.items()}
    )
