"""Asking for a rehearsal at a page's door, as programs ask at theirs: same rights, same limits.

In: changes in the form that programs send, who asks. Out: the rehearsal in the record, or a
refusal that names every problem.
"""

from typing import Any

from django.conf import settings

from cluster.rehearsal import asking
from cluster.store.access import StoreAccess
from scheduler.access.caller import Caller
from scheduler.ports import IDSource
from scheduler.structs.rehearsal import StoredRehearsal

#: A page of one that has not ended loads again after so many seconds.
LOOK_AGAIN_S = "2"


def ask_to_rehearse(
    store: StoreAccess, changes: list[dict[str, Any]], *, by: Caller, now: int, ids: IDSource
) -> StoredRehearsal:
    """Ask for one; raises OperationRefused, and ScenarioProblems of these."""
    return asking.ask_to_rehearse(
        store,
        {"Changes": changes},
        by=by,
        now=now,
        ids=ids,
        keep=settings.BIVOUAC_REHEARSALS,
        keep_hours=settings.BIVOUAC_REHEARSAL_HOURS,
    )
