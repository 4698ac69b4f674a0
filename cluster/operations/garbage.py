"""Ask the leader to collect at once whatever may go.

In: a store. Out: the index of the demand. The demand is a write of a kind that the leader's
collector knows; a frame needs a row, so the stored settings are put again as they are.
"""

from scheduler.ports import Change, StateStore
from scheduler.state.events import WriteKind


def demand_collection(store: StateStore, *, now: int) -> int:
    """Have the leader collect with its next look, however young the rows are.

    A leader that loses its lease before it looked forgets the demand.
    """

    def work(change: Change) -> None:
        change.put_scheduler_settings(change.scheduler_settings())

    index, _ = store.write(WriteKind.COLLECTION_DEMANDED, work, now=now)
    return index
