"""How badly jobs are off, from how their evaluations stand."""

import pytest

from dashboard.graphs.chain_places import ChainMember
from dashboard.stories.lanes import degree_of, harm_lanes


def member(number, state, job="web", **fields):
    return ChainMember(id=f"{number:08}", job=job, state=state, created_at=number, **fields)


@pytest.mark.parametrize(
    ("states", "degree"),
    [
        (["complete", "blocked", "complete"], "blocked"),
        (["complete", "scheduling"], "moving"),
        (["failed", "complete"], "done"),
        (["complete", "failed"], "failed"),
        (["complete", "canceled"], "over"),
        (["canceled", "complete"], "done"),
    ],
)
def test_what_waits_counts_before_what_moves_before_how_the_last_ended(states, degree):
    assert degree_of([member(place, state) for place, state in enumerate(states)]) == degree


def test_jobs_stand_worst_off_first_and_add_up():
    members = [
        member(1, "complete", "a", work={"placed": 2}),
        member(2, "blocked", "b"),
        member(3, "complete", "c", work={"placed": 1}),
        member(4, "canceled", "d"),
    ]
    told = harm_lanes("loss", members)
    assert [(row.title, row.jobs, row.evaluations) for row in told.rows] == [
        ("Wait for room", 1, 1), ("Taken over", 1, 1), ("Settled", 2, 2),
    ]  # fmt: skip
    assert told.rows[-1].told == "3 placed."
    assert [lane.tone for lane in told.lanes] == ["blocked", "", ""]
