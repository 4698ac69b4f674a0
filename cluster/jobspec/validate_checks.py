"""Rules for the health checks of services.

In: a check and its service. Out: the first thing wrong with it; what follows from that would only
repeat it.
"""

import re
from collections.abc import Iterator

from cluster.jobspec.durations import duration_text
from cluster.jobspec.problems import error_text
from cluster.jobspec.quoting import quoted
from scheduler.structs.policies import SECOND
from scheduler.structs.service import Check, Service

ON_UPDATE = ("require_healthy", "ignore_warnings", "ignore")
#: Check types by provider, in the order in which refusals list them.
_CHECK_TYPES = {"nomad": ("tcp", "http"), "consul": ("grpc", "tcp", "http", "script")}
_WITH_PORT = ("grpc", "http", "tcp")
_WITH_THRESHOLDS = ("tcp", "http", "grpc")
_ADDRESS_MODES = ("", "host", "driver", "alloc", "alloc_ipv6")
_METHODS = (
    "", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
)  # fmt: skip
_LONGEST_NOTES = 255
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)?:", re.ASCII)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})|[\x00-\x1f\x7f]")


def needs_port(check: Check) -> bool:
    """Whether the check connects to a port."""
    return check.type in _WITH_PORT


def check_problem(check: Check, service: Service) -> str:
    """The first fault of a check as its service tells it; empty if it has none."""
    if needs_port(check) and not check.port_label and not service.port_label:
        name = quoted(service.name, ascii_only=True)
        text = f"check requires a port but neither check nor service {name} have a port"
        return f"Check {check.name} invalid: {text}"
    if service.provider == "nomad":
        return next(_faults_of_nomad(check), "")
    text = ""
    if check.type == "tcp" and (service.connect or {}).get("SidecarService") is not None:
        text = "tcp checks are not valid for Connect enabled services"
    text = text or next(_faults_of_consul(check), "")
    return f"Check {check.name} invalid: {text}" if text else ""


def _faults_of_nomad(check: Check) -> Iterator[str]:
    yield from _common_faults(check, "nomad")
    only = "may only be set for Consul service checks"
    if check.expose:
        yield f"expose {only}"
    if check.on_update == "ignore_warnings":
        yield "on_update may only be set to ignore_warnings for Consul service checks"
    if check.check_restart is not None and check.check_restart.ignore_warnings:
        yield "ignore_warnings on check_restart only supported for Consul service checks"
    if check.address_mode == "driver":
        yield f"address_mode = driver {only}"
    if check.type == "http" and check.method.upper() not in _METHODS:
        yield f"method type {quoted(check.method)} not supported in Nomad http check"
    for name, value in _thresholds(check):
        if value != 0:
            yield f"{name} {only}"
    if check.tls_server_name:
        yield f"tls_server_name {only}"


def _faults_of_consul(check: Check) -> Iterator[str]:
    yield from _common_faults(check, "consul")
    if check.expose and check.type not in ("grpc", "http"):
        yield "expose may only be set on HTTP or gRPC checks"
    for name, value in _thresholds(check):
        if value < 0:
            yield f"{name} must be non-negative"
        if value > 0 and check.type not in _WITH_THRESHOLDS:
            yield f"{name} not supported for check of type {quoted(check.type)}"
    if len(check.notes.encode()) > _LONGEST_NOTES:
        yield f"notes must not be longer than {_LONGEST_NOTES} characters"


def _thresholds(check: Check) -> tuple[tuple[str, int], ...]:
    return (
        ("success_before_passing", check.success_before_passing),
        ("failures_before_critical", check.failures_before_critical),
        ("failures_before_warning", check.failures_before_warning),
    )


def _common_faults(check: Check, provider: str) -> Iterator[str]:
    allowed = _CHECK_TYPES[provider]
    kind = check.type.lower()
    if kind not in allowed:
        yield f"invalid check type ({quoted(kind)}), must be one of {', '.join(allowed)}"
    if kind == "http":
        yield from _path_faults(check.path)
    if kind == "script" and not check.command:
        yield "script type must have a valid script path"
    yield from _time_faults(check)
    if check.initial_status not in ("", "passing", "warning", "critical"):
        states = '"passing", "warning", "critical" or empty'
        yield f"invalid initial check state ({check.initial_status}), must be one of {states}"
    if check.address_mode == "auto":
        yield 'invalid address_mode "auto" - auto only valid for services'
    if check.address_mode not in _ADDRESS_MODES:
        yield f"invalid address_mode {quoted(check.address_mode)}"
    if check.on_update not in ("", *ON_UPDATE):
        values = '"require_healthy", "ignore_warnings", or "ignore"'
        yield f"on_update must be {values}; got {quoted(check.on_update)}"
    yield from _restart_faults(check)


def _time_faults(check: Check) -> Iterator[str]:
    if check.interval == 0:
        yield "missing required value interval. Interval cannot be less than 1s"
    if check.interval < SECOND:
        yield f"interval ({duration_text(check.interval)}) cannot be lower than 1s"
    if check.timeout == 0:
        yield "missing required value timeout. Timeout cannot be less than 1s"
    if check.timeout < SECOND:
        text = f"timeout ({duration_text(check.timeout)}) is lower than required"
        yield f"{text} minimum timeout 1s"


def _path_faults(path: str) -> Iterator[str]:
    if not path:
        yield "http type must have http path"
    scheme = _SCHEME.match(path)
    first = path.partition("?")[0].partition("/")[0]
    if scheme is not None and not scheme[1]:
        yield "http type must have valid http path"
    if _BROKEN_ESCAPE.search(path.partition("?")[0]) or (scheme is None and ":" in first):
        yield "http type must have valid http path"
    if scheme is not None:
        yield "http type must have relative http path"


def _restart_faults(check: Check) -> Iterator[str]:
    restart = check.check_restart
    if restart is None:
        return
    if check.on_update == "ignore":
        yield 'on_update value "ignore" is not compatible with check_restart'
    if check.on_update == "ignore_warnings" and not restart.ignore_warnings:
        text = 'on_update value "ignore_warnings" not supported with check_restart'
        yield f'{text} ignore_warnings value "false"'
    bounds = []
    if restart.limit < 0:
        bounds.append(f"limit must be greater than or equal to 0 but found {restart.limit}")
    if restart.grace < 0:
        text = "grace period must be greater than or equal to 0 but found"
        bounds.append(f"{text} {restart.grace}")
    if bounds:
        yield error_text(bounds)
