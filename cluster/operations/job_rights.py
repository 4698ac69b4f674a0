"""What a caller must be allowed to do before a job of this content may be registered or planned.

In: a caller, a canonical job. Out: nothing, or `NotAllowed`. Whether the job is a good one is
`admission`'s business.
"""

from django.conf import settings

from cluster.operations.errors import DENIED, NotAllowed
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.access.capabilities import PRIVILEGED
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup


def require_registration(by: Caller, job: Job, part: str) -> None:
    """Refuse unless the job may come here: `part` is what stands beside `submit-job`."""
    if by.access.is_management:
        return
    require(by, job.namespace, "submit-job", part)
    _require_drivers(by, job)
    for group in job.task_groups:
        _require_volumes(by, job.namespace, group)
        if any(task.csi_plugin_config is not None for task in group.tasks):
            require(by, job.namespace, "csi-register-plugin")


def _require_drivers(by: Caller, job: Job) -> None:
    """Tasks without isolation may do what their node's agent may, so they ask for more."""
    privileged = frozenset(settings.BIVOUAC_PRIVILEGED_DRIVERS)
    used = {
        task.driver: f"{group.name}/{task.name}"
        for group in job.task_groups
        for task in group.tasks
        if task.driver in privileged
    }
    if not used or by.access.allows(job.namespace, PRIVILEGED):
        return
    driver, task = next(iter(used.items()))
    missing = f"{PRIVILEGED} in namespace {job.namespace}"
    raise NotAllowed(
        f"{DENIED}: task {task} wants the driver {driver}, which runs without isolation. That asks"
        f" for {missing}; ask an administrator for a policy that grants it.",
        missing=missing,
    )


def _require_volumes(by: Caller, namespace: str, group: TaskGroup) -> None:
    for volume in group.volumes.values():
        if volume.type == "csi":
            require(by, namespace, "csi-mount-volume")
            if not by.access.reads_plugins():
                raise NotAllowed(missing="plugin:read")
        elif volume.type == "host":
            enough = ("mount-readwrite", "mount-readonly")[: 2 if volume.read_only else 1]
            if not by.access.allows_host_volume(volume.source, *enough):
                missing = f"{' or '.join(enough)} on host volume {volume.source}"
                raise NotAllowed(missing=missing)
