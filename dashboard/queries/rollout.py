"""The rollout of a job's version: how far its newest deployment is, group by group.

In: a reader and the job. Out: the Rollout that `_job_rollout.html` shows, and what the job's
sentence says of it. Only tells: promoting and failing are `views/deployment_actions.py`.
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
    def waiting(self) -> tuple[str, ...]:
        """The groups whose healthy canaries a person must promote."""
        return tuple(
            group.name
            for group in self.groups
            if group.waits_for_promotion and not group.state.auto_promote
        )

    @property
    def waiting_canaries(self) -> int:
        """How many canaries they have."""
        return sum(
            group.state.desired_canaries for group in self.groups if group.name in self.waiting
        )

    @property
    def reverts(self) -> bool:
        """Whether failing it brings the last stable version back, if there is one."""
        return any(group.state.auto_revert for group in self.groups)

    @property
    def sentence(self) -> str:
        """What the head of the page says while it is under way; empty when it is over."""
        if not self.deployment.is_active:
            return ""
        version = f"Version {self.deployment.job_version} rolls out"
        if self.waiting:
            wait = count_of(self.waiting_canaries, "healthy canary waits", "healthy canaries wait")
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
    return progress_of(newest[0])


def progress_of(deployment: Deployment) -> Rollout:
    """Of this deployment, whatever came after it."""
    groups = tuple(
        GroupProgress(name=name, state=state) for name, state in deployment.task_groups.items()
    )
    return Rollout(deployment=deployment, groups=groups)
