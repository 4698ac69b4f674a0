"""Rules for services and their health checks.

In: a group or a task. Out: what is wrong with its services.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from cluster.jobspec.durations import duration_text
from cluster.jobspec.findings import Findings
from scheduler.structs.policies import SECOND
from scheduler.structs.service import Check, Service
from scheduler.structs.task_group import TaskGroup

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE | re.ASCII)
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_ADDRESS_MODES = ("", "auto", "host", "driver", "alloc", "alloc_ipv6")
_ON_UPDATE = ("require_healthy", "ignore_warnings", "ignore")
#: Check types by provider, in the order in which refusals list them.
_CHECK_TYPES = {"nomad": ("tcp", "http"), "consul": ("tcp", "http", "grpc", "script")}
_IN_TASK = ("script", "grpc")


def check_group_services(group: TaskGroup, findings: Findings) -> None:
    """Add the faults of the services of a group itself."""
    _check_each(group.services, findings)
    _check_names(group, findings)


def check_task_services(services: tuple[Service, ...], findings: Findings) -> None:
    """Add the faults of the services of a task."""
    for position, service in enumerate(services):
        part = findings.below(f"Services[{position}]")
        _check_service(service, part)
        findings.nest(part, f"service {position} validation failed: ")


def exposed_check_problem(group: TaskGroup) -> str:
    """Why a check of the group cannot be exposed through a mesh.

    Empty if none is to be or all can.
    """
    if not any(check.expose for service in group.services for check in service.checks):
        return ""
    head = "connect expose check:"
    if len(group.networks) != 1:
        return (
            f'{head} group "{group.name}" must specify one bridge network for '
            "exposing service check(s)"
        )
    mode = group.networks[0].mode
    if mode == "bridge" or mode.startswith("cni/"):
        return ""
    text = (
        f'invalid network mode for Consul Connect: group "{group.name}" uses network mode "{mode}"'
    )
    return f'{head} {text}; must be "bridge" or "cni/*"'


def check_script_checks(group: TaskGroup, findings: Findings) -> None:
    """Add the checks of the group that run inside a task but do not say in which."""
    for position, service in enumerate(group.services):
        for check in service.checks:
            if check.type in _IN_TASK and not (check.task_name or service.task_name):
                who = f"Service [{group.name}]->{service.name} or Check {check.name}"
                findings.add(f"{who} must specify task parameter", f"[{position}]")


def _check_each(services: tuple[Service, ...], findings: Findings) -> None:
    for position, service in enumerate(services):
        part = findings.below(f"[{position}]")
        _check_service(service, part)
        findings.nest(part, f"Service[{position}] {service.name} validation failed: ")


def _check_names(group: TaskGroup, findings: Findings) -> None:
    """Two services may share a name only if they differ in port, provider or cluster."""
    seen: set[tuple[str, str, str, str]] = set()
    for position, service in enumerate(group.services):
        key = (service.name, service.port_label, service.provider, service.cluster)
        if key in seen and service.port_label:
            text = f"Services are not unique: {service.name} on port {service.port_label}"
            findings.add(text, f"[{position}]")
        seen.add(key)


def _check_service(service: Service, findings: Findings) -> None:
    # References are resolved on the node, to letters as good as these.
    shown = _REFERENCE.sub("ENV-XXX", service.name)
    if _NAME.fullmatch(shown) is None:
        text = (
            "Service name must be valid per RFC 1123 and can contain only alphanumeric characters"
        )
        text += f' or dashes and must be no longer than 63 characters: "{service.name}"'
        findings.add(text, "Name")
    if service.address_mode not in _ADDRESS_MODES:
        text = 'Service address_mode must be "auto", "host", "driver", "alloc" or "alloc_ipv6"'
        findings.add(f'{text}; not "{service.address_mode}"', "AddressMode")
    if service.on_update not in _ON_UPDATE:
        text = 'Service on_update must be "require_healthy", "ignore_warnings", or "ignore"'
        findings.add(f'{text}; not "{service.on_update}"', "OnUpdate")
    if service.provider not in _CHECK_TYPES:
        text = 'Service provider must be "consul", or "nomad"'
        findings.add(f'{text}; not "{service.provider}"', "Provider")
        return
    for position, check in enumerate(service.checks):
        _check_check(check, service, findings, f"Checks[{position}]")
    if service.provider == "nomad" and service.connect is not None:
        findings.add("Service with provider nomad cannot include Connect blocks", "Connect")


def _check_check(check: Check, service: Service, findings: Findings, place: str) -> None:
    """Add the first fault of a check: what follows from it would only repeat it."""
    text = next(_check_faults(check, service), None)
    if text is not None:
        findings.add(text, place)
        return
    if check.check_restart is not None and check.check_restart.limit < 0:
        part = findings.below(place)
        limit = check.check_restart.limit
        part.add(
            f"limit must be greater than or equal to 0 but found {limit}", "CheckRestart.Limit"
        )
        findings.nest(part)
    elif check.check_restart is not None and check.check_restart.grace < 0:
        part = findings.below(place)
        grace = duration_text(check.check_restart.grace)
        part.add(
            f"grace period must be greater than or equal to 0 but found {grace}",
            "CheckRestart.Grace",
        )
        findings.nest(part)
    elif check.expose and service.provider == "nomad":
        findings.add("expose may only be set for Consul service checks", place)


def _check_faults(check: Check, service: Service) -> Iterator[str]:
    allowed = _CHECK_TYPES[service.provider]
    if check.type not in allowed:
        yield f'invalid check type ("{check.type}"), must be one of {", ".join(allowed)}'
    yield from _type_faults(check)
    for name, value in (("interval", check.interval), ("timeout", check.timeout)):
        if value == 0:
            yield f"missing required value {name}. {name.title()} cannot be less than 1s"
        if value < SECOND:
            yield f"{name} ({duration_text(value)}) cannot be lower than 1s"
    if check.initial_status not in ("", "passing", "warning", "critical"):
        states = '"passing", "warning", "critical" or empty'
        yield f"invalid initial check state ({check.initial_status}), must be one of {states}"
    if check.address_mode not in ("", "host", "driver", "alloc"):
        yield f'invalid address_mode "{check.address_mode}"'
    if check.on_update not in ("", *_ON_UPDATE):
        values = '"require_healthy", "ignore_warnings", "ignore"'
        yield f'on_update must be one of {values}; got "{check.on_update}"'
    if check.check_restart is not None and check.on_update in ("ignore", "ignore_warnings"):
        is_partial = check.on_update == "ignore_warnings" and check.check_restart.ignore_warnings
        if not is_partial:
            yield f'on_update value "{check.on_update}" is not compatible with check_restart'


def _type_faults(check: Check) -> Iterator[str]:
    if check.type == "http":
        if not check.path:
            yield "http type must have http path"
        if _has_host(check.path):
            yield "http type must have relative http path"
    elif check.type == "script" and not check.command:
        yield "script type must have a valid script path"


def _has_host(path: str) -> bool:
    try:
        return bool(urlsplit(path).scheme)
    except ValueError:
        return True
