"""How long an agent waits before it calls again (node-agent.md 1.2)."""

import itertools

import pytest

from cluster.agent.retry import Retry


def retry(node_count=3, *, dev=False):
    rules = Retry(dev=dev)
    rules.node_count = node_count
    return rules


@pytest.mark.parametrize(
    ("node_count", "ttl", "shortest", "longest"),
    [
        pytest.param(3, 15.0, [1.0] * 4, [2.0] * 4, id="a-few-nodes"),
        pytest.param(3, 1.0, [1.0] * 4, [2.0] * 4, id="hardly-any-ttl"),
        pytest.param(500, 12.0, [1.0, 2.0, 4.0, 10.0], [2.0, 4.0, 8.0, 12.0], id="500-nodes"),
        pytest.param(5000, 150.0, [1.0, 2.0, 4.0, 100.0], [2.0, 4.0, 8.0, 150.0], id="5000-nodes"),
    ],
)
def test_after_failed_heartbeats_a_node_waits_for_its_turn(node_count, ttl, shortest, longest):
    rules = retry(node_count)
    failures = (1, 2, 3, 400)
    assert [rules.beat(count, ttl, 0.0) for count in failures] == shortest
    assert [rules.beat(count, ttl, 1.0) for count in failures] == longest


@pytest.mark.parametrize(
    ("rule", "first", "last"),
    [
        pytest.param(Retry.registration, 1.5, 22.5, id="registration"),
        pytest.param(Retry.fetch, 1.5, 45.0, id="pull"),
        pytest.param(Retry.report, 1.5, 7.5, id="report"),
    ],
)
def test_other_calls_are_tried_again_soon_and_then_patiently(rule, first, last):
    pauses = [rule(retry(), failures, 0.5) for failures in range(1, 9)]
    assert (pauses[0], pauses[-1]) == (first, last)
    assert all(before <= after for before, after in itertools.pairwise(pauses))


def test_what_did_not_fail_has_its_own_pauses():
    assert [retry().change(0.5), retry().missing(0.5)] == [7.5, 3.0]
    assert [retry(dev=True).change(0.5), retry(dev=True).missing(0.5)] == [1.0, 1.0]


def test_on_ones_own_machine_no_pause_is_longer_than_a_second():
    rules = retry(dev=True)
    assert [rules.registration(9, 1.0), rules.fetch(9, 1.0), rules.beat(9, 15.0, 1.0)] == [1.0] * 3


def test_a_large_fleet_is_patient_on_ones_own_machine_too():
    rules = retry(500, dev=True)
    assert [rules.fetch(9, 0.5), rules.beat(9, 16.0, 0.5)] == [15.0, 13.0]
