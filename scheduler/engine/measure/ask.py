"""What one allocation of a task group asks of a node (placement.md 8.3).

In: a task group, and whether memory may be oversubscribed. Out: the resources it would be given
before ports, devices and cores are chosen. Knows no node.
"""

import msgspec

from scheduler.state.node_use import UseSum, use_of_resources
from scheduler.structs.device import RequestedDevice
from scheduler.structs.network import NetworkResource
from scheduler.structs.node_target import is_literal
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
)
from scheduler.structs.task_group import Task, TaskGroup

_LARGEST = 2**63 - 1


class GroupAsk(msgspec.Struct, frozen=True, kw_only=True):
    """One group's ask."""

    group: TaskGroup
    #: What is granted when nothing below has to be chosen on the node.
    resources: AllocatedResources
    #: The sum of `resources`.
    use: UseSum
    #: The group's network, which carries the ports; further ones are not looked at.
    network: NetworkResource | None
    #: Device requests with the name of their task, in task order.
    devices: tuple[tuple[str, RequestedDevice], ...]
    #: Whole cores by task, for tasks that want any.
    cores: dict[str, int]
    #: Networks of tasks, the form that came before group networks.
    task_networks: tuple[tuple[str, NetworkResource], ...]

    @property
    def is_plain(self) -> bool:
        """Nothing is to be chosen on the node: every node grants the same."""
        return self.network is None and self.chooses_ports_at_most

    @property
    def chooses_ports_at_most(self) -> bool:
        """Nothing but ports of the group's network is to be chosen on the node."""
        return not (self.devices or self.cores or self.task_networks)

    @property
    def has_literal_host_networks(self) -> bool:
        """No port's host network has to be looked up on the node."""
        network = self.network
        ports = (*network.reserved_ports, *network.dynamic_ports) if network else ()
        return all(is_literal(port.host_network) for port in ports)


def ask_of(group: TaskGroup, *, oversubscription: bool) -> GroupAsk:
    """The ask of a group; memory maxima count only with oversubscription."""
    resources = AllocatedResources(
        tasks={task.name: _task_resources(task, oversubscription) for task in group.tasks},
        task_lifecycles={task.name: task.lifecycle for task in group.tasks},
        shared=AllocatedSharedResources(disk_mb=group.ephemeral_disk.size_mb),
    )
    return GroupAsk(
        group=group,
        resources=resources,
        use=use_of_resources(resources),
        network=group.networks[0] if group.networks else None,
        devices=tuple((task.name, ask) for task in group.tasks for ask in task.resources.devices),
        cores={
            task.name: task.resources.cores for task in group.tasks if task.resources.cores > 0
        },
        task_networks=tuple(
            (task.name, task.resources.networks[0])
            for task in group.tasks
            if task.resources.networks
        ),
    )


def _task_resources(task: Task, oversubscription: bool) -> AllocatedTaskResources:  # noqa: FBT001 - private, one caller
    ask = task.resources
    most = ask.memory_max_mb if oversubscription else 0
    if most > 0:
        most = min(most + ask.secrets_mb, _LARGEST)
    return AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=ask.cpu),
        memory=AllocatedMemory(
            memory_mb=min(ask.memory_mb + ask.secrets_mb, _LARGEST), memory_max_mb=most
        ),
    )
