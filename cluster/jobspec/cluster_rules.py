"""Rules that depend on what a cluster of this kind offers: Vault, Consul, server limits.

In: a canonical job. Out: the finding of each step that looks at such things. What only this
cluster's record knows is for `cluster.operations.admission`.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.job import Job
from scheduler.structs.service import Service
from scheduler.structs.task_group import Task, TaskGroup

#: A job may not ask for more allocations than this in all its groups.
MAX_ALLOCATIONS = 50_000
MAX_PRIORITY = 100
_NO_CONSUL = "non-default Consul cluster requires Nomad Enterprise"


def vault_problem(job: Job) -> str:
    """Why the Vault a task wants cannot be had; no Vault is ever enabled here."""
    wanted = [
        _vault_cluster(task)
        for group in job.task_groups
        for task in group.tasks
        if task.vault is not None
    ]
    return f"Vault {quoted(min(wanted))} not enabled but used in the job" if wanted else ""


def _vault_cluster(task: Task) -> str:
    return str((task.vault or {}).get("Cluster") or "default")


def consul_problem(job: Job) -> str:
    """Why the Consul the job wants cannot be had."""
    for group in job.task_groups:
        if _is_other(group.consul) or _wants_other(group.services):
            return _NO_CONSUL
        partition = str((group.consul or {}).get("Partition") or "")
        for task in group.tasks:
            if _is_other(task.consul) or _wants_other(task.services):
                return _NO_CONSUL
            own = str((task.consul or {}).get("Partition") or "")
            if own and partition and own != partition:
                return (
                    f"task.consul.partition {quoted(own)} must match"
                    f" group.consul.partition {quoted(partition)} if both are set"
                )
    return ""


def _is_other(consul: dict[str, object] | None) -> bool:
    return consul is not None and consul.get("Cluster") not in (None, "", "default")


def _wants_other(services: tuple[Service, ...]) -> bool:
    return bool(services) and any(
        service.provider == "consul" and service.cluster not in ("", "default")
        for service in services
    )


def check_limits(job: Job, findings: Findings) -> None:
    """Add what a server refuses of a job that is sound in itself."""
    if job.type == CORE_TYPE:
        findings.add("job type cannot be core", "Type")
    if job.payload and not job.dispatched:
        findings.add("job can't be submitted with a payload, only dispatched", "Payload")
    if not 1 <= job.priority <= MAX_PRIORITY:
        findings.add(f"job priority must be between [1, {MAX_PRIORITY}]", "Priority")
    for position, group in enumerate(job.task_groups):
        _check_identities(group, f"TaskGroups[{position}]", findings)
    too_many = total_count_problem(sum(group.count for group in job.task_groups))
    if too_many:
        findings.add(too_many, "TaskGroups")


def total_count_problem(total: int) -> str:
    """Why a job may not have so many allocations; "" when it may."""
    if total <= MAX_ALLOCATIONS:
        return ""
    text = "total count was greater than configured job_max_count"
    return f"{text}: {total} > {MAX_ALLOCATIONS}"


def _check_identities(group: TaskGroup, place: str, findings: Findings) -> None:
    for service in group.services:
        if _has_nameless_identity(service):
            text = f"Service {service.name} in task group {group.name}"
            findings.add(f"{text} has an identity with an empty name", place)
    for task in group.tasks:
        for service in task.services:
            if _has_nameless_identity(service):
                text = f"Service {service.name} in task {task.name}"
                findings.add(f"{text} has an identity with an empty name", place)
        if task.vault is None:
            continue
        cluster = _vault_cluster(task)
        name = f"vault_{cluster}"
        if cluster != "default" and all(name != identity.name for identity in task.identities):
            text = f"Task {task.name} uses Vault cluster {cluster} but does not have an identity"
            text += f" named {name} and no default identity is provided in agent configuration"
            findings.add(text, place)


def _has_nameless_identity(service: Service) -> bool:
    # Identities for Consul are named by the server.
    if service.identity is None or service.provider == "consul":
        return False
    return not service.identity.get("Name")


def numa_problem(job: Job) -> str:
    """Why no NUMA affinity can be kept."""
    for group in job.task_groups:
        for task in group.tasks:
            numa = task.resources.numa
            if numa is not None and numa.affinity != "none":
                return "numa scheduling requires Nomad Enterprise"
    return ""


def schedule_problem(job: Job) -> str:
    """Why no task can run by a schedule of its own."""
    for group in job.task_groups:
        for task in group.tasks:
            if task.schedule and task.schedule.get("Cron") is not None:
                return "task schedules requires Nomad Enterprise"
    return ""
