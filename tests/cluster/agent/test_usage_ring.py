"""The past hour of a task: rows on a grid, a size that does not grow, sums of many."""

import sys

import pytest

from cluster.agent.usage_ring import UsageRing, UsageRow
from cluster.operations.usage_rows import ROWS, Sums, Used, added_up, as_one, used_since

MIB = 1 << 20


def filled(count, start=1_000_000):
    ring = UsageRing()
    for number in range(count):
        ring.add(start + 10 * number, UsageRow(cpu_ticks=number, memory_bytes=number * MIB))
    return ring


def test_rows_come_back_as_they_were_noted():
    ring = UsageRing()
    ring.add(1_000_003, UsageRow(cpu_ticks=12.54, memory_bytes=5 * MIB, throttled_percent=0.5))
    ring.add(1_000_013, UsageRow(memory_bytes=6 * MIB))
    told = ring.columns
    assert told.at == (1_000_000, 1_000_010)
    assert told.cpu_ticks == (12.5, None)
    assert told.memory_bytes == (5 * MIB, 6 * MIB)
    assert told.throttled_percent == (0.5, None)


def test_an_hour_is_kept_and_no_more():
    told = filled(ROWS + 7).columns
    assert len(told.at) == ROWS
    assert told.cpu_ticks[0] == 7


def test_what_lies_an_hour_back_goes_after_a_pause():
    ring = filled(3)
    ring.add(1_000_000 + 10 * (ROWS + 1), UsageRow(memory_bytes=MIB))
    assert ring.columns.at == (1_000_020, 1_000_000 + 10 * (ROWS + 1))


def test_a_clock_that_is_set_back_leaves_no_future_behind():
    ring = filled(5)
    ring.add(1_000_021, UsageRow(cpu_ticks=99.0))
    assert ring.columns.at == (1_000_000, 1_000_010, 1_000_020)
    assert ring.columns.cpu_ticks[-1] == 99.0


def test_a_full_ring_takes_at_most_eight_kilobytes():
    ring = filled(3 * ROWS)
    assert sum(sys.getsizeof(getattr(ring, name)) for name in ring.__slots__) < 8192


def test_tasks_of_one_allocation_count_as_one():
    sums = as_one([filled(2).columns, filled(3).columns])
    assert sums.cpu_ticks == (0.0, 2.0, 2.0)
    assert sums.memory_bytes == (0, 2 * MIB, 2 * MIB)
    assert sums.counted == (1, 1, 1)


def test_sums_say_of_how_many_they_are():
    every = [as_one([filled(2).columns]), as_one([filled(3).columns])]
    assert added_up(every).counted == (2, 2, 1)
    assert added_up([]) == Sums()


def test_what_is_not_known_adds_nothing_and_is_not_nothing():
    unknown = Sums(at=(10, 20), cpu_ticks=(None, None), memory_bytes=(1, 1), counted=(1, 1))
    known = Sums(at=(20,), cpu_ticks=(5.0,), memory_bytes=(1,), counted=(1,))
    assert added_up([unknown, known]).cpu_ticks == (None, 5.0)


ROWS_OF_ONE = Sums(
    at=(10, 20, 30), cpu_ticks=(90.0, None, 20.0), memory_bytes=(9, 7, 5), counted=(1, 1, 1)
)


@pytest.mark.parametrize(
    ("since", "used"),
    [
        pytest.param(0, Used(cpu_ticks=55.0, memory_bytes=9), id="all"),
        pytest.param(10, Used(cpu_ticks=20.0, memory_bytes=7), id="later-ones"),
        pytest.param(30, None, id="none"),
    ],
)
def test_what_one_used_lately_is_a_mean_of_what_is_known_and_the_most_memory(since, used):
    assert used_since(ROWS_OF_ONE, since) == used


def test_a_share_that_is_not_known_is_not_nothing():
    rows = Sums(at=(10,), cpu_ticks=(None,), memory_bytes=(3,), counted=(1,))
    assert used_since(rows, 0) == Used(cpu_ticks=None, memory_bytes=3)
