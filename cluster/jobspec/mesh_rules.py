"""What Consul's mesh and exposed checks ask of the groups of a job.

In: a canonical job. Out: the first thing wrong, as the steps find it that run before a job is
judged (`mesh_step_problem`) and those that judge it (`connect_problem`, `exposed_problem`).
"""

from collections.abc import Iterator

from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_connect import (
    block_of,
    blocks_of,
    number_problem,
    proxy_of,
    sidecar_of,
)
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.service import Check, Service
from scheduler.structs.task_group import Task, TaskGroup

_HIGHEST_PORT = 65535


def uses_mesh(job: Job) -> bool:
    """Whether any rule here can concern the job."""
    for group in job.task_groups:
        owners: tuple[TaskGroup | Task, ...] = (group, *group.tasks)
        for owner in owners:
            for service in owner.services:
                if service.connect is not None or any(check.expose for check in service.checks):
                    return True
    return False


def mesh_step_problem(job: Job) -> str:
    """Why proxies cannot be worked out for the job, which ends its request; empty if they can."""
    for group in job.task_groups:
        # Groups without a network are left to the judgement, which tells what they lack.
        text = next(_proxy_faults(group), "") if group.networks else ""
        if text:
            return f"error in job mutator connect: {text}"
    for group in job.task_groups:
        text = next(_exposing_faults(group), "")
        if text:
            return f"error in job mutator expose-check: {text}"
    return ""


def _proxy_faults(group: TaskGroup) -> Iterator[str]:
    for service in group.services:
        connect = service.connect or {}
        if sidecar_of(service) is not None:
            continue
        if connect.get("Native"):
            yield from _native_faults(group, service)
            continue
        gateway = block_of(connect.get("Gateway")) or {}
        if gateway.get("Mesh") is not None and not service.port_label:
            yield "service.port must be set for mesh gateway service"


def _native_faults(group: TaskGroup, service: Service) -> Iterator[str]:
    who = f"Consul Connect Native service {group.name}->{service.name}"
    if not service.task_name:
        if len(group.tasks) != 1:
            yield f"task for {who} is ambiguous and must be set"
    elif group.task(service.task_name) is None:
        yield f"task {service.task_name} named by {who} does not exist"


def _exposing_faults(group: TaskGroup) -> Iterator[str]:
    for service in group.services:
        for check in service.checks:
            if sidecar_of(service) is None or not _has_exposed_path(check):
                continue
            yield from _network_faults(group, "connect expose check")
            if not _has_local_port(group, service):
                who = f"{group.name}->{service.name}->{check.name}"
                yield f"unable to determine local service port for service check {who}"


def _has_exposed_path(check: Check) -> bool:
    return check.expose and check.type.lower() in ("grpc", "http") and check.path.startswith("/")


def _has_local_port(group: TaskGroup, service: Service) -> bool:
    label = service.port_label
    if any(port.label == label and port.value > 0 for port in _ports(group.networks)):
        return True
    return number_problem(label, 2**63 - 1) == "" and int(label) > 0


def _ports(networks: tuple[NetworkResource, ...]) -> Iterator[Port]:
    for network in networks:
        yield from network.reserved_ports
        yield from network.dynamic_ports


def connect_problem(job: Job) -> str:
    """The first fault of the groups whose services are meshed."""
    return next((text for group in job.task_groups for text in _mesh_faults(group)), "")


def _mesh_faults(group: TaskGroup) -> Iterator[str]:
    for service in group.services:
        connect = service.connect or {}
        if sidecar_of(service) is not None:
            yield from _network_faults(group, "connect sidecar")
            if service.name != service.name.lower():
                text = f"Consul Connect service name {quoted(service.name)} in group"
                yield f"{text} {quoted(group.name)} must not contain uppercase characters"
            if group.name != group.name.lower():
                text = f"Consul Connect group {quoted(group.name)} with service"
                yield f"{text} {quoted(service.name)} must not contain uppercase characters"
        elif connect.get("Native"):
            yield from _native_faults(group, service)
        elif connect.get("Gateway") is not None:
            yield from _network_faults(group, "connect gateway", host_too=True)
    yield from _upstream_faults(group)


def _network_faults(group: TaskGroup, head: str, *, host_too: bool = False) -> Iterator[str]:
    name = quoted(group.name)
    if len(group.networks) != 1:
        text = f"{head}: must have exactly one network for Consul Connect"
        yield f"{text}: group {name} has {len(group.networks)} networks"
        return
    mode = group.networks[0].mode
    if mode == "bridge" or mode.startswith("cni/") or (host_too and mode == "host"):
        return
    text = f"{head}: invalid network mode for Consul Connect: group {name} uses network mode"
    allowed = '"bridge", "host", or "cni/*"' if host_too else '"bridge" or "cni/*"'
    yield f"{text} {quoted(mode)}; must be {allowed}"


def _upstream_faults(group: TaskGroup) -> Iterator[str]:
    users: dict[str, str] = {}
    is_transparent = False
    for service in group.services:
        proxy = proxy_of(service)
        for upstream in blocks_of(proxy.get("Upstreams")):
            address = _address(upstream)
            if address in users:
                names = f"{quoted(service.name)} and {quoted(users[address])}"
                text = f"Consul Connect services {names} in group {quoted(group.name)}"
                yield f"{text} using same address for upstreams ({address})"
            users[address] = service.name
        transparent = block_of(proxy.get("TransparentProxy"))
        if transparent is not None:
            is_transparent = True
            yield from _transparent_faults(group, transparent)
    if is_transparent and sum(service.connect is not None for service in group.services) > 1:
        yield "Consul Connect transparent proxy requires there is only one connect block"


def _address(upstream: dict[str, object]) -> str:
    socket = str(upstream.get("LocalBindSocketPath") or "")
    host = str(upstream.get("LocalBindAddress") or "")
    shown = f"[{host}]" if ":" in host else host
    return socket or f"{shown}:{upstream.get('LocalBindPort') or 0}"


def _transparent_faults(group: TaskGroup, transparent: dict[str, object]) -> Iterator[str]:
    names = (network.dns for network in group.networks if network.dns is not None)
    has_names = any(dns.servers or dns.searches or dns.options for dns in names)
    if has_names and not transparent.get("NoDNS"):
        text = "Consul Connect transparent proxy cannot be used with network.dns"
        yield f"{text} unless no_dns=true"
    labels = {port.label for network in group.networks for port in network.reserved_ports}
    ports = transparent.get("ExcludeInboundPorts")
    for port in ports if isinstance(ports, list) else ():
        if port not in labels and number_problem(str(port), _HIGHEST_PORT):
            text = f"Consul Connect transparent proxy port {quoted(str(port))}"
            yield f"{text} must be numeric or one of network.port labels"


def exposed_problem(job: Job) -> str:
    """The first fault of a check that is to be reached through the mesh."""
    return next((text for group in job.task_groups for text in _exposed_faults(group)), "")


def _exposed_faults(group: TaskGroup) -> Iterator[str]:
    exposed = [
        (service, check) for service in group.services for check in service.checks if check.expose
    ]
    if exposed:
        yield from _network_faults(group, "connect expose check")
    for service, check in exposed:
        if sidecar_of(service) is None:
            who = f"{group.name}->{service.name}->{check.name}"
            yield f"exposed service check {who} requires use of sidecar_proxy"
    for task in group.tasks:
        for service in task.services:
            for check in service.checks:
                if check.expose:
                    who = f"{group.name}[{task.name}]->{service.name}->{check.name}"
                    yield f"exposed service check {who} is not a task-group service"
