"""What the author of a valid job should still know.

In: a canonical job. Out: sentences, worded as the API words them; nothing here refuses a job.
"""

from collections.abc import Iterator

import msgspec

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_identities import DEFAULT_IDENTITY
from scheduler.structs.job import Job
from scheduler.structs.service import Service
from scheduler.structs.task_group import Identity, Task, TaskGroup


def warnings_of(job: Job, *, memory_oversubscription: bool) -> tuple[str, ...]:
    """Every warning about the job.

    `memory_oversubscription`: whether its tasks may use more memory than they reserve.
    """
    findings = Findings()
    for group in job.task_groups:
        _warn_of_group(group, findings)
    for group in job.task_groups:
        _warn_of_shutdown(group, findings)
    if any(_promotes(group) for group in job.task_groups):
        canaries = [group for group in job.task_groups if group.update and group.update.canary > 0]
        if not all(_promotes(group) for group in canaries):
            findings.add("auto_promote must be true for all groups to enable automatic promotion")
    if job.periodic is not None and job.periodic.spec:
        findings.add(
            "cron is deprecated and may be removed in a future release. Use crons instead"
        )
    for group in job.task_groups:
        for task in group.tasks:
            _warn_of_vault_identities(task, findings)
    if not memory_oversubscription:
        _warn_of_memory(job, findings)
    return tuple(message.strip() for message in findings.messages())


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
    if group.networks and group.networks[0].mbits > 0:
        text = "mbits has been deprecated as of Nomad 0.12.0."
        part.add(f"{text} Please remove mbits from the network block")
    _warn_of_service_identities(group.services, part)
    for task in group.tasks:
        of_task = part.below("")
        _warn_of_task(task, of_task)
        part.nest(of_task, f"Task {quoted(task.name)} has warnings: ")
    findings.nest(part, f"Group {quoted(group.name)} has warnings: ")


def _warn_of_task(task: Task, findings: Findings) -> None:
    if task.resources.iops != 0:
        text = "IOPS has been deprecated as of Nomad 0.9.0."
        findings.add(f"{text} Please remove IOPS from resource block.")
    if task.resources.networks:
        text = "task network resources have been deprecated as of Nomad 0.12.0."
        findings.add(f"{text} Please configure networking via group network block.")
    for position, template in enumerate(task.templates):
        if template.vault_grace != 0:
            text = f"Template[{position}] VaultGrace has been deprecated as of Nomad 0.11 and"
            text += " ignored since Vault 0.5. Please remove VaultGrace / vault_grace from"
            findings.add(f"{text} template block.")
    _warn_of_service_identities(task.services, findings)
    for identity in task.identities:
        part = findings.below("")
        for text in _identity_warnings(identity):
            part.add(f"Identity[{identity.name}] {text}")
        findings.nest(part)


def _warn_of_service_identities(services: tuple[Service, ...], findings: Findings) -> None:
    for service in services:
        if service.identity is None:
            continue
        identity = msgspec.convert(service.identity, Identity)
        if service.provider == "consul" and not identity.name:
            # The server names identities for Consul after their service.
            identity = msgspec.structs.replace(identity, name=service.name)
        for text in _identity_warnings(identity):
            findings.add(f"Service {quoted(service.name)}: {text}")


def _identity_warnings(identity: Identity) -> Iterator[str]:
    if not identity.audience:
        yield "identities without an audience are insecure"
    elif len(identity.audience) > 1:
        text = "while multiple audiences is allowed, it is more secure to use 1 audience per"
        yield f"{text} identity"
    if identity.ttl == 0 and identity.name not in ("", DEFAULT_IDENTITY):
        yield "identities without an expiration are insecure"
    if identity.env and identity.change_mode != "restart":
        text = 'using env=true without change_mode="restart" may result in task not getting'
        yield f"{text} updated identity"


def _warn_of_shutdown(group: TaskGroup, findings: Findings) -> None:
    """Services that are still announced while their task already stops."""
    served = {service.task_name for service in group.services if service.task_name}
    name = quoted(group.name)
    for task in group.tasks:
        if task.name in served and task.shutdown_delay == 0:
            text = f"group {name} references task {quoted(task.name)} in a service definition"
            findings.add(f"{text}, but the task has no shutdown_delay set")
        if task.services and task.shutdown_delay <= 0:
            text = f"task {quoted(task.name)} in group {name} defines services"
            findings.add(f"{text}, but has no shutdown_delay set")
    if (group.shutdown_delay or 0) > 0 or any(task.shutdown_delay > 0 for task in group.tasks):
        return
    # The proxies that the mesh adds wait before they stop.
    if group.networks and any(_has_proxy(service) for service in group.services):
        return
    if any(
        not service.task_name and not _has_own_proxy_task(service) for service in group.services
    ):
        text = f"group {name} defines services, but neither the group nor any of its tasks"
        findings.add(f"{text} have shutdown_delay set")


def _has_proxy(service: Service) -> bool:
    connect = service.connect or {}
    return connect.get("SidecarService") is not None or connect.get("Gateway") is not None


def _has_own_proxy_task(service: Service) -> bool:
    return (service.connect or {}).get("SidecarTask") is not None


def _warn_of_vault_identities(task: Task, findings: Findings) -> None:
    if task.vault is not None:
        return
    for identity in task.identities:
        if identity.name.startswith("vault_"):
            text = f"Task {task.name} has an identity called {identity.name} but no vault block"
            findings.add(text)


def _warn_of_memory(job: Job, findings: Findings) -> None:
    for group in job.task_groups:
        for task in group.tasks:
            if task.resources.memory_max_mb != 0:
                text = f'Memory oversubscription is not enabled; Task "{group.name}.{task.name}"'
                text += " memory_max value will be ignored."
                text += " Update the Scheduler Configuration to allow oversubscription."
                findings.add(text)
