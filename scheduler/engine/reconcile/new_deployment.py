"""The rollout that a new version of a job begins with."""

from scheduler.engine.reconcile import reasons
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.job import Job


def new_deployment(job: Job, deployment_id: str, *, eval_priority: int, now: int) -> Deployment:
    """Under way, of the version given; its groups are added as they are looked at."""
    return Deployment(
        id=deployment_id,
        namespace=job.namespace,
        job_id=job.id,
        job_version=job.version,
        job_modify_index=job.modify_index,
        job_spec_modify_index=job.job_modify_index,
        job_create_index=job.create_index,
        is_multiregion=job.multiregion is not None,
        status=DeploymentStatus.RUNNING,
        status_description=reasons.DEPLOYMENT_RUNNING,
        eval_priority=eval_priority,
        create_time=now,
        modify_time=now,
    )
