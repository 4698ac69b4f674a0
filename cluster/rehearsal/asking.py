"""Asking for a rehearsal: what every door does with a scenario that came in JSON.

In: a document, who asks, how many are kept and how long. Out: the rehearsal in the record, or a
refusal that names every problem; then the process's own desk is told.
"""

from typing import Any

import msgspec

from cluster.operations.rehearsals import ask_rehearsal
from cluster.rehearsal.cue import cue_rehearsals
from cluster.rehearsal.rights import require_rehearsal
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.scenario_problems import unknown_names
from scheduler.access.caller import Caller
from scheduler.ports import IDSource, StateStore
from scheduler.structs.rehearsal import StoredRehearsal

_HOUR_NS = 3600 * 1_000_000_000


def ask_to_rehearse(  # noqa: PLR0913 - what is kept, and for how long
    store: StateStore,
    document: dict[str, Any],
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    keep: int,
    keep_hours: float,
) -> StoredRehearsal:
    """Ask for one; raises OperationRefused, and ScenarioProblems of the document."""
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
        keep=keep,
        keep_for=round(keep_hours * _HOUR_NS),
    )
    cue_rehearsals()
    return asked
