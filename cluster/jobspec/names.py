"""What a name may hold: the one rule for ids and names that come from outside.

In: a text, or a job or node with all its names. Out: what is wrong with each, and where it is. A
name stands in addresses, on one line of a page, in logs and in indexes of the database.
"""

import re
from collections.abc import Iterator

from cluster.jobspec.problems import Problem
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.service import Service
from scheduler.structs.task_group import Task, TaskGroup

#: C0, DEL, C1 and the two separators at which browsers and Python break lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Characters. PostgreSQL keeps no more than about 2,700 bytes in a row of an index.
LONGEST_NAME = 512


def name_fault(text: str) -> str:
    """Why the text cannot be a name, to be said after its path; empty when it can."""
    if _CONTROL.search(text):
        return "contains a control character"
    if len(text) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return ""


def name_faults(names: Iterator[tuple[str, str]]) -> list[Problem]:
    """A problem for each of these names, given with its path, that cannot be one."""
    return [
        Problem(path, f"{path} {fault}") for path, name in names if (fault := name_fault(name))
    ]


def job_names(job: Job) -> Iterator[tuple[str, str]]:
    """Every id and name in a job, with its path.

    NUL in those names for which it has a text of its own is left to that one.
    """
    yield "ID", _but_nul(job.id)
    yield "Name", _but_nul(job.name)
    yield "Region", job.region
    yield "NodePool", job.node_pool
    for position, datacenter in enumerate(job.datacenters):
        yield f"Datacenters[{position}]", datacenter
    for position, group in enumerate(job.task_groups):
        yield from _group_names(group, f"TaskGroups[{position}]")


def node_names(node: Node) -> Iterator[tuple[str, str]]:
    """Every name that a node brings, with its path."""
    yield "Node.Name", node.name
    yield "Node.Datacenter", node.datacenter
    yield "Node.NodeClass", node.node_class
    yield "Node.HTTPAddr", node.http_addr
    for field, names in (
        ("Attributes", node.attributes),
        ("Meta", node.meta),
        ("Links", node.links),
        ("Drivers", node.drivers),
        ("HostVolumes", node.host_volumes),
        ("HostNetworks", node.host_networks),
        ("CSIControllerPlugins", node.csi_controller_plugins),
        ("CSINodePlugins", node.csi_node_plugins),
    ):
        for name in names:
            yield f"Node.{field}", name
    for position, device in enumerate(node.node_resources.devices):
        for name in (device.vendor, device.type, device.name):
            yield f"Node.NodeResources.Devices[{position}]", name


def _group_names(group: TaskGroup, path: str) -> Iterator[tuple[str, str]]:
    yield f"{path}.Name", _but_nul(group.name)
    for name, volume in sorted(group.volumes.items()):
        yield f"{path}.Volumes", name
        yield f"{path}.Volumes.Source", volume.source
    for number, network in enumerate(group.networks):
        for kind, ports in (
            ("ReservedPorts", network.reserved_ports),
            ("DynamicPorts", network.dynamic_ports),
        ):
            for position, port in enumerate(ports):
                yield f"{path}.Networks[{number}].{kind}[{position}].Label", port.label
    yield from _service_names(group.services, path)
    for position, task in enumerate(group.tasks):
        yield from _task_names(task, f"{path}.Tasks[{position}]")


def _task_names(task: Task, path: str) -> Iterator[tuple[str, str]]:
    yield f"{path}.Name", _but_nul(task.name)
    yield f"{path}.Driver", task.driver
    yield f"{path}.User", task.user
    for position, device in enumerate(task.resources.devices):
        yield f"{path}.Resources.Devices[{position}].Name", device.name
    yield from _service_names(task.services, path)


def _service_names(services: tuple[Service, ...], path: str) -> Iterator[tuple[str, str]]:
    for number, service in enumerate(services):
        place = f"{path}.Services[{number}]"
        yield f"{place}.Name", service.name
        yield f"{place}.PortLabel", service.port_label
        for position, check in enumerate(service.checks):
            yield f"{place}.Checks[{position}].Name", check.name


def _but_nul(name: str) -> str:
    return name.replace("\0", "")
