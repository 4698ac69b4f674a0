"""Every port that an allocation was granted, in one form: its group's, and those of its tasks.

Tasks with a network of their own are job files of old; their ports are the host's, unmapped.
"""

from collections.abc import Iterator

from scheduler.structs.network import AllocatedPort
from scheduler.structs.resources import AllocatedResources


def granted_ports(granted: AllocatedResources) -> Iterator[AllocatedPort]:
    """Those of the group, then those of each task."""
    yield from granted.shared.ports
    for task in granted.tasks:
        yield from ports_of_task(granted, task)


def ports_of_task(granted: AllocatedResources, task: str) -> Iterator[AllocatedPort]:
    """Those that the task has for itself; none for a name that is no task's."""
    found = granted.tasks.get(task)
    for network in found.networks if found else ():
        for port in (*network.reserved_ports, *network.dynamic_ports):
            yield AllocatedPort(
                label=port.label,
                value=port.value,
                host_ip=network.ip,
                ignore_collision=port.ignore_collision,
            )
