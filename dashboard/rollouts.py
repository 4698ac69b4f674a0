"""How far a deployment is, group by group, and what it waits for.

In: a deployment. Out: its RolloutProgress. Only tells: promoting and failing are
`views/deployment_actions.py`.
"""

import msgspec
from django.utils.translation import gettext

from dashboard.wording import count_of, number
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout


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
            return gettext("{desired_canaries}, promoted").format(
                desired_canaries=number(state.desired_canaries)
            )
        placed = gettext("{canaries_placed} of {desired_canaries} placed").format(
            canaries_placed=number(self.canaries_placed),
            desired_canaries=number(state.desired_canaries),
        )
        if not self.waits_for_promotion:
            return placed
        return (
            gettext("{placed}, healthy: promoted by itself")
            if state.auto_promote
            else gettext("{placed}, healthy: promote it")
        ).format(placed=placed)

    @property
    def placed(self) -> str:
        """How many were placed for how many wanted; replacements of failed ones count too."""
        return of_wanted(self.state.placed_allocs, self.state.desired_total, "placed")

    @property
    def healthy(self) -> str:
        """How many became healthy, of how many wanted."""
        return of_wanted(
            self.state.healthy_allocs, self.state.desired_total, gettext("became healthy")
        )

    @property
    def deadline(self) -> int:
        """When it must have made progress, ns; 0 when nothing is due of it."""
        state = self.state
        is_over = state.healthy_allocs >= state.desired_total and not self.waits_for_promotion
        if is_over or (self.waits_for_promotion and not state.auto_promote):
            return 0
        return state.require_progress_by

    @property
    def canaries_placed(self) -> int:
        """How many of its canaries are there; one that was replaced stays on the list."""
        return min(len(self.state.placed_canaries), self.state.desired_canaries)

    @property
    def canaries_healthy(self) -> int:
        """How many of its canaries are healthy, or were when they were promoted."""
        wanted = self.state.desired_canaries
        return wanted if self.state.promoted else min(self.state.healthy_allocs, wanted)

    @property
    def rest(self) -> int:
        """How many of its allocations are no canaries."""
        return max(self.state.desired_total - self.state.desired_canaries, 0)

    @property
    def rest_healthy(self) -> int:
        """How many of these are healthy."""
        others = self.state.healthy_allocs - self.canaries_healthy
        return min(max(others, 0), self.rest)

    @property
    def waits_for_promotion(self) -> bool:
        """Its canaries are all healthy and nobody has promoted them."""
        state = self.state
        if state.promoted or not state.desired_canaries:
            return False
        enough = len(state.placed_canaries) >= state.desired_canaries
        return enough and state.healthy_allocs >= state.desired_canaries


class RolloutProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment as the page of its job tells it."""

    deployment: Deployment
    groups: tuple[GroupProgress, ...]

    @property
    def is_paused(self) -> bool:
        """Whether somebody holds it."""
        return self.deployment.status is DeploymentStatus.PAUSED

    @property
    def healthy_count(self) -> int:
        """How many became healthy, all groups together."""
        return sum(group.state.healthy_allocs for group in self.groups)

    @property
    def wanted_count(self) -> int:
        """How many there shall be, all groups together."""
        return sum(group.state.desired_total for group in self.groups)

    @property
    def placed_count(self) -> int:
        """How many were placed, all groups together; replacements of failed ones count too."""
        return sum(group.state.placed_allocs for group in self.groups)

    @property
    def is_short(self) -> bool:
        """Whether fewer were placed than there shall be."""
        return self.placed_count < self.wanted_count

    @property
    def unhealthy_count(self) -> int:
        """How many were found unhealthy, all groups together."""
        return sum(group.state.unhealthy_allocs for group in self.groups)

    @property
    def healthy_of_wanted(self) -> str:
        """`2 of 5`, of all groups together."""
        return of_wanted(self.healthy_count, self.wanted_count, gettext("became healthy"))

    @property
    def deadline(self) -> int:
        """When the first group must have made progress; 0 when nothing is due.

        Healthy canaries wait for a person as long as it takes, and so does what is paused.
        """
        if not self.deployment.is_active or self.is_paused:
            return 0
        due = (group.deadline for group in self.groups)
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
    def healthy(self) -> str:
        """`2 of 5 healthy`, of all groups together."""
        told = self.healthy_of_wanted
        return (
            gettext("{told} healthy").format(told=told)
            if self.healthy_count <= self.wanted_count
            else told
        )

    @property
    def reverts(self) -> bool:
        """Whether failing it brings the newest stable version back, if one is kept."""
        return any(group.state.auto_revert for group in self.groups)

    @property
    def sentence(self) -> str:
        """What the head of the page says while it is under way; empty when it is over."""
        if not self.deployment.is_active:
            return ""
        version = gettext("Version {job_version} rolls out").format(
            job_version=self.deployment.job_version
        )
        if self.waiting:
            wait = count_of(
                self.waiting_canaries,
                "{count} healthy canary waits",
                "{count} healthy canaries wait",
            )
            return gettext("{version}: {wait} to be promoted.").format(version=version, wait=wait)
        return f"{version}: {self.healthy}."


def progress_of(deployment: Deployment) -> RolloutProgress:
    """Of this deployment, whatever came after it."""
    groups = tuple(
        GroupProgress(name=name, state=state) for name, state in deployment.task_groups.items()
    )
    return RolloutProgress(deployment=deployment, groups=groups)


def of_wanted(count: int, wanted: int, done: str) -> str:
    """`2 of 5`; of more than are wanted both are told: `6 placed, 2 wanted`."""
    if count <= wanted:
        return gettext("{count} of {wanted}").format(count=number(count), wanted=number(wanted))
    return gettext("{count} {done}, {wanted} wanted").format(
        count=number(count), done=done, wanted=number(wanted)
    )
