"""Recorded chains: from the same events this control plane makes the same evaluations.

Every scenario is played against leader, worker, applier and the project's own node agents, in one
process on virtual time: all of them on a record in memory, some of them (by CHAINS_ON_SQLITE=all
every one) on a record in SQLite.
"""

import json
import os

import numpy as np
import pytest

from tests.conformance.chain_outcome import Outcome, differences
from tests.conformance.chain_player import play
from tests.conformance.chain_stores import opened
from tests.vector_files import VECTORS

CHAINS = VECTORS / "chains"
FILES = sorted(CHAINS.glob("*.json"))

#: Everywhere: the numbers of refusals are the API's own (http-api.md), not the chain's.
NEVER_COMPARED = ("Replies/*/Status",)

#: The recorded server forgets the states of an allocation that a plan stops, this one keeps
#: them (ruling Q10), so the report that follows counts as a return and cancels the follow-up.
_HISTORY_KEPT = "ruling: a stop keeps the states of its allocation (evaluations.md Q10)"
#: The stopped allocation on the returned node is reported ended before that node is ready, so the
#: node's return is no news for its job. The recorded node is ready first.
_ENDED_FIRST = "agent: tells the end of an allocation before its node is ready, not after"
#: The recorded return takes longer than the ten seconds after which a migrated one is healthy.
_SOONER_OVER = "agent: returns sooner, so that the play ends before the verdict"
#: Outside a deployment an allocation is healthy after ten seconds (node-agent-2.md 14); the
#: recording went on for so long without a need, the play ends once nothing moves.
_STILL_BEFORE = "play: nothing moved any more before the ten seconds until the verdict"

#: Everything that is not as recorded, by scenario and path, with the reason.
DEVIATIONS = {
    "drain-force": {"Allocations/sys.run[0]@n2#1/Healthy": _STILL_BEFORE},
    "drain-ignore-system": {"Allocations/sys.run[0]@n2#1/Healthy": _STILL_BEFORE},
    "node-new-system": {
        "Allocations/all.run[0]@n2#1/Healthy": _STILL_BEFORE,
        "Allocations/all.run[0]@n3#1/Healthy": _STILL_BEFORE,
        "Allocations/sys.run[0]@n3#1/Healthy": _STILL_BEFORE,
    },
    "preempt-by-system": {"Allocations/sys.run[0]@n2#1/Healthy": _STILL_BEFORE},
    "disconnect-mixed-jobs": {
        "Allocations/keeps.web[0]#1/FollowupEvalID": _HISTORY_KEPT,
        "Evaluations/keeps/alloc-reschedule#1/Status": _HISTORY_KEPT,
        "Evaluations/keeps/alloc-reschedule#1/StatusDescription": _HISTORY_KEPT,
        "Allocations/plain.web[0]#2/Healthy": _SOONER_OVER,
        **dict.fromkeys(
            (
                "Counts/ByTrigger",
                "Counts/Evaluations",
                "Evaluations/keeps/node-update@n1#3/ID",
                "Evaluations/keeps/node-update@n1#3/JobID",
                "Evaluations/keeps/node-update@n1#3/NodeID",
                "Evaluations/keeps/node-update@n1#3/Priority",
                "Evaluations/keeps/node-update@n1#3/TriggeredBy",
                "Evaluations/keeps/node-update@n1#3/Type",
            ),
            _ENDED_FIRST,
        ),
    },
}

PLAYED = [path.stem for path in FILES]
#: Drawn once for all, so that a failure on the database can be played again.
ON_SQLITE = (
    PLAYED
    if os.environ.get("CHAINS_ON_SQLITE") == "all"
    else sorted(np.random.default_rng(4).permutation(PLAYED)[:15].tolist())
)


def load(name):
    return json.loads((CHAINS / f"{name}.json").read_text("utf-8"))


def found_in(scenario, record=None):
    """What differs from the recording after one play."""
    expected = dict(scenario["Expect"])
    ignored = [*scenario.get("Ignore", ()), *expected.pop("Varies"), *NEVER_COMPARED]
    return differences(expected, Outcome(play(scenario, record), ignored).form(), ignored)


def require_as_recorded(name, record=None):
    found = found_in(load(name), record)
    known = DEVIATIONS.get(name, {})
    lines = [
        f"{path}: recorded {want!r}, here {have!r}"
        for path, (want, have) in found.items()
        if path not in known
    ]
    lines += [f"{path}: as recorded, though listed" for path in known if path not in found]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def test_the_recorded_scenarios_are_all_there():
    assert len(FILES) == 77
    assert set(DEVIATIONS) <= set(PLAYED)


@pytest.mark.parametrize("name", PLAYED)
def test_a_recorded_scenario_ends_as_recorded(name):
    require_as_recorded(name)


@pytest.mark.parametrize("name", ON_SQLITE)
def test_a_record_in_a_database_makes_the_same_chain(name, sqlite_store, monkeypatch):
    # Everything runs in the one thread of the play, so nobody else is kept waiting.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with opened(sqlite_store) as record:
        require_as_recorded(name, record)
