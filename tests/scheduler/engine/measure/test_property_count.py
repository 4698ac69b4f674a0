"""Counts of a property's values."""

import pytest

from scheduler.engine.measure.property_count import PropertyCount
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from tests.builders import make_allocation


def count_of(existing, proposed, cleared):
    count = PropertyCount(lambda alloc: alloc.node_id or None)
    for values, add in (
        (existing, count.add_existing),
        (proposed, lambda alloc: count.add_proposed(alloc, 1)),
        (cleared, lambda alloc: count.add_cleared(alloc, 1)),
    ):
        for value, number in values.items():
            for _ in range(number):
                add(make_allocation(node_id=value))
    return count


@pytest.mark.parametrize(
    ("existing", "proposed", "cleared", "expected"),
    [
        pytest.param({"r1": 1}, {"r2": 1}, {}, {"r1": 1, "r2": 1}, id="T34-existing-and-planned"),
        pytest.param({"r1": 1}, {}, {"r1": 1}, {"r1": 0}, id="T34-stopped-stays-with-zero"),
        pytest.param({}, {}, {"r1": 1}, {}, id="stop-of-what-never-counted"),
        pytest.param(
            {"r1": 1, "r2": 2}, {"r2": 1}, {"r1": 1, "r2": 2}, {"r1": 0, "r2": 2}, id="T36-W27"
        ),
        pytest.param({"r1": 1}, {"r1": 1}, {"r1": 1}, {"r1": 1}, id="T36-stop-and-replace"),
        pytest.param({"r1": 1}, {"r1": 1}, {"r1": 4}, {"r1": 0}, id="never-below-zero"),
    ],
)
def test_counts_are_combined(existing, proposed, cleared, expected):
    assert count_of(existing, proposed, cleared).combined() == expected


def test_terminal_allocations_count_only_as_stops():
    count = count_of({"r1": 1}, {}, {})
    for alloc in (
        make_allocation(node_id="r1", client_status=ClientStatus.FAILED),
        make_allocation(node_id="r1", desired_status=DesiredStatus.STOP),
    ):
        count.add_existing(alloc)
        count.add_proposed(alloc, 1)
    assert count.combined() == {"r1": 1}
    count.add_cleared(make_allocation(node_id="r1", client_status=ClientStatus.FAILED), 1)
    assert count.combined() == {"r1": 0}


def test_what_is_taken_back_leaves_no_trace():
    count = count_of({"r1": 1}, {}, {})
    alloc = make_allocation(node_id="r2")
    count.add_proposed(alloc, 1)
    count.add_proposed(alloc, -1)
    assert count.combined() == {"r1": 1}


def test_an_allocation_without_the_property_is_ignored():
    assert count_of({"": 2}, {"": 1}, {"": 1}).combined() == {}
