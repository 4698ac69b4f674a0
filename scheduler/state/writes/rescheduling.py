"""Whether a failed allocation's policy allows a replacement at all (control-plane.md 14.2).

When the replacement comes is the engine's question; this one only decides whether a report of a
failure is worth an evaluation.
"""

from scheduler.structs.allocation import RescheduleTracker
from scheduler.structs.policies import ReschedulePolicy


def may_reschedule(
    tracker: RescheduleTracker | None, policy: ReschedulePolicy | None, failed_at: int
) -> bool:
    """Unlimited: always. Else: fewer than `attempts` replacements in the `interval` before."""
    if policy is None or not (policy.attempts or policy.unlimited):
        return False
    if policy.unlimited:
        return True
    events = tracker.events if tracker else ()
    used = sum(failed_at - event.reschedule_time < policy.interval for event in events)
    return used < policy.attempts
