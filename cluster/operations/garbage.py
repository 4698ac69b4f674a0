"""Ask the leader to collect at once whatever may go.

In: a store. Out: the index of the demand. The demand is a write of a kind that the leader's
collector knows; a frame needs a row, so the stored settings are put again as they are.
"""

from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS


def demand_collection(store: StateStore, *, by: Caller, now: int) -> int:
    """Have the leader collect with its next look, however young the rows are.

    A leader that loses its lease before it looked forgets the demand.
    """
    require_management(by)

    def work(change: Change) -> None:
        change.put(SCHEDULER_SETTINGS, change.scheduler_settings())

    index, _ = store.write(WriteKind.COLLECTION_DEMANDED, work, now=now, by=by)
    return index
