"""The network as one task meets it: its namespace, its name, who resolves names for it.

In: an allocation's runner. Out: what the driver of each of its tasks is told.
"""

from collections.abc import Callable

from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.drivers.driver import TaskNetwork
from cluster.agent.networks.keeper import network_of
from scheduler.structs.network import DNSConfig


def task_network(runner: AllocRunner, fill_in: Callable[[str], str]) -> TaskNetwork:
    """What the task is to be put in; `fill_in` replaces each `${...}`."""
    network, status = network_of(runner), runner.network_status
    dns = network.dns or (status.dns if status else None)
    if dns is not None:
        dns = DNSConfig(
            servers=tuple(map(fill_in, dns.servers)),
            searches=tuple(map(fill_in, dns.searches)),
            options=tuple(map(fill_in, dns.options)),
        )
    address = (status.address or status.address_ipv6) if status else ""
    return TaskNetwork(runner.network_namespace, address, fill_in(network.hostname), dns)
