"""The rollout of a job's version: how far its newest deployment is, group by group.

In: a reader and the job. Out: the Rollout that `_job_rollout.html` shows, and what the job's
sentence says of it. Only tells: promoting and failing belong to whoever asks the scheduler.
"""

import msgspec

from cluster.store import codec
from cluster.store.reader import DjangoStateReader
from dashboard.wording import count_of, number
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.job import Job


class GroupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One group of a rollout."""

    name: str
    state: GroupRollout

    @property
    def canaries(self) -> str:
        """How its canaries stand; empty for a group without."""
        state = self.state
        if not state.desired_canaries:
            return ""
        if state.promoted:
            return f"{number(state.desired_canaries)}, promoted"
        # One that was replaced stays on the list.
        there = min(len(state.placed_canaries), state.desired_canaries)
        placed = f"{number(there)} of {number(state.desired_canaries)} placed"
        if not self.waits_for_promotion:
            return placed
        return f"{placed}, healthy: {'promoted by itself' if state.auto_promote else 'promote it'}"

    @property
    def waits_for_promotion(self) -> bool:
        """Its canaries are all healthy and nobody has promoted them."""
        state = self.state
        if state.promoted or not state.desired_canaries:
            return False
        enough = len(state.placed_canaries) >= state.desired_canaries
        return enough and state.healthy_allocs >= state.desired_canaries


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment as the page of its job tells it."""

    deployment: Deployment
    groups: tuple[GroupProgress, ...]

    @property
    def deadline(self) -> int:
        """When the first group must have made progress; 0 when nothing is due.

        Healthy canaries wait for a person as long as it takes.
        """
        if not self.deployment.is_active:
            return 0
        due = (
            group.state.require_progress_by
            for group in self.groups
            if group.state.auto_promote or not group.waits_for_promotion
        )
        return min((instant for instant in due if instant), default=0)

    @property
    def sentence(self) -> str:
        """What the head of the page says while it is under way; empty when it is over."""
        if not self.deployment.is_active:
            return ""
        version = f"Version {self.deployment.job_version} rolls out"
        waiting = [group for group in self.groups if group.waits_for_promotion]
        if waiting and not all(group.state.auto_promote for group in waiting):
            canaries = sum(group.state.desired_canaries for group in waiting)
            wait = count_of(canaries, "healthy canary waits", "healthy canaries wait")
            return f"{version}: {wait} to be promoted."
        healthy = sum(group.state.healthy_allocs for group in self.groups)
        desired = sum(group.state.desired_total for group in self.groups)
        return f"{version}: {number(healthy)} of {number(desired)} healthy."


def rollout_of(reader: DjangoStateReader, job: Job) -> Rollout | None:
    """Of the newest deployment, unless a later version has gone past it without one."""
    newest = reader.select(
        codec.DEPLOYMENT,
        "namespace = %s AND job_id = %s",
        job.key,
        "create_index DESC LIMIT 1",
    )
    if not newest or (newest[0].job_version != job.version and not newest[0].is_active):
        return None
    groups = tuple(
        GroupProgress(name=name, state=state) for name, state in newest[0].task_groups.items()
    )
    return Rollout(deployment=newest[0], groups=groups)
