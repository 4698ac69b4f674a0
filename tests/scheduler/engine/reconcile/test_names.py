"""The name index: rows F13 to F16 of the reconciler's scenarios."""

import pytest

from scheduler.engine.reconcile.alloc_set import AllocSet, index_in_name
from scheduler.engine.reconcile.names import AllocNameIndex
from tests.scheduler.engine.reconcile.scene import alloc, allocs, job


def index_of(count: int, *held: int) -> AllocNameIndex:
    current = job(count)
    existing = [alloc(current, number, tag=f"-{at}") for at, number in enumerate(held)]
    return AllocNameIndex("web", "web", count, existing)


def names(*numbers: int) -> tuple[str, ...]:
    return tuple(f"web.web[{number}]" for number in numbers)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(1, names(2), id="F13-one"),
        pytest.param(3, names(0, 1, 2), id="F13-all"),
        pytest.param(13, names(0, 1, 2), id="F13-more-than-there-are"),
    ],
)
def test_the_highest_names_are_released(wanted, expected):
    index = index_of(3, 0, 1, 2)
    assert index.highest(wanted) == set(expected)
    assert index.next(3)[: len(expected)] == expected


@pytest.mark.parametrize("held", [(), (0, 1, 2)])
def test_f14_names_start_again_at_zero_when_they_run_out(held):
    assert index_of(3, *held).next(3) == names(0, 1, 2)


def test_f15_a_name_held_twice_stays_used_when_released_once():
    index = index_of(4, 0, 1, 2, 0)
    assert index.is_duplicate(0)
    index.release(0)
    assert not index.is_duplicate(0)
    assert index.next(1) == names(3)


def test_a_name_held_three_times_stays_a_duplicate_for_ever():
    index = index_of(4, 0, 0, 0)
    index.release(0)
    index.release(0)
    assert index.is_duplicate(0)


def test_f16_canaries_take_the_names_of_what_will_be_replaced():
    current = job(3)
    replaced = AllocSet(allocs(current, 0, 1, 2))
    assert index_of(3, 0, 1, 2).next_canaries(1, AllocSet(), replaced) == names(0)


def test_canaries_avoid_names_of_other_canaries_and_then_go_above_the_count():
    current = job(3)
    replaced = AllocSet(allocs(current, 0, 1))
    canaries = AllocSet([alloc(current, 0, tag="-canary")])
    found = index_of(3, 0, 1).next_canaries(4, canaries, replaced)
    assert found == names(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web.web[7]", 7),
        ("web.web[12]", 12),
        ("web.web", 0),
        ("web.web[x]", 0),
        ("", 0),
    ],
)
def test_the_index_is_read_from_the_name(name, expected):
    assert index_in_name(name, "web", "web") == expected
