"""The pace of a worker."""

import pytest

from cluster.runtime.batch_size import BatchSize, looks_up


def test_batches_shrink_while_plans_are_refused_and_recover():
    size = BatchSize()
    for _ in range(16):
        size.grow()
    sizes = [size.limit]
    for was_refused in (True, True, *[False] * 100):
        size.note(was_refused=was_refused)
        sizes.append(size.limit)
    # One refusal in a hundred is what is put up with; two are forgotten after seventy plans.
    assert sizes[:3] == [16, 16, 4]
    assert (sizes.count(4), sizes[-1]) == (69, 16)


def test_batches_grow_by_what_went_well_since_the_worker_slept():
    size = BatchSize()
    sizes = [size.limit]
    for _ in range(3):
        size.note(was_refused=False)
        size.grow()
        sizes.append(size.limit)
    assert sizes == [1, 3, 5, 7]
    for _ in range(20):
        size.grow()
    assert size.limit == 16
    size.begin_anew()
    assert size.limit == 1


@pytest.mark.parametrize(
    ("run_s", "limit"),
    [
        pytest.param(0.001, 16, id="small-runs"),
        pytest.param(0.03, 8, id="three-hundred-allocations"),
        pytest.param(2.0, 1, id="a-run-that-takes-longer-than-a-batch"),
    ],
)
def test_batches_of_long_runs_are_short(run_s, limit):
    size = BatchSize()
    for _ in range(100):
        size.grow()
        size.took(run_s)
    assert size.limit == limit
    for _ in range(100):
        size.took(0.001)
    assert size.limit == 16


@pytest.mark.parametrize(
    ("size", "places"),
    [
        pytest.param(16, [4, 8, 12], id="a-full-batch"),
        pytest.param(4, [1, 2, 3], id="a-small-one"),
        pytest.param(5, [2, 4], id="between"),
        pytest.param(1, [], id="alone"),
    ],
)
def test_a_batch_looks_up_a_few_times_at_most(size, places):
    assert [place for place in range(size) if looks_up(place, size)] == places
