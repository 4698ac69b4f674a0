"""When a task runs again: the decision table of node-agent.md 6.3."""

import pytest

from cluster.agent.restarts import (
    Decision,
    Ending,
    RestartAction,
    RestartTracker,
    restarts_on_success,
)
from scheduler.structs.policies import RestartPolicy

SECOND = 1_000_000_000
T0 = 1_000 * SECOND
POLICY = RestartPolicy(attempts=2, interval=1800 * SECOND, delay=15 * SECOND, mode="fail")
DELAYING = RestartPolicy(attempts=1, interval=100 * SECOND, delay=15 * SECOND, mode="delay")
NONE = RestartPolicy(attempts=0, interval=100 * SECOND, delay=15 * SECOND, mode="fail")

OK = Ending()
FAILED = Ending(exit_code=1)
NO_START = Ending(start_error="no such image")
MAYBE_START = Ending(start_error="registry away", recoverable=True)
AGAIN = Decision(RestartAction.RESTART, "", 15 * SECOND)
NO_RESTARTS = Decision(RestartAction.GIVE_UP, "Policy allows no restarts")


@pytest.mark.parametrize(
    ("policy", "on_success", "endings", "last"),
    [
        pytest.param(
            POLICY, False, [OK], Decision(RestartAction.FINISH), id="batch-success-is-the-end"
        ),
        pytest.param(POLICY, True, [OK], AGAIN, id="a-service-that-ended-well-runs-again"),
        pytest.param(POLICY, False, [FAILED], AGAIN, id="failure-within-policy"),
        pytest.param(
            POLICY, False, [Ending(signal=9, exit_code=0)], AGAIN, id="a-signal-is-a-failure"
        ),
        pytest.param(
            POLICY,
            False,
            [FAILED, FAILED, OK],
            Decision(RestartAction.FINISH),
            id="success-at-last",
        ),
        pytest.param(
            POLICY,
            False,
            [FAILED, FAILED, FAILED],
            Decision(
                RestartAction.GIVE_UP,
                'Exceeded allowed attempts 2 in interval 30m0s and mode is "fail"',
            ),
            id="attempts-used-up",
        ),
        pytest.param(
            DELAYING,
            False,
            [FAILED, FAILED],
            Decision(
                RestartAction.RESTART,
                "Exceeded allowed attempts, applying a delay",
                100 * SECOND,
            ),
            id="delay-mode-waits-for-the-interval-to-end",
        ),
        pytest.param(
            NONE, False, [OK], Decision(RestartAction.FINISH), id="no-attempts-batch-success"
        ),
        pytest.param(NONE, True, [OK], NO_RESTARTS, id="no-attempts-service-success"),
        pytest.param(NONE, False, [FAILED], NO_RESTARTS, id="no-attempts-failure"),
        pytest.param(
            POLICY,
            True,
            [NO_START],
            Decision(RestartAction.GIVE_UP, "Error was unrecoverable"),
            id="unrecoverable-start-error",
        ),
        pytest.param(POLICY, True, [MAYBE_START], AGAIN, id="recoverable-start-error"),
    ],
)
def test_what_follows_from_an_end(policy, on_success, endings, last):
    tracker = RestartTracker(policy, on_success, interval_start=T0)
    decisions = [tracker.decide(ending, now=T0, chance=0.0) for ending in endings]
    assert decisions[-1] == last


def test_attempts_count_anew_after_the_interval():
    tracker = RestartTracker(DELAYING, on_success=False, interval_start=T0)
    assert tracker.decide(FAILED, now=T0, chance=0.0) == AGAIN
    later = T0 + 101 * SECOND
    assert tracker.decide(FAILED, now=later, chance=0.0) == AGAIN
    assert (tracker.count, tracker.interval_start) == (1, later)


def test_the_delay_is_lengthened_by_at_most_a_quarter():
    tracker = RestartTracker(POLICY, on_success=False, interval_start=T0)
    decision = tracker.decide(FAILED, now=T0, chance=0.999)
    assert AGAIN.delay < decision.delay < AGAIN.delay * 1.25


@pytest.mark.parametrize(
    ("job_type", "hook", "sidecar", "expected"),
    [
        pytest.param("service", "", False, True, id="service"),
        pytest.param("system", "", False, True, id="system"),
        pytest.param("batch", "", False, False, id="batch"),
        pytest.param("sysbatch", "", False, False, id="sysbatch"),
        pytest.param("batch", "prestart", True, True, id="sidecar-of-a-batch-job"),
        pytest.param("service", "prestart", False, False, id="prestart-of-a-service"),
        pytest.param("service", "poststop", True, False, id="poststop-never"),
    ],
)
def test_who_runs_again_after_success(job_type, hook, sidecar, expected):
    assert restarts_on_success(job_type, hook, sidecar=sidecar) is expected
