"""Constraints a job does not write but needs: what its tasks use, the node must have.

In: a `Job`. Out: the same job with those constraints in its groups (placement.md 6.12). Never
doubles one.
"""

from collections.abc import Iterator

import msgspec

from scheduler.structs.constraint import Constraint
from scheduler.structs.job import Job
from scheduler.structs.service import Service
from scheduler.structs.task_group import Task, TaskGroup

_BRIDGE_PLUGINS = ("bridge", "firewall", "host-local", "loopback", "portmap")


def with_implied_constraints(job: Job) -> Job:
    """The job with the implied constraints its groups lack."""
    groups = tuple(
        msgspec.structs.replace(group, constraints=_merged(job, group))
        for group in job.task_groups
    )
    return msgspec.structs.replace(job, task_groups=groups)


def _merged(job: Job, group: TaskGroup) -> tuple[Constraint, ...]:
    constraints = list(group.constraints)
    above = job.constraints
    for wanted in _by_target(group):
        # An author who names the attribute at all has settled which version will do.
        if all(wanted.l_target != given.l_target for given in (*above, *constraints)):
            constraints.append(wanted)
    for wanted in _by_content(group):
        if wanted not in constraints and wanted not in above:
            constraints.append(wanted)
    return tuple(constraints)


def _by_target(group: TaskGroup) -> Iterator[Constraint]:
    yield from _vault(group)
    for task in group.tasks:
        for secret in task.secrets:
            yield _needs(f"${{attr.plugins.secrets.{secret.provider}.version}}", "is_set", "")
    for service in _services(group):
        if service.provider == "consul":
            scope = "" if service.cluster == "default" else f".{service.cluster}"
            yield _needs(f"${{attr.consul{scope}.version}}", "semver", ">= 1.8.0")
    if any(network.mode == "bridge" for network in group.networks):
        for plugin in _BRIDGE_PLUGINS:
            yield _needs(f"${{attr.plugins.cni.version.{plugin}}}", "semver", ">= 0.4.0")
    if any(_is_transparent(service) for service in group.services):
        yield _needs("${attr.plugins.cni.version.consul-cni}", "semver", ">= 1.4.2")
        yield _needs("${attr.nomad.version}", "semver", ">= 1.8.0-dev")
    if any(task.schedule for task in group.tasks):
        yield _needs("${attr.nomad.version}", "semver", ">= 1.8.0-dev")


def _vault(group: TaskGroup) -> Iterator[Constraint]:
    for task in group.tasks:
        if task.vault is None:
            continue
        cluster = task.vault.get("Cluster") or "default"
        if cluster == "default":
            yield _needs("${attr.vault.version}", "semver", ">= 0.6.1")
        else:
            yield _needs(f"${{attr.vault.{cluster}.version}}", "semver", ">= 1.11.0")


def _by_content(group: TaskGroup) -> Iterator[Constraint]:
    signals = sorted({signal for task in group.tasks for signal in _signals(task)})
    if signals:
        yield _needs("${attr.os.signals}", "set_contains", ",".join(signals))
    native = [service for service in _services(group) if service.provider == "nomad"]
    if native:
        yield _needs("${attr.nomad.service_discovery}", "=", "true")
    if any(service.checks for service in native):
        yield _needs("${attr.nomad.version}", "semver", ">= 1.4.0")
    if any(task.resources.numa and task.resources.numa.affinity != "none" for task in group.tasks):
        yield _needs("${attr.nomad.version}", "semver", ">= 1.6.3-dev")
        yield _needs("${attr.kernel.name}", "=", "linux")


def _services(group: TaskGroup) -> Iterator[Service]:
    yield from group.services
    for task in group.tasks:
        yield from task.services


def _signals(task: Task) -> Iterator[str]:
    if task.kill_signal:
        yield task.kill_signal
    if task.vault is not None and task.vault.get("ChangeMode") == "signal":
        yield str(task.vault.get("ChangeSignal"))
    for template in task.templates:
        if template.change_mode == "signal":
            yield template.change_signal


def _is_transparent(service: Service) -> bool:
    sidecar = (service.connect or {}).get("SidecarService")
    proxy = sidecar.get("Proxy") if isinstance(sidecar, dict) else None
    return isinstance(proxy, dict) and proxy.get("TransparentProxy") is not None


def _needs(target: str, operand: str, value: str) -> Constraint:
    return Constraint(l_target=target, operand=operand, r_target=value)
