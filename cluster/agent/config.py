"""What an operator says of an agent: where the server is, what the node is called and offers."""

from pathlib import Path

import msgspec

from cluster.agent.artifacts.order import Limits
from cluster.agent.collector import CollectionLimits
from cluster.agent.config_values import DrainOnShutdown
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.networks.lists import NetworkSettings
from cluster.agent.task_rights import DEFAULT_CAPABILITIES
from scheduler.structs.identity import DEFAULT_NODE_POOL
from scheduler.structs.network import HostNetwork
from scheduler.structs.node import HostVolume, ReservedResources


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one agent."""

    server: str
    #: The one certificate that the server may show (`sha256:…`), or a file of those who sign it.
    fingerprint: str = ""
    ca_file: str = ""
    #: Shown once, at the node's first registration.
    join_token: str = ""
    name: str = ""
    datacenter: str = "dc1"
    node_class: str = ""
    node_pool: str = DEFAULT_NODE_POOL
    meta: dict[str, str] = {}
    #: The address tasks are reached at; "" is that of the default route.
    address: str = ""
    state_dir: Path
    alloc_dir: Path
    #: Directories that jobs may ask for by name.
    host_volumes: tuple[HostVolume, ...] = ()
    #: Where volumes are made on demand, and programs that make them; None: beside the state.
    host_volumes_dir: Path | None = None
    host_volume_plugin_dir: Path | None = None
    #: Running commands of the host is off unless the node's owner wants it.
    raw_exec: bool = False
    #: What isolated tasks may ask for, by name.
    exec_capabilities: tuple[str, ...] = tuple(sorted(DEFAULT_CAPABILITIES))
    #: What tasks may have of the container engine of this machine.
    docker: DockerSettings = DockerSettings()
    #: The cloud that the machine's firmware names is asked what it tells of it.
    cloud_metadata: bool = True
    #: Nobody runs commands inside the tasks of this node.
    disable_remote_exec: bool = False
    max_kill_timeout_s: float = 30.0
    #: 0: what the machine has.
    cpu_mhz: int = 0
    memory_mb: int = 0
    disk_mb: int = 0
    reserved: ReservedResources = ReservedResources()
    #: Named networks of this machine, beside the one of `address`.
    host_networks: tuple[HostNetwork, ...] = ()
    #: Networks of allocations beside the host's.
    network: NetworkSettings = msgspec.field(default_factory=NetworkSettings)
    #: 0: as usual.
    min_dynamic_port: int = 0
    max_dynamic_port: int = 0
    #: None: its tasks run on when the agent ends.
    drain_on_shutdown: DrainOnShutdown | None = None
    #: When ended allocations make room.
    room: CollectionLimits = CollectionLimits()
    #: What one artifact may take.
    artifact: Limits = Limits()
    #: Retries come after a second, as on one's own machine.
    dev: bool = False
