"""What a simulated fleet consists of: the same options and seed always make the same nodes.

In: options. Out: one Node per simulated machine, with its secret. Pure.
"""

import hashlib
import hmac
import itertools
from dataclasses import dataclass, field
from typing import TypeVar

from cluster.agent.fingerprint import MAX_DYNAMIC_PORT, MIN_DYNAMIC_PORT, SIGNALS
from cluster.versions import REFERENCE_VERSION
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress
from scheduler.structs.node import (
    SIMULATED,
    DriverInfo,
    Node,
    NodeCpu,
    NodeDisk,
    NodeMemory,
    NodeResources,
)

Item = TypeVar("Item")

_MHZ_PER_CORE = 2500


@dataclass(frozen=True)
class FleetOptions:
    """The make-up of a fleet. Of each list the nodes take one item in turn."""

    nodes: int = 10
    datacenters: tuple[str, ...] = ("dc1",)
    pools: tuple[str, ...] = ("default",)
    classes: tuple[str, ...] = ("",)
    #: MHz, MB, MB.
    cpu: tuple[int, ...] = (4000,)
    memory: tuple[int, ...] = (8192,)
    disk: tuple[int, ...] = (100_000,)
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    meta: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Besides `mock_driver`; their tasks run until they are stopped.
    drivers: tuple[str, ...] = ()
    seed: int = 1
    name_prefix: str = "sim"


@dataclass(frozen=True)
class Member:
    """One simulated machine."""

    node: Node
    secret: str


def members_of(options: FleetOptions, key: str) -> tuple[Member, ...]:
    """The fleet's machines; `key` keeps the secrets that are derived from the seed secret."""
    return tuple(
        Member(_node(options, number), _derived(key, options, number, "secret"))
        for number in range(options.nodes)
    )


def _node(options: FleetOptions, number: int) -> Node:
    """Lists of different lengths are walked so that every combination comes up."""
    turn = _Turns(number)
    datacenter = turn.of(options.datacenters)
    node_class = turn.of(options.classes)
    pool = turn.of(options.pools)
    cpu, memory, disk = turn.of(
        tuple(itertools.zip_longest(options.cpu, options.memory, options.disk))
    )
    cpu, memory = cpu or options.cpu[-1], memory or options.memory[-1]
    chosen = {key: turn.of(values) for key, values in options.attributes.items()}
    meta = {key: turn.of(values) for key, values in options.meta.items()}
    name = f"{options.name_prefix}-{options.seed}-{number:04d}"
    drivers = ("mock_driver", *options.drivers)
    return Node(
        id=_derived("", options, number, "id"),
        name=name,
        datacenter=datacenter,
        node_class=node_class,
        node_pool=pool,
        meta=meta,
        attributes=_attributes(name, cpu, memory, drivers) | chosen,
        drivers={driver: DriverInfo(detected=True, healthy=True) for driver in drivers},
        node_resources=_resources(number, cpu, memory, disk or options.disk[-1]),
    )


class _Turns:
    """Takes items of lists by a node's number, each list at its own pace."""

    def __init__(self, number: int) -> None:
        self._number = number

    def of(self, items: tuple[Item, ...]) -> Item:
        self._number, place = divmod(self._number, len(items))
        return items[place]


def _attributes(name: str, cpu: int, memory: int, drivers: tuple[str, ...]) -> dict[str, str]:
    cores = max(1, cpu // _MHZ_PER_CORE)
    return {
        "cpu.arch": "amd64",
        "cpu.frequency": str(_MHZ_PER_CORE),
        "cpu.numcores": str(cores),
        "cpu.totalcompute": str(cpu),
        "kernel.name": "linux",
        "kernel.arch": "x86_64",
        "memory.totalbytes": str(memory * 1024 * 1024),
        "nomad.version": REFERENCE_VERSION,
        # Placing a job with services is tried out here, so the node says that it could.
        "nomad.service_discovery": "true",
        SIMULATED: "true",
        "os.name": "simulated",
        "os.signals": SIGNALS,
        "unique.hostname": name,
        **{f"driver.{driver}": "1" for driver in drivers},
    }


def _resources(number: int, cpu: int, memory: int, disk: int) -> NodeResources:
    address = f"10.{100 + number // 65025 % 100}.{number // 255 % 255}.{number % 255 + 1}"
    alias = NodeNetworkAddress(alias="default", address=address)
    return NodeResources(
        cpu=NodeCpu(cpu_shares=cpu, total_cpu_cores=max(1, cpu // _MHZ_PER_CORE)),
        memory=NodeMemory(memory_mb=memory),
        disk=NodeDisk(disk_mb=disk),
        networks=(
            NetworkResource(
                mode="host", device="eth0", cidr=f"{address}/32", ip=address, mbits=1000
            ),
        ),
        node_networks=(NodeNetwork(mode="host", device="eth0", speed=1000, addresses=(alias,)),),
        min_dynamic_port=MIN_DYNAMIC_PORT,
        max_dynamic_port=MAX_DYNAMIC_PORT,
    )


def _derived(key: str, options: FleetOptions, number: int, purpose: str) -> str:
    text = f"{options.name_prefix}/{options.seed}/{number}/{purpose}"
    digest = hmac.digest(key.encode() or b"bivouac fleet", text.encode(), hashlib.sha256).hex()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
