"""RunEnding, promoting and continuing a deployment, with the evaluation each of it makes.

In: an open change, the stored deployment, a fresh id. Out: rows put and what was done. Whether it
is time, and who may ask, was decided before (control-plane.md 6.1, 6.3, 6.6).
"""

from typing import NamedTuple

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.writes.deployments import update_deployment_status
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import has_same_spec, version_to_go_back_to, write_job
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
)
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.job import Job

UNHEALTHY = "Failed due to unhealthy allocations"
LATE = "Failed due to progress deadline"
MARKED_FAILED = "Deployment marked as failed"
PAUSED = "Deployment is paused"
RUNNING = "Deployment is running"


class RolledBack(NamedTuple):
    """How a failed deployment's job went back to what worked before."""

    #: What the deployment's description gains.
    suffix: str = ""
    #: The version that was brought back; None when none was.
    version: int | None = None


def rollout_evaluation(
    change: Change, deployment: Deployment, eval_id: str, text: str
) -> Evaluation | None:
    """The evaluation of a step; None when the job is gone."""
    job = change.job(deployment.job_key)
    if job is None:
        return None
    return Evaluation(
        id=eval_id,
        namespace=job.namespace,
        priority=deployment.eval_priority or job.priority,
        type=job.type,
        triggered_by=EvalTrigger.DEPLOYMENT_WATCHER,
        job_id=job.id,
        deployment_id=deployment.id,
        create_time=change.now,
        modify_time=change.now,
        cause=Cause(kind=CauseKind.DEPLOYMENT, id=deployment.id, index=change.index, text=text),
    )


def write_step(
    change: Change, deployment: Deployment, eval_id: str, text: str
) -> tuple[Evaluation, ...]:
    """Have the job looked at again; job statuses stay as they are."""
    evaluation = rollout_evaluation(change, deployment, eval_id, text)
    return write_evaluations(change, (evaluation,) if evaluation else (), recompute_jobs=False)


def end_failed(
    change: Change, deployment: Deployment, description: str, rolled_back: RolledBack
) -> Deployment:
    """Store the failure; the description says what became of the job."""
    parts = [description, rolled_back.suffix] if rolled_back.suffix else [description]
    update = DeploymentStatusUpdate(
        deployment_id=deployment.id,
        status=DeploymentStatus.FAILED,
        status_description=" - ".join(parts),
    )
    return update_deployment_status(change, update)


def roll_back(change: Change, deployment: Deployment) -> RolledBack:
    """Bring the newest stable version of the job back, unless it asks for the same again."""
    target = version_to_go_back_to(change.job_versions(deployment.job_key))
    if target is None:
        return RolledBack("no stable job version to auto revert to")
    failed = change.job_version(
        deployment.job_key, deployment.job_version, deployment.job_create_index
    )
    if failed is not None and has_same_spec(target, failed):
        return RolledBack(
            f"not rolling back to stable job version {target.version}"
            " as current job has same specification"
        )
    _bring_back(change, target)
    return RolledBack(f"rolling back to job version {target.version}", target.version)


def _bring_back(change: Change, target: Job) -> None:
    """Store an old version anew; it stays stable, and its tag stays with the old one."""
    write_job(change, replace(target, submit_time=change.now, version_tag=None))
