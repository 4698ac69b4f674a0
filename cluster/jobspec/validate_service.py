"""Rules for services of groups and tasks.

In: a group or a task. Out: what is wrong with its services.
"""

import re

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_checks import ON_UPDATE, check_problem, needs_port
from cluster.jobspec.validate_connect import check_connect
from scheduler.structs.network import NetworkResource
from scheduler.structs.service import Check, Service
from scheduler.structs.task_group import Task, TaskGroup

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE | re.ASCII)
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_ADDRESS_MODES = ("host", "driver", "alloc", "alloc_ipv6")
_KINDS = ("", "api-gateway", "ingress-gateway", "mesh-gateway", "terminating-gateway")
_OF_GROUPS = ("alloc", "alloc_ipv6")


def check_group_services(group: TaskGroup, findings: Findings) -> None:
    """Add the faults of a group's services, and of how its tasks' services go with them."""
    for task in group.tasks:
        _check_owner(task, findings)
    tasks = {task.name for task in group.tasks}
    for position, service in enumerate(group.services):
        part = findings.below(f"[{position}]")
        _check_service(service, part)
        if part:
            findings.nest(part, f"Service[{position}] {service.name} validation failed: ")
            continue
        name, mode = quoted(service.name), 'cannot use address_mode="driver"'
        if service.address_mode == "driver":
            text = f'service {name} {mode}, only services defined in a "task" block'
            findings.add(f"{text} can use this mode", f"[{position}]")
        for check in service.checks:
            if check.task_name and check.address_mode == "driver":
                text = f'Check {name} invalid: {mode}, only checks defined in a "task" service'
                findings.add(f"{text} block can use this mode", f"[{position}]")
            if check.task_name and check.task_name not in tasks:
                text = f"Check {check.name} invalid: refers to non-existent task"
                findings.add(f"{text} {check.task_name}", f"[{position}]")
    _check_together(group, findings)


def _check_owner(task: Task, findings: Findings) -> None:
    for service in task.services:
        if service.task_name not in ("", task.name):
            text = f"Service {service.name} is invalid: may only specify task the service"
            findings.add(f"{text} belongs to, got {quoted(service.task_name)}")
        for check in service.checks:
            if check.task_name not in ("", task.name):
                text = f"Check {check.name} is invalid: may only specify task the check"
                findings.add(f"{text} belongs to, got {quoted(check.task_name)}")


def _check_together(group: TaskGroup, findings: Findings) -> None:
    """No service twice with one owner, name and port; one provider for all."""
    owned = [(task.name, service) for task in group.tasks for service in task.services]
    owned += [("group", service) for service in group.services]
    seen: set[str] = set()
    doubled: set[str] = set()
    for owner, service in owned:
        port = f":{service.port_label}" if service.port_label else ""
        key = f"{owner}->{service.name}{port}"
        (doubled if key in seen else seen).add(key)
    if doubled:
        findings.add(f"Services are not unique: [{' '.join(sorted(doubled))}]")
    if len({service.provider for _, service in owned}) > 1:
        text = "Multiple service providers used: task group services must use the same provider"
        findings.add(text)


def check_script_checks(group: TaskGroup, findings: Findings) -> None:
    """Add the checks of the group that run inside a task but do not say in which."""
    for position, service in enumerate(group.services):
        for check in service.checks:
            if check.type == "script" and not (check.task_name or service.task_name):
                who = f"Service [{group.name}]->{service.name} or Check {check.name}"
                findings.add(f"{who} must specify task parameter", f"[{position}]")


def check_task_services(group: TaskGroup, task: Task, findings: Findings) -> None:
    """Add the faults of the services of a task."""
    ports: dict[str, set[str]] = {}
    known: set[str] = set()
    for position, service in enumerate(task.services):
        place, name = f"Services[{position}]", quoted(service.name)
        part = findings.below(place)
        _check_service(service, part)
        shown = quoted(service.name, ascii_only=True)
        findings.nest(part, f"service[{position}] {shown} validation failed: ")
        if service.address_mode in _OF_GROUPS:
            text = f'service {name} cannot use address_mode="{service.address_mode}"'
            findings.add(
                f'{text}, only services defined in a "group" block can use this mode', place
            )
        if service.name + service.port_label in known:
            findings.add(f"service {name} is duplicate", place)
        known.add(service.name + service.port_label)
        port = service.port_label
        if port and not (service.address_mode == "driver" and _NUMBER.fullmatch(port)):
            ports.setdefault(port, set()).add(service.name)
        if service.connect is not None:
            text = f'service {name} cannot have "connect" block, only services defined in a'
            findings.add(f'{text} "group" block can', place)
        _check_checks(service, place, ports, findings)
    if ports:
        _check_ports(group, task, ports, findings)


def _check_checks(
    service: Service, place: str, ports: dict[str, set[str]], findings: Findings
) -> None:
    known: set[str] = set()
    for check in service.checks:
        name = quoted(check.name)
        if check.name in known:
            findings.add(f"check {name} is duplicate", place)
        known.add(check.name)
        if check.address_mode in _OF_GROUPS:
            text = f'check {quoted(service.name)} cannot use address_mode="{check.address_mode}"'
            text += ', only checks defined in a "group" service block can use this mode'
            findings.add(text, place)
        if not needs_port(check):
            continue
        port = check.port_label or service.port_label
        if not port:
            findings.add(f"check {name} is missing a port", place)
        elif _NUMBER.fullmatch(port):
            _check_number(check, int(port), place, findings)
        else:
            ports.setdefault(port, set()).add(service.name)


def _check_number(check: Check, port: int, place: str, findings: Findings) -> None:
    if check.address_mode != "driver":
        text = f"check {quoted(check.name)} cannot use a numeric port {port}"
        findings.add(f'{text} without setting address_mode="driver"', place)
    elif port <= 0:
        findings.add(f"check {quoted(check.name)} has invalid numeric port {port}", place)


def _check_ports(
    group: TaskGroup, task: Task, ports: dict[str, set[str]], findings: Findings
) -> None:
    networks: list[NetworkResource] = [*group.networks[:1], *task.resources.networks]
    labels = {
        port.label
        for network in networks
        for port in (*network.reserved_ports, *network.dynamic_ports)
    }
    for label in sorted(ports.keys() - labels):
        text = f"port label {quoted(label)} referenced by services"
        findings.add(f"{text} {', '.join(sorted(ports[label]))} does not exist", "Services")


def _check_service(service: Service, findings: Findings) -> None:
    # References are resolved on the node, to letters as good as these.
    shown = _REFERENCE.sub("ENV-VAR", service.name)
    if _NAME.fullmatch(shown) is None:
        text = (
            "Service name must be valid per RFC 1123 and can contain only alphanumeric characters"
            " or dashes and must be no longer than 63 characters"
        )
        findings.add(f"{text}: {quoted(service.name)}", "Name")
    if service.address_mode in _ADDRESS_MODES:
        if service.address:
            text = 'Service address_mode must be "auto" if address is set'
            findings.add(text, "AddressMode")
    elif service.address_mode not in ("", "auto"):
        text = 'Service address_mode must be "auto", "host", or "driver"'
        findings.add(f"{text}; not {quoted(service.address_mode)}", "AddressMode")
    if service.on_update not in ("", *ON_UPDATE):
        text = 'Service on_update must be "require_healthy", "ignore_warnings", or "ignore"'
        findings.add(f"{text}; not {quoted(service.on_update)}", "OnUpdate")
    if service.provider in ("consul", "nomad"):
        _check_by_provider(service, findings)
    else:
        text = 'Service provider must be "consul", or "nomad"'
        findings.add(f"{text}; not {quoted(service.provider)}", "Provider")
    if service.identity is not None and not service.identity.get("Audience"):
        text = "Service identity must provide at least one target aud value"
        findings.add(text, "Identity")


def _check_by_provider(service: Service, findings: Findings) -> None:
    for position, check in enumerate(service.checks):
        problem = check_problem(check, service)
        if problem:
            findings.add(problem, f"Checks[{position}]")
    if service.provider == "nomad":
        if service.connect is not None:
            text = "Service with provider nomad cannot include Connect blocks"
            findings.add(text, "Connect")
        return
    if service.kind not in _KINDS:
        text = f"Service {service.name} kind must be one of consul service kind or empty"
        findings.add(text, "Kind")
    if service.connect is not None:
        check_connect(service, service.connect, findings)
