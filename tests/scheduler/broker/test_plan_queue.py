from scheduler.broker.plan_queue import PlanQueue
from scheduler.structs.plan import Plan


def make_queue(*plans: Plan) -> PlanQueue:
    queue = PlanQueue()
    for plan in plans:
        queue.push(plan)
    return queue


def test_95_plans_go_by_priority_and_then_in_order() -> None:
    priorities = {"a": 10, "b": 30, "c": 20, "d": 30}
    queue = make_queue(*(Plan(id=name, priority=p) for name, p in priorities.items()))
    assert [plan.id for plan in queue.pop(3)] == ["b", "d", "c"]
    assert queue.depth == 1


def test_a_plan_waits_once_and_can_be_withdrawn() -> None:
    queue = make_queue(Plan(id="a"), Plan(id="a"), Plan(id="b"))
    assert queue.depth == 2
    assert queue.withdraw("a")
    assert not queue.withdraw("a")
    assert "a" not in queue
    assert [plan.id for plan in queue.flush()] == ["b"]
    assert queue.depth == 0
