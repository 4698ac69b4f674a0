"""How many plans the applier is handed at once."""

import pytest

from scheduler.broker.plan_desk import GROUP_SIZE, PlanDesk
from scheduler.structs.plan import Plan


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([0, 0, 0, 0, 0], 4, id="small-ones-up-to-the-limit"),
        pytest.param([GROUP_SIZE * 10, 1], 1, id="one-that-is-larger-than-a-group"),
        pytest.param([GROUP_SIZE - 1, 1, 1], 2, id="until-the-group-is-full"),
        pytest.param([1, GROUP_SIZE * 10, 1], 2, id="the-last-may-be-large"),
    ],
)
def test_a_group_is_bounded_by_the_allocations_its_plans_change(sizes, taken):
    desk = PlanDesk()
    for number, size in enumerate(sizes):
        desk.submit("w", Plan(id=str(number), eval_id=str(number)), size)
    found = [submission.plan.id for submission in desk.take(4, 7)]
    assert found == [str(number) for number in range(taken)]
    assert (desk.taken_count, desk.depth) == (taken, len(sizes) - taken)
