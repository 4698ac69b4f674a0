"""When nobody listened, by the counts that were looked at and when."""

import pytest

from scheduler.watchers.listeners import Listeners

#: One look: when, what was written down, whether a node had beaten.
Look = tuple[float, dict[str, int]]


def ends_of_silence(*looks: Look) -> list[float]:
    """The looks that found a silence ended."""
    listeners = Listeners()
    return [at for at, signs in looks if listeners.hear(signs, monotonic=at)]


@pytest.mark.parametrize(
    ("looks", "ends"),
    [
        pytest.param([(0.0, {"a": 7}), (1.0, {"a": 8}), (2.0, {"a": 9})], [], id="each-second"),
        pytest.param([(0.0, {"a": 7}), (4.0, {"a": 8})], [], id="a-late-sign"),
        pytest.param([(0.0, {"a": 7}), (4.1, {"a": 8})], [4.1], id="a-silence"),
        pytest.param([(0.0, {"a": 7}), (60.0, {"a": 66})], [], id="the-leader-slept"),
        pytest.param([(0.0, {"a": 7}), (60.0, {"a": 12})], [60.0], id="both-slept"),
        pytest.param(
            [(0.0, {"a": 7}), *((600.0 + at, {"a": 7, "b": at}) for at in range(1, 6))],
            [603.0],
            id="a-new-process",
        ),
        pytest.param(
            [(0.0, {"a": 7}), *((float(at), {f"{at // 2}": at % 2 + 1}) for at in range(2, 20))],
            [],
            id="one-that-dies-again-and-again",
        ),
        pytest.param(
            [(0.0, {"a": 1, "b": 1}), *((float(at), {"a": 1, "b": at}) for at in range(2, 9))],
            [],
            id="one-of-two-stays",
        ),
        pytest.param([(0.0, {}), (600.0, {"a": 1})], [], id="none-was-known"),
        pytest.param(
            [(0.0, {"a": 7}), (600.0, {"a": 7, "b": 9000})],
            [600.0],
            id="one-whose-row-was-forgotten",
        ),
        pytest.param([(0.0, {"a": 7}), (600.0, {}), (601.0, {"b": 3})], [601.0], id="forgotten"),
    ],
)
def test_when_a_silence_has_ended(looks: list[Look], ends: list[float]) -> None:
    assert ends_of_silence(*looks) == ends


def test_a_silence_lasts_until_somebody_gives_a_sign() -> None:
    listeners = Listeners()
    assert not listeners.are_silent(100.0)
    listeners.hear({"a": 7}, monotonic=100.0)
    listeners.hear({"a": 7}, monotonic=103.5)
    assert [listeners.are_silent(at) for at in (103.0, 103.5)] == [False, True]
    listeners.hear({"a": 8}, monotonic=104.0)
    assert not listeners.are_silent(104.0)


def test_a_process_that_dies_again_and_again_does_not_end_a_silence() -> None:
    listeners = Listeners()
    listeners.hear({"a": 7}, monotonic=0.0)
    for at in range(1, 10):
        listeners.hear({f"b{at // 2}": at % 2 + 1}, monotonic=float(at))
    assert listeners.are_silent(9.0)


def test_a_beat_is_a_sign_too() -> None:
    listeners = Listeners()
    listeners.hear({"a": 7}, monotonic=0.0)
    assert listeners.hear({"a": 7}, has_beats=True, monotonic=9.0)
    assert not listeners.are_silent(12.0)


def test_a_new_leader_misses_nobody_before_it_began() -> None:
    listeners = Listeners()
    listeners.hear({"a": 7}, monotonic=0.0)
    listeners.restore(50.0)
    assert [listeners.are_silent(at) for at in (53.0, 53.5)] == [False, True]
