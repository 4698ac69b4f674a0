"""Recorded chains against real processes: `manage.py up`, and an agent for each node.

Every scenario on a server of its own, so part of the long tests. Time passes as it does here: what
may differ by it is listed, each with its reason.
"""

from fnmatch import fnmatchcase

import pytest

from tests.conformance import chain_processes
from tests.conformance.chain_outcome import Outcome, differences
from tests.conformance.test_chains import DEVIATIONS, NEVER_COMPARED, PLAYED, load

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]

_COUNTS = ("Counts/ByTrigger", "Counts/Evaluations")
#: The replacement ends at once, while the node that is back is still to report itself ready: room
#: for the evaluation that gave up over this very node, which gives up once more. The recorded
#: replacement takes longer to end than the node to be ready.
_ENDED_AT_ONCE = dict.fromkeys(
    (*_COUNTS, "Evaluations/web/max-plan-attempts#2/*"),
    "agent: a stopped task ends before the returned node is ready, not after",
)
#: How often a node's return is news depends on which of its reports comes first.
_RETURN = "agent: reports of the returned node come in another order"

#: Where time passes, scenario and pattern of the path to the reason; none of them need differ.
BY_TIME = {
    "deploy-pause-resume": dict.fromkeys(
        ("Marks/update", "Marks/resume", "Replies/*/EvalID"),
        "play: the first allocation is healthy before the pause arrives",
    ),
    "disconnect-replace-best-score": _ENDED_AT_ONCE,
    "disconnect-replace-keep-original": _ENDED_AT_ONCE,
    "disconnect-mixed-jobs": dict.fromkeys(
        (*_COUNTS, "Evaluations/keeps/*", "Evaluations/sys/reconnect#1/*"), _RETURN
    ),
    "seed-node-miss-retried": dict.fromkeys(
        ("Deployments/a/deployment#2/*", "Evaluations/a/node-update@n1#1/*", "Jobs/a/Status"),
        "play: a and b are decided together; which of them is refused on n2 first is chance",
    ),
    "reschedule-ineligible-node": {
        "Evaluations/web/alloc-failure#1/NextEval": (
            "play: five evaluations of one index, named by chance"
        )
    },
}


@pytest.mark.parametrize("name", PLAYED)
def test_a_recorded_scenario_ends_as_recorded_in_real_processes(
    name, monkeypatch, django_db_blocker
):
    # Everything is asked in the one thread of the play, so nobody else is kept waiting.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    scenario = load(name)
    expected = dict(scenario["Expect"])
    ignored = [*scenario.get("Ignore", ()), *expected.pop("Varies"), *NEVER_COMPARED]
    with django_db_blocker.unblock(), chain_processes.play(scenario) as (played, _):
        found = differences(expected, Outcome(played, ignored).form(), ignored)
    known, by_time = DEVIATIONS.get(name, {}), BY_TIME.get(name, {})
    lines = [
        f"{path}: recorded {want!r}, here {have!r}"
        for path, (want, have) in found.items()
        if path not in known and not any(fnmatchcase(path, pattern) for pattern in by_time)
    ]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)
