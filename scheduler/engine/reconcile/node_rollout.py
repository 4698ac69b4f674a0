"""The deployment of a system job, as one node after another finds and extends it.

In: the deployment on entry; then, per node, what runs there. Out: the deployment to work under and
its status updates (reconciler.md 20.4).
"""

import msgspec

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.new_deployment import new_deployment
from scheduler.engine.reconcile.node_results import NodeSituation
from scheduler.engine.reconcile.rollout import cancelled, fresh_state, status_update
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
)
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup

#: Older agents cannot report the health of system allocations.
_OLDEST_AGENT = (1, 11, 0)
_HELD = frozenset(
    {
        DeploymentStatus.PAUSED,
        DeploymentStatus.PENDING,
        DeploymentStatus.INITIALIZING,
        DeploymentStatus.FAILED,
    }
)


def rolls_by_stagger(job: Job, group: TaskGroup) -> bool:
    """Whether the group is rolled out in timed batches, without a deployment."""
    update = group.update or job.update
    return job.type == JobType.SYSTEM and update.strategy == "stagger"


class NodeRollout:
    """The deployment while nodes are visited."""

    def __init__(self, situation: NodeSituation) -> None:
        self._situation = situation
        self._found = situation.deployment
        self._old: Deployment | None = None
        self.current = situation.deployment
        self.updates: list[DeploymentStatusUpdate] = []
        #: Some node has this job version already.
        self.is_version_present = False

    def triage(self) -> None:
        """Part with a deployment that is not of this job version, or has succeeded."""
        deployment, job = self.current, self._situation.job
        if deployment is None:
            return
        if job is None or job.stop:
            self._add(cancelled(deployment, reasons.DEPLOYMENT_STOPPED_JOB))
            return
        is_other = (
            deployment.job_version != job.version
            or deployment.job_create_index != job.create_index
        )
        if is_other and deployment.status is not DeploymentStatus.SUCCESSFUL:
            self._add(cancelled(deployment, reasons.DEPLOYMENT_NEWER_JOB))
        if is_other or deployment.status is DeploymentStatus.SUCCESSFUL:
            self._old, self.current = deployment, None

    def state_of(self, group: TaskGroup) -> GroupRollout | None:
        """The group's part; without any deployment, a fresh one."""
        if self.current is None:
            return GroupRollout()
        return self.current.task_groups.get(group.name)

    def extend(self, group: TaskGroup, *, has_version: bool, has_updates: bool) -> None:
        """Start the rollout of a group, or join the one that runs, if there is cause to."""
        job = self._situation.job
        assert job is not None, "a stopped job requires no names"
        update = group.update
        if update is None or update.max_parallel == 0 or rolls_by_stagger(job, group):
            return
        if self.current is not None and (
            group.name in self.current.task_groups or self.current.status in _HELD
        ):
            return
        if self._old is not None and self._old.job_version == job.version:
            return
        if has_version and not has_updates:
            return
        if self.current is None:
            self.current = self._created(job)
            self._add(
                (
                    status_update(
                        self.current, DeploymentStatus.RUNNING, reasons.DEPLOYMENT_RUNNING
                    ),
                )
            )
        self.current = msgspec.structs.replace(
            self.current,
            task_groups={**self.current.task_groups, group.name: fresh_state(group)},
        )

    def settle(self) -> None:
        """Give up a new deployment that only new nodes, or a change of agents, would have made."""
        if self._found is not None or self.current is None:
            return
        has_old_agent = any(_is_too_old(node) for node in self._situation.ready.values())
        if self.is_version_present or has_old_agent:
            self.updates = [
                update for update in self.updates if update.deployment_id != self.current.id
            ]
            self.current = None

    def _created(self, job: Job) -> Deployment:
        situation = self._situation
        return new_deployment(
            job, situation.ids.next_id(), eval_priority=job.priority, now=situation.now
        )

    def _add(self, updates: tuple[DeploymentStatusUpdate, ...]) -> None:
        self.updates.extend(update for update in updates if update not in self.updates)


def _is_too_old(node: Node) -> bool:
    """Whether its agent is older than 1.11.0, of which pre-releases are older too."""
    text = node.attributes.get("nomad.version", "").removeprefix("v").partition("+")[0]
    numbers, _, prerelease = text.partition("-")
    parts = numbers.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return False
    version = tuple(int(part) for part in [*parts, "0", "0"][:3])
    return version < _OLDEST_AGENT or (version == _OLDEST_AGENT and bool(prerelease))
