"""What comes before the tasks of an allocation: data, directories, ports, network, services.

In: an allocation that may begin. Out: its runner's first commands, or the reason why it cannot be
set up, which every task tells (node-agent-2.md 8.3, 9.2; the order of node-agent.md 5.1).
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Protocol

from cluster.agent import task_events as events
from cluster.agent.agent_state import Storage
from cluster.agent.disk_migration import DataHost, DiskMigration, files_problem
from cluster.agent.granted_ports import granted_ports
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.networks.keeper import AllocNetworks, NetworkFailed, refusal
from cluster.agent.services import group_problem
from cluster.agent.taken_ports import taken_ports
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.task_run import Command
from scheduler.ports import Clock
from scheduler.structs.allocation import Allocation

#: A line about ports in the history of each task.
PORTS = "Ports"
_OF_NETWORK = 'pre-run hook "network" failed: '


class BeginningHost(DataHost, Protocol):
    """Whoever holds the allocations of a node."""

    storage: Storage
    launcher: TaskLauncher
    clock: Clock
    networks: AllocNetworks


class Beginnings:
    """The beginnings of one node's allocations."""

    def __init__(
        self,
        host: BeginningHost,
        *,
        now: Callable[[], int],
        apply: Callable[[HostedAlloc, list[Command]], None],
        spawn: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        """`apply` carries commands out; `spawn` runs what takes time."""
        self._storage = host.storage
        self._launcher = host.launcher
        self._now = now
        self._networks = host.networks
        self._migration = DiskMigration(host, host.storage, host.launcher, host.clock)
        self._apply = apply
        self._spawn = spawn

    def begin(self, entry: HostedAlloc) -> None:
        """Everything it replaces has ended."""
        runner = entry.runner
        if self._storage.directories(runner.alloc.id) is None or runner.alloc.is_terminal:
            self._apply(entry, runner.begin(self._now()))
        elif self._migration.is_due(entry):
            self._spawn(self._migration.run(entry, self._with_data))
        else:
            self._with_data(entry)

    def _with_data(self, entry: HostedAlloc) -> None:
        """Everything that it takes along is here, or never will be."""
        if _is_over(entry):
            return
        why = files_problem(self._storage, self._launcher, entry) or self._network_problem(entry)
        if why:
            self._fail(entry, why)
        elif self._networks.is_due(entry.runner):
            self._spawn(self._connect(entry))
        else:
            self._with_network(entry)

    def _network_problem(self, entry: HostedAlloc) -> str:
        """Why it cannot have the network and ports that it was granted; "": nothing is known."""
        runner = entry.runner
        if why := refusal(runner, self._launcher.drivers):
            return _OF_NETWORK + why
        everywhere = self._networks.is_due(runner) and self._networks.settings.binds_every_address
        ports = granted_ports(runner.alloc.allocated_resources)
        found = taken_ports(ports, everywhere=everywhere)
        for remark in found.remarks:
            for run in runner.tasks.values():
                run.say(events.event(PORTS, self._now(), remark))
        return _OF_NETWORK + "; ".join(found.refusals) if found.refusals else ""

    async def _connect(self, entry: HostedAlloc) -> None:
        try:
            await self._networks.set_up(entry.runner)
        except NetworkFailed as problem:
            self._fail(entry, f"{_OF_NETWORK}{problem}")
            return
        if _is_over(entry):
            # Its end came meanwhile, and found nothing to take away yet.
            await self._networks.remove(entry.runner.alloc.id)
        else:
            self._with_network(entry)

    def _with_network(self, entry: HostedAlloc) -> None:
        why = group_problem(entry.runner, self._launcher.node())
        if why:
            self._fail(entry, why)
        else:
            self._apply(entry, entry.runner.begin(self._now()))

    def _fail(self, entry: HostedAlloc, why: str) -> None:
        if not _is_over(entry):
            self._apply(entry, entry.runner.fail_setup(why, self._now()))


def ends_first(
    alloc: Allocation, others: Mapping[str, HostedAlloc], elsewhere: Collection[str]
) -> frozenset[str]:
    """Allocations that have to end before this one begins: what it replaces, who has its ports.

    The server gives ports and devices away as soon as their allocation is to end. `elsewhere`: of
    other nodes.
    """
    replaced = {alloc.previous_allocation, *alloc.preempted_allocations}
    wanted = _held(alloc)
    # Whoever wants neither meets only those it replaces: a node may run hundreds of others.
    met = others if wanted else replaced & others.keys()
    here = {
        each
        for each, entry in ((each, others[each]) for each in met)
        if each != alloc.id
        and not entry.runner.is_terminal
        and (each in replaced or wanted & _held(entry.runner.alloc))
    }
    return frozenset(here | ({alloc.previous_allocation} & set(elsewhere)))


def _held(alloc: Allocation) -> set[tuple[str | int, ...]]:
    """Ports and devices that no other allocation may have at the same time."""
    granted = alloc.allocated_resources
    held: set[tuple[str | int, ...]] = {
        (port.host_ip, port.value) for port in granted_ports(granted) if not port.ignore_collision
    }
    for task in granted.tasks.values():
        for each in task.devices:
            held |= {(each.vendor, each.type, each.name, one) for one in each.device_ids}
    return held


def _is_over(entry: HostedAlloc) -> bool:
    return entry.runner.is_terminal or entry.runner.killing is not None or entry.is_unwanted
