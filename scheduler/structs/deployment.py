"""A deployment: the supervised rollout of one job version."""

from enum import StrEnum

from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.wire import Duration, Instant, Nanoseconds, Wire, wire_names


class DeploymentStatus(StrEnum):
    """Where a rollout stands. Note the spelling of `cancelled`."""

    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    SUCCESSFUL = "successful"
    CANCELLED = "cancelled"
    INITIALIZING = "initializing"
    PENDING = "pending"
    BLOCKED = "blocked"
    UNBLOCKING = "unblocking"


DEPLOYMENT_ACTIVE = frozenset(
    {
        DeploymentStatus.RUNNING,
        DeploymentStatus.PAUSED,
        DeploymentStatus.INITIALIZING,
        DeploymentStatus.PENDING,
        DeploymentStatus.BLOCKED,
        DeploymentStatus.UNBLOCKING,
    }
)


class GroupRollout(Wire, frozen=True):
    """One group's part of a deployment. The wire calls it DeploymentState."""

    auto_revert: bool = False
    auto_promote: bool = False
    progress_deadline: Duration = 0
    require_progress_by: Instant = 0
    promoted: bool = False
    placed_canaries: tuple[str, ...] = ()
    desired_canaries: int = 0
    desired_total: int = 0
    placed_allocs: int = 0
    healthy_allocs: int = 0
    unhealthy_allocs: int = 0


class RolloutVerb(StrEnum):
    """What a person does to a rollout."""

    PROMOTED = "promoted"
    PAUSED = "paused"
    RESUMED = "resumed"
    FAILED = "failed"


class RolloutAct(Wire, frozen=True):
    """One thing that somebody did to a rollout."""

    verb: RolloutVerb = RolloutVerb.PROMOTED
    #: What people call whoever asked for it.
    by: str = ""
    at: Nanoseconds = 0
    index: int = 0


#: Acts that a deployment remembers, the newest.
KEPT_ACTS = 20


class Deployment(Wire, frozen=True, rename=wire_names(story_id="Story")):
    """A rollout of one job version."""

    id: str = ""
    namespace: str = DEFAULT_NAMESPACE
    job_id: str = ""
    job_version: int = 0
    job_modify_index: int = 0
    job_spec_modify_index: int = 0
    job_create_index: int = 0
    is_multiregion: bool = False
    task_groups: dict[str, GroupRollout] = {}
    status: DeploymentStatus = DeploymentStatus.RUNNING
    status_description: str = ""
    eval_priority: int = 0
    create_index: int = 0
    modify_index: int = 0
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0
    #: Ours: the story of its version; left out on the wire when absent.
    story_id: str = ""
    #: Ours: what people did to it, oldest first; left out on the wire when nobody did anything.
    acts: tuple[RolloutAct, ...] = ()

    @property
    def job_key(self) -> JobKey:
        """Namespace and id of its job."""
        return JobKey(self.namespace, self.job_id)

    @property
    def is_active(self) -> bool:
        """It has not ended."""
        return self.status in DEPLOYMENT_ACTIVE


class DeploymentStatusUpdate(Wire, frozen=True):
    """A change of a deployment's status, as part of a plan."""

    deployment_id: str = ""
    status: DeploymentStatus = DeploymentStatus.RUNNING
    status_description: str = ""
    updated_at: Nanoseconds = 0
