"""How long an agent waits before it calls again (node-agent.md 2.2)."""

import pytest

from cluster.agent.retry import Retry


@pytest.mark.parametrize(
    ("left", "chance", "pause"),
    [
        pytest.param(-45.0, 0.5, 45.0, id="long-overdue-waits-as-long-again"),
        pytest.param(-30.0, 0.5, 1.5, id="overdue"),
        pytest.param(0.0, 0.0, 1.0, id="due-now"),
        pytest.param(0.5, 0.9, 1.9, id="hardly-any-time-left"),
        pytest.param(20.0, 0.5, 10.0, id="some-of-the-time-left"),
        pytest.param(200.0, 0.5, 27.5, id="never-more-than-half-a-minute"),
    ],
)
def test_after_a_failed_heartbeat(left, chance, pause):
    assert Retry(dev=False).beat(left, chance) == pause


def test_the_other_pauses_are_spread():
    retry = Retry(dev=False)
    pauses = [retry.registration(0.5), retry.fetch(0.5), retry.report(0.5), retry.missing(0.5)]
    assert pauses == [22.5, 45.0, 7.5, 3.0]


def test_on_ones_own_machine_every_pause_is_a_second():
    retry = Retry(dev=True)
    assert [retry.registration(0.5), retry.fetch(0.5), retry.beat(-100.0, 0.5)] == [1.0] * 3
