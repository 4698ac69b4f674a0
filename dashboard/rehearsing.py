"""Asking for a rehearsal at a page's door, as programs ask at theirs: same rights, same limits.

In: changes in the form that programs send, who asks. Out: the rehearsal in the record, or a
refusal that names every problem.
"""

from typing import Any

import msgspec
from django.conf import settings

from cluster.operations.rehearsals import ask_rehearsal
from cluster.rehearsal.cue import cue_rehearsals
from cluster.rehearsal.rights import require_rehearsal
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.stage import unknown_names
from cluster.store.access import StoreAccess
from scheduler.access.caller import Caller
from scheduler.ports import IDSource
from scheduler.structs.rehearsal import StoredRehearsal

#: A page of one that has not ended loads again after so many seconds.
LOOK_AGAIN_S = "2"
_HOUR_NS = 3600 * 1_000_000_000


def ask_to_rehearse(
    store: StoreAccess, changes: list[dict[str, Any]], *, by: Caller, now: int, ids: IDSource
) -> StoredRehearsal:
    """Ask for one; raises OperationRefused, and ScenarioProblems of these."""
    document = {"Changes": changes}
    scenario = read_scenario(document)
    require_rehearsal(by, scenario)
    found = store.read(lambda reader: unknown_names(reader, scenario))
    if found:
        raise ScenarioProblems(found)
    asked = ask_rehearsal(
        store,
        msgspec.json.encode(document).decode(),
        by=by,
        now=now,
        ids=ids,
        keep=settings.BIVOUAC_REHEARSALS,
        keep_for=round(settings.BIVOUAC_REHEARSAL_HOURS * _HOUR_NS),
    )
    cue_rehearsals()
    return asked
