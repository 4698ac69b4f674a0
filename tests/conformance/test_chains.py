"""Recorded chains: from the same events this control plane makes the same evaluations.

Every scenario is played against leader, worker, applier and the project's own node agents, in one
process on virtual time; the recordings are read from beside the checkout.
"""

import json

import pytest

from tests.conformance.chain_calls import NotBuilt
from tests.conformance.chain_outcome import Outcome, differences
from tests.conformance.chain_player import play
from tests.conformance.test_capsules import VECTORS

CHAINS = VECTORS / "chains"
FILES = sorted(CHAINS.glob("*.json"))

#: Scenarios that ask for something this project does not offer yet.
NOT_YET = {
    "deploy-revert": "PUT /v1/job/web/revert",
    "job-dispatch": "PUT /v1/job/etl/dispatch",
    "job-periodic-force": "PUT /v1/job/cron/periodic/force",
    "job-scale": "PUT /v1/job/web/scale",
}

#: Everywhere: the numbers of refusals are the API's own (http-api.md), not the chain's.
NEVER_COMPARED = ("Replies/*/Status",)

#: A system allocation outside a deployment, placed just before the end of the play: this agent
#: has judged its health by then, the recorded one has not.
_JUDGED_SOONER = ("Allocations/sys*.run[0]@n?#?/Healthy",)

#: Details in which the agents differ, by scenario.
AGENT_DETAILS = {
    "blocked-system": _JUDGED_SOONER,
    "disconnect-mixed-jobs": _JUDGED_SOONER,
    "seed-flapping": _JUDGED_SOONER,
    "seed-flapping-together": _JUDGED_SOONER,
    "seed-large-flap": _JUDGED_SOONER,
    "seed-node-miss-plain": _JUDGED_SOONER,
}

#: What this project does otherwise on purpose or by its agents' timing, by scenario.
DEVIATIONS = {
    "drain-force": "all of a forced drain goes in one batch: one evaluation per job, not two",
    "disconnect-mixed-jobs": "the returned agent tells the end of its replaced allocation before"
    " its node is ready, not after",
}


def load(name):
    return json.loads((CHAINS / f"{name}.json").read_text("utf-8"))


def found_in(scenario):
    """What differs from the recording after one play."""
    expected = dict(scenario["Expect"])
    details = AGENT_DETAILS.get(scenario["Name"], ())
    ignored = [*scenario.get("Ignore", ()), *expected.pop("Varies"), *NEVER_COMPARED, *details]
    return differences(expected, Outcome(play(scenario), ignored).form(), ignored)


@pytest.mark.skipif(not FILES, reason="no recorded chains beside the checkout: 0 of 77 played")
def test_the_recorded_scenarios_are_all_there():
    assert set(NOT_YET) | set(AGENT_DETAILS) | set(DEVIATIONS) <= {path.stem for path in FILES}


@pytest.mark.parametrize(
    "name", [p.stem for p in FILES if p.stem not in NOT_YET and p.stem not in DEVIATIONS]
)
def test_a_recorded_scenario_ends_as_recorded(name):
    found = found_in(load(name))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize("name", sorted(NOT_YET) if FILES else [])
def test_a_scenario_that_is_not_applicable_yet_says_what_it_asks_for(name):
    with pytest.raises(NotBuilt, match=NOT_YET[name]):
        play(load(name))


@pytest.mark.parametrize("name", sorted(DEVIATIONS) if FILES else [])
def test_a_deviation_is_still_one(name):
    assert found_in(load(name))
