"""Rules for a task.

In: a canonical job, a group and one of its tasks. Out: what is wrong with the task.
"""

from cluster.jobspec.driver_options import REFUSED_DRIVERS
from cluster.jobspec.durations import duration_text
from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_connect import PROXY_KIND, check_proxy_task
from cluster.jobspec.validate_identities import check_identities, check_secrets
from cluster.jobspec.validate_resources import check_resources
from cluster.jobspec.validate_service import check_task_services
from cluster.jobspec.validate_targets import check_affinities, check_constraint
from cluster.jobspec.validate_task_parts import (
    check_actions,
    check_artifact,
    check_csi_plugin,
    check_dispatch_payload,
    check_lifecycle,
    check_template,
    check_vault,
    check_volume_mounts,
)
from scheduler.structs.constraint import Operand
from scheduler.structs.job import Job, JobType
from scheduler.structs.task_group import LogConfig, Task, TaskGroup

_OF_THE_GROUP = (Operand.DISTINCT_HOSTS, Operand.DISTINCT_PROPERTY)
#: The directory that the tasks of an allocation share.
_TAKEN_NAME = "alloc"


def check_task(job: Job, group: TaskGroup, task: Task, findings: Findings) -> None:
    """Add the faults of a task."""
    _check_name(task, findings)
    if not task.driver:
        findings.add("Missing task driver", "Driver")
    elif why := REFUSED_DRIVERS.get(task.driver):
        findings.add(f"Driver {quoted(task.driver)} is {why}", "Driver")
    _check_times(job, group, task, findings)
    resources = findings.below("Resources")
    check_resources(task.resources, resources)
    findings.nest(resources)
    logs = findings.below("LogConfig")
    _check_logs(task.log_config, group.ephemeral_disk.size_mb, logs)
    findings.nest(logs)
    _check_placement(job, task, findings)
    if task.services:
        services = findings.below("")
        check_task_services(group, task, services)
        findings.nest(services)
    _check_parts(task, findings)
    _check_role(group, task, findings)
    check_volume_mounts(group, task, findings)
    if task.csi_plugin_config is not None:
        check_csi_plugin(task.csi_plugin_config, findings)
    check_identities(task, findings)
    check_secrets(task, findings)


def _check_name(task: Task, findings: Findings) -> None:
    if not task.name:
        findings.add("Missing task name", "Name")
    if task.name == _TAKEN_NAME:
        findings.add(f'Task cannot be named "{_TAKEN_NAME}"', "Name")
    if "/" in task.name or "\\" in task.name:
        # Names are directories on the node.
        findings.add("Task name cannot include slashes", "Name")
    elif "\0" in task.name:
        findings.add("Task name cannot include null characters", "Name")


def _check_times(job: Job, group: TaskGroup, task: Task, findings: Findings) -> None:
    if task.kill_timeout < 0:
        findings.add("KillTimeout must be a positive value", "KillTimeout")
    elif job.type == JobType.SERVICE and group.update is not None:
        deadline = group.update.progress_deadline
        if 0 < deadline < task.kill_timeout:
            text = f"KillTimout ({duration_text(task.kill_timeout)}) longer than the group's"
            findings.add(f"{text} ProgressDeadline ({duration_text(deadline)})", "KillTimeout")
    if task.shutdown_delay < 0:
        findings.add("ShutdownDelay must be a positive value", "ShutdownDelay")


def _check_logs(logs: LogConfig, disk_mb: int, findings: Findings) -> None:
    if logs.max_files < 1:
        findings.add(f"minimum number of files is 1; got {logs.max_files}", "MaxFiles")
    if logs.max_file_size_mb < 1:
        findings.add(f"minimum file size is 1MB; got {logs.max_file_size_mb}", "MaxFileSizeMB")
    used_mb = logs.max_files * logs.max_file_size_mb
    if disk_mb <= used_mb:
        text = (
            f"log storage ({used_mb} MB) must be less than requested disk capacity ({disk_mb} MB)"
        )
        findings.add(text)


def _check_placement(job: Job, task: Task, findings: Findings) -> None:
    for number, constraint in enumerate(task.constraints, start=1):
        part = findings.below(f"Constraints[{number - 1}]")
        check_constraint(constraint, part)
        findings.nest(part, f"Constraint {number} validation failed: ")
        if constraint.operand in _OF_THE_GROUP:
            text = (
                f"Constraint {number} has disallowed Operand at task level: {constraint.operand}"
            )
            findings.add(text, f"Constraints[{number - 1}]")
    if job.type != JobType.SYSTEM:
        check_affinities(task.affinities, findings)
    elif task.affinities:
        findings.add("System jobs may not have an affinity block", "Affinities")


def _check_parts(task: Task, findings: Findings) -> None:
    for number, artifact in enumerate(task.artifacts, start=1):
        part = findings.below(f"Artifacts[{number - 1}]")
        check_artifact(artifact, part)
        findings.nest(part, f"Artifact {number} validation failed: ")
    if task.vault is not None:
        part = findings.below("Vault")
        check_vault(task.vault, part)
        findings.nest(part, "Vault validation failed: ")
    _check_templates(task, findings)
    check_actions(task, findings)
    if task.dispatch_payload is not None:
        check_dispatch_payload(task.dispatch_payload, findings)


def _check_role(group: TaskGroup, task: Task, findings: Findings) -> None:
    """What the task is among the tasks of its group."""
    if task.lifecycle is not None:
        check_lifecycle(task.lifecycle, findings)
    served = task.kind.removeprefix(PROXY_KIND) if task.kind else ""
    if served and served != task.kind:
        check_proxy_task(group, task, served, findings)


def _check_templates(task: Task, findings: Findings) -> None:
    first_use: dict[str, int] = {}
    for number, template in enumerate(task.templates, start=1):
        part = findings.below(f"Templates[{number - 1}]")
        check_template(template, part)
        findings.nest(part, f"Template {number} validation failed: ")
        if template.dest_path in first_use:
            text = f"Template {number} has same destination as {first_use[template.dest_path]}"
            findings.add(text, f"Templates[{number - 1}]")
        first_use.setdefault(template.dest_path, number)
