"""Where the services of an allocation listen, and what is checked of them (node-agent-2.md 1).

In: an allocation's runner, its node. Out: registrations and planned checks, or why an address
cannot be told. Pure: who registers is `service_keeper`, who probes `check_keeper`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.granted_ports import ports_of_task
from cluster.agent.task_environment import TaskPlace, interpolated, task_variables
from cluster.agent.task_run import Phase
from cluster.jobspec.problems import error_text
from scheduler.structs.node import Node
from scheduler.structs.service import Check, Service
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.task_group import Task

_PROVIDER = "nomad"
_LARGEST_PORT = 65_535
_OWN_ADDRESS = "unique.network.ip-address"


class NoAddress(Exception):
    """An address cannot be told; the message says of which services, and why."""


@dataclass(frozen=True)
class PlannedCheck:
    """A check with its target."""

    #: 64 hexadecimal digits; the same as long as the check is.
    id: str
    check: Check
    service: str
    #: "": a check of the group.
    task: str
    address: str
    port: int

    @property
    def counts(self) -> bool:
        """Whether its failing makes the allocation unhealthy."""
        return self.check.on_update != "ignore"


@dataclass(frozen=True)
class _Placed:
    """A service with its texts filled in, and where it was asked for."""

    service: Service
    task: str


def wanted_registrations(
    runner: AllocRunner, node: Node, region: str = "global"
) -> dict[str, ServiceRegistration]:
    """What is to be registered now, by id; a workload with an address that cannot be told is not.

    Services of the group from its beginning until it is killed, those of a task while it runs.
    """
    found: dict[str, ServiceRegistration] = {}
    for task in _workloads_now(runner):
        try:
            told = registrations_of(runner, node, task, region)
        except NoAddress:
            continue
        found |= {each.id: each for each in told}
    return found


def registrations_of(
    runner: AllocRunner, node: Node, task: str, region: str = "global"
) -> list[ServiceRegistration]:
    """Those of one task, or of the group ("" ); raises NoAddress with every problem."""
    found, problems = [], []
    for placed in _services_of(runner, node, task, region):
        service = placed.service
        mode = service.address_mode or "auto"
        try:
            address, port = _address(runner, node, placed, service.port_label, mode)
        except NoAddress as problem:
            problems.append(f'unable to get address for service "{service.name}": {problem}')
            continue
        found.append(_registration(runner, node, placed, address, port))
    if problems:
        raise NoAddress(error_text(problems))
    return found


def group_problem(runner: AllocRunner, node: Node) -> str:
    """Why the services of its group keep an allocation from beginning; "": nothing does."""
    try:
        registrations_of(runner, node, "")
    except NoAddress as problem:
        return f'pre-run hook "group_services" failed: {problem}'
    return ""


def planned_checks(
    runner: AllocRunner, node: Node, region: str = "global"
) -> dict[str, PlannedCheck]:
    """Every check of the allocation, by id; one without a target fails where it is probed."""
    found = {}
    for task in ("", *runner.tasks):
        for placed in _services_of(runner, node, task, region):
            for check in placed.service.checks:
                planned = _planned(runner, node, placed, check)
                found[planned.id] = planned
    return found


def has_begun(runner: AllocRunner) -> bool:
    """Whether its services are to be found and checked: it is neither over nor being killed."""
    return not runner.is_terminal and runner.killing is None and not runner.alloc.is_terminal


def _workloads_now(runner: AllocRunner) -> Iterable[str]:
    if has_begun(runner):
        if runner.withdrawal is None:
            yield ""
        for name, run in runner.tasks.items():
            if run.phase is Phase.RUNNING and not (run.kill_asked or run.restart_asked):
                yield name


def _services_of(runner: AllocRunner, node: Node, task: str, region: str) -> Iterable[_Placed]:
    of_task = runner.group.task(task) if task else None
    services = of_task.services if of_task else runner.group.services if not task else ()
    mine = [service for service in services if service.provider == _PROVIDER]
    if not mine:
        return
    place = TaskPlace(
        node=node,
        alloc=runner.alloc,
        job=runner.job,
        group=runner.group,
        # What a group is called has no task in it.
        task=of_task or Task(),
        region=region,
        network=runner.network_status,
    )
    variables = task_variables(place, {})
    for service in mine:
        yield _Placed(_filled(service, place, variables), task)


def _filled(service: Service, place: TaskPlace, variables: Mapping[str, str]) -> Service:
    """With every `${...}` in its texts, and in those of its checks, replaced where it is known."""
    plain: dict[str, object] = msgspec.to_builtins(service)
    return msgspec.convert(interpolated(place, variables, plain), Service)


def _registration(
    runner: AllocRunner, node: Node, placed: _Placed, address: str, port: int
) -> ServiceRegistration:
    service, alloc = placed.service, runner.alloc
    workload = placed.task or f"group-{runner.group.name}"
    health = runner.deployment_status or alloc.deployment_status
    is_canary = health is not None and health.canary
    tags = service.canary_tags if is_canary and service.canary_tags else service.tags
    return ServiceRegistration(
        id=f"_nomad-task-{alloc.id}-{workload}-{service.name}-{service.port_label}",
        service_name=service.name,
        namespace=alloc.namespace,
        node_id=node.id,
        datacenter=node.datacenter,
        job_id=alloc.job_id,
        alloc_id=alloc.id,
        tags=tags,
        address=address,
        port=port,
    )


def _planned(runner: AllocRunner, node: Node, placed: _Placed, check: Check) -> PlannedCheck:
    service = placed.service
    label = check.port_label or service.port_label
    mode = check.address_mode or ("auto" if service.address else "host")
    try:
        address, port = _address(runner, node, placed, label, mode)
    except NoAddress:
        address, port = "", 0
    task = placed.task or check.task_name or service.task_name
    named = replace(check, name=check.name or f'service: "{service.name}" check')
    about = (runner.alloc.id, placed.task, service.name, label, address, port, named)
    digest = hashlib.sha256(msgspec.msgpack.encode(about)).hexdigest()
    return PlannedCheck(digest, named, service.name, task, address, port)


def _address(
    runner: AllocRunner, node: Node, placed: _Placed, label: str, mode: str
) -> tuple[str, int]:
    service = placed.service
    if service.address and mode != "auto":
        raise NoAddress(f'cannot use custom advertise address with "{mode}" address mode')
    if mode == "driver":
        raise NoAddress('cannot use address_mode="driver": no driver network exists')
    if mode in ("alloc", "alloc_ipv6"):
        return _inside(runner, label, mode)
    port = _granted(runner, placed.task, label)
    if service.address:
        return service.address, 0 if not label else (port[1] if port else _number(label))
    if port is not None:
        return port
    # The reference tells no address here; the node's own is where a number can be reached.
    networks = runner.alloc.allocated_resources.shared.networks
    own = networks[0].ip if len(networks) == 1 else ""
    own = own or node.attributes.get(_OWN_ADDRESS, "")
    if not label:
        return (own, 0) if networks else ("", 0)
    if not label.isdecimal():
        raise NoAddress(f'invalid port "{label}": port label not found')
    return own, _number(label)


def _inside(runner: AllocRunner, label: str, mode: str) -> tuple[str, int]:
    status = runner.network_status
    address = ""
    if status is not None:
        address = status.address_ipv6 if mode == "alloc_ipv6" else status.address
    if not address:
        raise NoAddress(f'cannot use address_mode="{mode}": no allocation network status reported')
    if not label:
        return address, 0
    for port in runner.alloc.allocated_resources.shared.ports:
        if port.label == label:
            return address, port.to if port.to > 0 else port.value
    if not label.isdecimal():
        raise NoAddress(f'invalid port "{label}": port label not found or is not numeric')
    return address, _number(label)


def _granted(runner: AllocRunner, task: str, label: str) -> tuple[str, int] | None:
    """Of the group, or of the task whose service it is."""
    granted = runner.alloc.allocated_resources
    for port in (*granted.shared.ports, *ports_of_task(granted, task)):
        if port.label == label:
            return port.host_ip, port.value
    return None


def _number(label: str) -> int:
    if not label.isdecimal():
        raise NoAddress(f'invalid port: "{label}": not a valid port mapping or numeric port')
    port = int(label[:6])
    if not 0 < port <= _LARGEST_PORT:
        raise NoAddress(f'invalid port: "{label}": port must be >0')
    return port
