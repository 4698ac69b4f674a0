"""Rules for the ports of a group: no label and no static port twice.

In: a task group. Out: what is wrong with its networks.
"""

from collections.abc import Iterator

from cluster.jobspec.findings import Findings
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.task_group import TaskGroup


def check_networks(group: TaskGroup, findings: Findings) -> None:
    """Add the faults of the ports of a group and of its tasks' own networks."""
    labels: dict[str, str] = {}
    statics: dict[tuple[str, int], str] = {}
    for owner, network in _networks(group):
        for port in (*network.reserved_ports, *network.dynamic_ports):
            if port.label in labels:
                findings.add(f"Port label {port.label} already in use by {labels[port.label]}")
                continue
            labels[port.label] = owner
            _check_static(port, owner, statics, findings)


def _check_static(
    port: Port, owner: str, statics: dict[tuple[str, int], str], findings: Findings
) -> None:
    if port.value == 0 or port.ignore_collision:
        return
    key = (port.host_network, port.value)
    if key in statics:
        findings.add(f"Static port {port.value} already reserved by {statics[key]}")
    statics.setdefault(key, f"{owner}:{port.label}")


def _networks(group: TaskGroup) -> Iterator[tuple[str, NetworkResource]]:
    for network in group.networks:
        yield "taskgroup network", network
    for task in group.tasks:
        for network in task.resources.networks:
            yield f"task {task.name} network", network
