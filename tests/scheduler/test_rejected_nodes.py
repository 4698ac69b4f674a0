"""Nodes that refuse plan after plan; numbers are rows of evaluations.md 17."""

import pytest

from scheduler.rejected_nodes import RejectedNodes, RejectionSettings
from scheduler.structs.scheduler_settings import NodeRejection


def make_tracker(**settings: float) -> RejectedNodes:
    return RejectedNodes(RejectionSettings(**({"enabled": True} | settings)))


def test_111_many_rejections_in_a_window_are_bad_and_few_or_old_ones_are_not() -> None:
    tracker = make_tracker(threshold=4, window=60)
    assert [tracker.add("n", 0) for _ in range(6)] == [False, False, False, True, True, True]
    assert not tracker.add("m", 0)
    assert not tracker.add("n", 120)


def test_112_the_score_counts_what_is_in_the_window() -> None:
    tracker = make_tracker(window=60)
    for _ in range(3):
        tracker.add("n", 0)
    assert tracker.score("n", 0) == 3
    tracker.add("n", 30)
    assert [tracker.score("n", at) for at in (30, 60, 61, 120)] == [4, 4, 1, 0]
    assert tracker.score("unknown", 0) == 0


def test_113_only_the_last_nodes_are_remembered() -> None:
    tracker = make_tracker(capacity=3)
    names = [f"n{number}" for number in range(10)]
    for name in names:
        tracker.add(name, 0)
    assert [name for name in names if tracker.score(name, 0)] == ["n7", "n8", "n9"]


def test_114_bad_nodes_are_closed_at_a_limited_rate() -> None:
    tracker = make_tracker(threshold=1, burst=3, refill=1)
    asked = [tracker.add("n", 0) for _ in range(4)]
    assert [*asked, tracker.add("n", 1), tracker.add("n", 1)] == [
        True, True, True, False, True, False,
    ]  # fmt: skip


def test_off_by_default_and_a_window_is_needed() -> None:
    assert not any(RejectedNodes().add("n", 0) for _ in range(200))
    with pytest.raises(ValueError, match="window"):
        make_tracker(window=0)


def test_what_the_record_says_counts_at_once_and_what_was_counted_before_stays() -> None:
    tracker = make_tracker(threshold=4, window=60)
    assert not any(tracker.add("n", 0) for _ in range(2))
    tracker.follow(NodeRejection(refusals=3, window=60 * 10**9))
    assert tracker.add("n", 1)
    tracker.follow(NodeRejection(enabled=False))
    assert not tracker.add("n", 2)
    tracker.follow(None)
    assert tracker.add("n", 3)
    tracker.follow(NodeRejection(refusals=2, window=10**9))
    assert not tracker.add("n", 40)
    assert tracker.add("n", 41)
