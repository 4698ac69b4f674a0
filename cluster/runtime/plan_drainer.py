"""Drains plans in the applier process: take a group from the leader, judge and commit it, report.

Only the holder of the lease `applier` writes, and only plans handed out by the present leader. A
group that was committed but not reported is found again by whoever reads the record.
"""

import functools
import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings

from cluster.operations.finishes import explained_bounds
from cluster.runtime.calm_collector import calm_collector
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.ending import is_ending
from cluster.runtime.leader_channel import (
    LeaderChannel,
    LeaderRefused,
    LeaderUnreachable,
)
from cluster.runtime.leader_protocol import (
    NEXT_PLANS,
    PLANS_DONE,
    NextPlansBody,
    PlansDoneBody,
)
from cluster.runtime.process_name import is_known_dead, process_name
from cluster.store.access import mirrored_store
from cluster.store.leases import HeldLease, LeaseKeeper, epoch_of
from scheduler.errors import Fenced
from scheduler.messages import PlanOutcome, QueuedPlan
from scheduler.plan_applier import GROUP_LIMIT, PlanApplier
from scheduler.ports import Change, Fence, StateStore
from scheduler.rejected_nodes import RejectedNodes, RejectionSettings

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: As those of `drainer`; a question must not wait longer than `LeaderSettings.wake_again_after`.
ASK_S = 0.9
LINGER_S = 60.0
DRAIN_S = 300.0
#: Between two looks of one that waits for the lease.
STANDBY_S = 0.1
RENEW_S = 1.0
#: Of all nodes, closed for refusing plans or by hand: more are not closed for refusing.
LARGEST_SHARE = 0.1


def rejection_settings() -> RejectionSettings:
    """When a node that plans are refused for is closed, as the operator set it."""
    return RejectionSettings(
        enabled=settings.BIVOUAC_PLAN_REJECTION_TRACKER,
        threshold=settings.BIVOUAC_PLAN_REJECTION_THRESHOLD,
        window=settings.BIVOUAC_PLAN_REJECTION_WINDOW,
        largest_share=LARGEST_SHARE,
    )


class PlanDrainer:
    """The one judge, as a process."""

    def __init__(self) -> None:
        calm_collector()
        self.process = process_name("applier")
        self.channel = LeaderChannel(settings.BIVOUAC_REDIS_URL, self.process)
        self.store = mirrored_store()
        self._clock = SystemClock()
        self.applier = PlanApplier(
            RandomIDs(), RejectedNodes(rejection_settings()), explained_bounds(), self._clock
        )
        self.keeper = LeaseKeeper("applier", self.process, is_dead=is_known_dead)
        self._stepped_at = float("-inf")

    def drain(self) -> None:
        """Judge plans until none comes for `LINGER_S`, `DRAIN_S` have passed, or it has to end."""
        now = self._clock.monotonic()
        end, idle_until = now + DRAIN_S, now + LINGER_S
        try:
            while now < min(end, idle_until) and not is_ending():
                now = self._clock.monotonic()
                lease = self._hold()
                if lease is None:
                    # Another applier holds it, or held it when it died: see whether it moves.
                    time.sleep(STANDBY_S)
                    continue
                queued = self._next_plans()
                if queued:
                    idle_until = now + LINGER_S
                    self._judge(queued, lease)
            while self.channel.has_pending:
                self.channel.collect(ASK_S)
        except Fenced:
            # The next step of the keeper finds out who holds the lease; plans of a leader that is
            # not one any more come again from the next.
            log.warning("action=drain_plans another applier, or another leader, took over")
            self._stepped_at = float("-inf")
        except (LeaderUnreachable, LeaderRefused) as error:
            log.warning("action=drain_plans %s", error)
            self.channel.forget()

    def _hold(self) -> HeldLease | None:
        monotonic = self._clock.monotonic()
        if monotonic - self._stepped_at >= RENEW_S:
            self._stepped_at = monotonic
            self.keeper.step(monotonic)
        return self.keeper.held

    def _next_plans(self) -> tuple[QueuedPlan, ...]:
        body = NextPlansBody(self.process, GROUP_LIMIT, ASK_S)
        return self.channel.call(NEXT_PLANS, body)

    def _judge(self, queued: tuple[QueuedPlan, ...], lease: HeldLease) -> None:
        try:
            outcomes = self.applier.apply(
                _UnderLeader(self.store, self.channel.epoch),
                queued,
                self._clock.moment(),
                fence=lease,
            )
        except Fenced:
            raise
        except Exception as error:
            log.exception("action=apply plans=%d could not be judged", len(queued))
            reason = str(error) or type(error).__name__
            outcomes = [PlanOutcome(plan_id=item.plan.id, error=reason) for item in queued]
        plans = {item.plan.id: item.plan for item in queued}
        told = tuple(outcome.without(plans[outcome.plan_id]) for outcome in outcomes)
        # Travels with the question for more, which the leader reads after it.
        self.channel.send(PLANS_DONE, PlansDoneBody(self.process, told))


class _UnderLeader:
    """The store, for plans handed out under one leader epoch: none is committed after a failover.

    Its successor delivers the evaluations again, and a late plan would place them twice.
    """

    def __init__(self, store: StateStore, epoch: int) -> None:
        self._store = store
        self._epoch = epoch

    def write(
        self,
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """As the store's, with the leader's epoch looked at inside the same transaction."""

        def guarded(change: Change) -> Result:
            if epoch_of("leader") != self._epoch:
                raise Fenced(f"leader epoch {self._epoch} has ended")
            return work(change)

        return self._store.write(kind, guarded, now=now, fence=fence)


@functools.cache
def plan_drainer() -> PlanDrainer:
    """The drainer of this process; made after the fork."""
    return PlanDrainer()
