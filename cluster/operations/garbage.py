"""Collection: an operator's demand for it, and the deletions that a core run asks for.

In: a store. Out: the index of the demand, or what was deleted. What may go is decided by
`scheduler.collection`, once by the run and once more inside the write.
"""

from django.conf import settings

from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.collection.reaps import is_too_large, write_demanded, write_reaped
from scheduler.errors import RequestRefused
from scheduler.messages import Reap, Reaped
from scheduler.ports import Fence, IDSource, StateStore
from scheduler.state.events import WriteKind
from scheduler.structs.collection import CollectionSettings, CoreJob


def demand_collection(store: StateStore, *, by: Caller, now: int) -> int:
    """Have a worker collect as soon as can be, however young the rows are.

    The demand is kept until a run has met it, whoever leads by then.
    """
    require_management(by)
    index, _ = store.write(
        WriteKind.COLLECTION_DEMANDED,
        lambda change: write_demanded(change, CoreJob.FORCED),
        now=now,
        by=by,
    )
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


def collection_settings() -> CollectionSettings:
    """How often, and how old, as this process was told."""
    return CollectionSettings(
        evaluation_interval=settings.BIVOUAC_EVAL_GC_INTERVAL,
        evaluation_age=settings.BIVOUAC_EVAL_GC_THRESHOLD,
        batch_evaluation_age=settings.BIVOUAC_BATCH_EVAL_GC_THRESHOLD,
        job_interval=settings.BIVOUAC_JOB_GC_INTERVAL,
        job_age=settings.BIVOUAC_JOB_GC_THRESHOLD,
        node_interval=settings.BIVOUAC_NODE_GC_INTERVAL,
        node_age=settings.BIVOUAC_NODE_GC_THRESHOLD,
        deployment_interval=settings.BIVOUAC_DEPLOYMENT_GC_INTERVAL,
        deployment_age=settings.BIVOUAC_DEPLOYMENT_GC_THRESHOLD,
        token_interval=settings.BIVOUAC_ACL_TOKEN_GC_INTERVAL,
        token_age=settings.BIVOUAC_ACL_TOKEN_GC_THRESHOLD,
    )
