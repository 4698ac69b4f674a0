"""Plans that wait for the applier: the most urgent first, then the one that came first."""

import heapq
from itertools import count

from scheduler.structs.plan import Plan


class PlanQueue:
    """A priority queue of plans (evaluations.md 8)."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._plans: dict[str, Plan] = {}
        self._order = count()

    @property
    def depth(self) -> int:
        """How many wait."""
        return len(self._plans)

    def __contains__(self, plan_id: object) -> bool:
        return plan_id in self._plans

    def push(self, plan: Plan) -> None:
        """Let a plan wait; one that waits already is ignored."""
        if plan.id in self._plans:
            return
        self._plans[plan.id] = plan
        heapq.heappush(self._heap, (-plan.priority, next(self._order), plan.id))

    def pop(self, limit: int) -> tuple[Plan, ...]:
        """Remove and return the first `limit` plans."""
        popped: list[Plan] = []
        while self._heap and len(popped) < limit:
            plan = self._plans.pop(heapq.heappop(self._heap)[-1], None)
            if plan is not None:
                popped.append(plan)
        return tuple(popped)

    def withdraw(self, plan_id: str) -> bool:
        """Remove one plan; whether it was waiting."""
        return self._plans.pop(plan_id, None) is not None

    def flush(self) -> tuple[Plan, ...]:
        """Remove and return all."""
        return self.pop(len(self._heap))
