"""What the author of a valid job should still know.

In: a canonical job. Out: sentences, worded as the API words them; nothing here refuses a job.
"""

from cluster.jobspec.findings import Findings
from scheduler.structs.job import Job
from scheduler.structs.task_group import Task, TaskGroup


def warnings_of(job: Job, *, memory_oversubscription: bool) -> tuple[str, ...]:
    """Every warning about the job.

    `memory_oversubscription`: whether the cluster has it turned on.
    """
    findings = Findings()
    for group in job.task_groups:
        _warn_of_group(group, findings)
    if job.task_groups and any(_promotes(group) for group in job.task_groups):
        canaries = [group for group in job.task_groups if group.update and group.update.canary > 0]
        if not all(_promotes(group) for group in canaries):
            findings.add("auto_promote must be true for all groups to enable automatic promotion")
    if job.periodic is not None and job.periodic.spec:
        findings.add(
            "cron is deprecated and may be removed in a future release. Use crons instead"
        )
    for group in job.task_groups:
        _warn_of_services(group, findings)
    if not memory_oversubscription:
        _warn_of_memory(job, findings)
    return tuple(message.strip("\n") for message in findings.messages())


def _promotes(group: TaskGroup) -> bool:
    return group.update is not None and group.update.auto_promote


def _warn_of_group(group: TaskGroup, findings: Findings) -> None:
    part = findings.below("")
    update = group.update
    if update is not None and 1 < group.count < update.max_parallel:
        text = "Update max parallel count is greater than task group count"
        text += f" ({update.max_parallel} > {group.count})."
        text += (
            " A destructive change would result in the simultaneous replacement of "
            "all allocations."
        )
        part.add(text)
    for task in group.tasks:
        of_task = part.below("")
        _warn_of_task(task, of_task)
        part.nest(of_task, f'Task "{task.name}" has warnings: ')
    findings.nest(part, f'Group "{group.name}" has warnings: ')


def _warn_of_task(task: Task, findings: Findings) -> None:
    if task.resources.iops != 0:
        text = (
            "IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from resource block."
        )
        findings.add(text)
    for identity in task.identities:
        if identity.ttl == 0:
            part = findings.below("")
            part.add(f"Identity[{identity.name}] identities without an expiration are insecure")
            findings.nest(part)


def _warn_of_services(group: TaskGroup, findings: Findings) -> None:
    if group.shutdown_delay or not group.services:
        return
    if any(not service.task_name for service in group.services):
        if not any(task.shutdown_delay > 0 for task in group.tasks):
            text = (
                f'group "{group.name}" defines services, but neither the group nor '
                "any of its tasks"
            )
            findings.add(f"{text} have shutdown_delay set")
        return
    for name in dict.fromkeys(service.task_name for service in group.services):
        task = group.task(name)
        if task is not None and task.shutdown_delay == 0:
            text = f'group "{group.name}" references task "{name}" in a service definition'
            findings.add(f"{text}, but the task has no shutdown_delay set")


def _warn_of_memory(job: Job, findings: Findings) -> None:
    for group in job.task_groups:
        for task in group.tasks:
            if task.resources.memory_max_mb > 0:
                text = f'Memory oversubscription is not enabled; Task "{group.name}.{task.name}"'
                text += " memory_max value will be ignored."
                text += " Update the Scheduler Configuration to allow oversubscription."
                findings.add(text)
