"""Rules for a task group.

In: a canonical job and one of its groups. Out: what is wrong with the group.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_networks import check_networks
from cluster.jobspec.validate_policies import (
    check_disconnect,
    check_migrate,
    check_reschedule,
    check_restart,
    check_scaling,
    check_update,
)
from cluster.jobspec.validate_service import check_group_services, check_script_checks
from cluster.jobspec.validate_targets import check_affinities, check_constraints, check_spreads
from cluster.jobspec.validate_task import check_task
from cluster.jobspec.validate_volumes import check_volumes
from scheduler.structs.job import Job, JobType
from scheduler.structs.task_group import TaskGroup

_EVERYWHERE = (JobType.SYSTEM, JobType.SYSBATCH)
_ROLLED_OUT = (JobType.SERVICE, JobType.SYSTEM)
_RUN_TO_AN_END = (JobType.BATCH, JobType.SYSBATCH)
#: A group's directory below this is a mistake in units.
MIN_DISK_MB = 10


def check_group(job: Job, group: TaskGroup, findings: Findings) -> None:
    """Add the faults of a group and of everything in it."""
    _check_shape(group, findings)
    if group.disconnect is not None:
        check_disconnect(job, group.disconnect, findings)
    _check_run_duration(job, group, findings)
    check_constraints(group.constraints, findings)
    _check_affinities(job, group, findings)
    if group.restart_policy is not None:
        check_restart(group.restart_policy, findings)
    _check_spreads(job, group, findings)
    _check_policies(job, group, findings)
    _check_tasks_together(group, findings)
    check_volumes(job, group, findings)
    _check_parts(group, findings)
    for position, task in enumerate(group.tasks):
        part = findings.below(f"Tasks[{position}]")
        check_task(job, group, task, part)
        findings.nest(part, f"Task {task.name} validation failed: ")


def _check_shape(group: TaskGroup, findings: Findings) -> None:
    if not group.name:
        findings.add("Missing task group name", "Name")
    elif "\0" in group.name:
        findings.add("Task group name contains null character", "Name")
    if group.count < 0:
        findings.add("Task group count can't be negative", "Count")
    if not group.tasks:
        findings.add("Missing tasks for task group", "Tasks")


def _check_run_duration(job: Job, group: TaskGroup, findings: Findings) -> None:
    if group.max_run_duration is None:
        return
    if group.max_run_duration <= 0:
        findings.add("MaxRunDuration must be greater than zero", "MaxRunDuration")
    if job.type not in _RUN_TO_AN_END:
        text = f"Job type {quoted(job.type)} does not allow max_run_duration"
        findings.add(text, "MaxRunDuration")


def _check_affinities(job: Job, group: TaskGroup, findings: Findings) -> None:
    if job.type != JobType.SYSTEM:
        check_affinities(group.affinities, findings)
    elif group.affinities:
        findings.add("System jobs may not have an affinity block", "Affinities")


def _check_spreads(job: Job, group: TaskGroup, findings: Findings) -> None:
    if job.type != JobType.SYSTEM:
        check_spreads(group.spreads, findings)
    elif group.spreads:
        findings.add("System jobs may not have a spread block", "Spreads")


def _check_policies(job: Job, group: TaskGroup, findings: Findings) -> None:
    if job.type in _EVERYWHERE:
        if group.reschedule_policy is not None:
            text = "System or sysbatch jobs should not have a reschedule policy"
            findings.add(text, "ReschedulePolicy")
    elif group.reschedule_policy is not None:
        check_reschedule(group.reschedule_policy, findings)
    if group.ephemeral_disk.size_mb < MIN_DISK_MB:
        text = f"minimum DiskMB value is {MIN_DISK_MB}; got {group.ephemeral_disk.size_mb}"
        findings.add(text, "EphemeralDisk.SizeMB")
    if group.update is not None:
        if job.type not in _ROLLED_OUT:
            findings.add(f"Job type {quoted(job.type)} does not allow update block", "Update")
        check_update(job, group.update, findings)
    if group.migrate is not None:
        if job.type != JobType.SERVICE:
            findings.add(f"Job type {quoted(job.type)} does not allow migrate block", "Migrate")
        else:
            check_migrate(group.migrate, findings)


def _check_tasks_together(group: TaskGroup, findings: Findings) -> None:
    first_use: dict[str, int] = {}
    for number, task in enumerate(group.tasks, start=1):
        place = f"Tasks[{number - 1}]"
        if not task.name:
            findings.add(f"Task {number} missing name", place)
        elif task.name in first_use:
            text = f"Task {number} redefines '{task.name}' from task {first_use[task.name]}"
            findings.add(text, place)
        first_use.setdefault(task.name, number)
    if sum(task.leader for task in group.tasks) > 1:
        findings.add("Only one task may be marked as leader", "Tasks")
    if group.tasks and all(
        task.lifecycle is not None and task.lifecycle.hook for task in group.tasks
    ):
        findings.add(f"Task group {group.name} must have at least one main task", "Tasks")


def _check_parts(group: TaskGroup, findings: Findings) -> None:
    if group.networks or any(task.resources.networks for task in group.tasks):
        networks = findings.below("Networks")
        check_networks(group, networks)
        findings.nest(networks, "Task group network validation failed: ")
    if group.services or any(task.services for task in group.tasks):
        services = findings.below("Services")
        check_group_services(group, services)
        findings.nest(services, "Task group service validation failed: ")
        scripts = findings.below("Services")
        check_script_checks(group, scripts)
        findings.nest(scripts, "Task group service check validation failed: ")
    if group.scaling is not None:
        part = findings.below("Scaling")
        check_scaling(group.scaling, group.count, part)
        findings.nest(part, "Task group scaling policy validation failed: ")
