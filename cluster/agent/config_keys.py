"""What may stand in an agent's configuration file, and what the reference has that ours lacks.

`*` stands for a name that the operator chooses. A key sets the option of `runagent` whose name it
gives, or a value that has no option. Kinds: text, texts, bool, whole, span, map.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigKey:
    """One key by its path, the blocks it stands in included."""

    path: str
    kind: str
    means: str
    #: The option of `runagent` that it sets, as in its parsed options; "": it has none.
    option: str = ""
    low: int = 0
    high: int = 2**40

    @property
    def steps(self) -> tuple[str, ...]:
        """The path, block by block."""
        return tuple(self.path.split("."))


KEYS = (
    ConfigKey("name", "text", "what the node is called", "node_name"),
    ConfigKey("datacenter", "text", "where the node stands", "datacenter"),
    ConfigKey("data_dir", "text", "what the agent and its tasks keep", "agent_dir"),
    ConfigKey("log_level", "text", "DEBUG, INFO, WARNING or ERROR"),
    ConfigKey("tls.ca_file", "text", "who signs the server's certificate", "ca_file"),
    ConfigKey("tls.fingerprint", "text", "the certificate that the server shows, by its SHA-256",
              "fingerprint"),
    ConfigKey("client.enabled", "bool", "true: this is an agent"),
    ConfigKey("client.servers", "texts", "the server's address, `https://host:port`", "addr"),
    ConfigKey("client.node_class", "text", "kind of the node, for constraints", "node_class"),
    ConfigKey("client.node_pool", "text", "pool the node belongs to", "node_pool"),
    ConfigKey("client.meta", "map", "what else is said of the node", "meta"),
    ConfigKey("client.network_interface", "text", "its first address is that of the tasks",
              "node_address"),
    ConfigKey("client.cpu_total_compute", "whole", "MHz of the node; 0: what it has", "cpu_mhz"),
    ConfigKey("client.memory_total_mb", "whole", "MiB; 0: what it has", "memory_mb"),
    ConfigKey("client.disk_total_mb", "whole", "MiB; 0: what it has", "disk_mb"),
    ConfigKey("client.min_dynamic_port", "whole", "the first port given to jobs that name none",
              low=1, high=65535),
    ConfigKey("client.max_dynamic_port", "whole", "the last one", low=1, high=65535),
    ConfigKey("client.max_kill_timeout", "span", "how long a task may take to end",
              "max_kill_timeout"),
    ConfigKey("client.gc_interval", "span", "how often is looked whether ended allocations have to"
              " make room; 1m", "gc_interval"),
    ConfigKey("client.gc_disk_usage_threshold", "whole", "percent of the disk of allocations from"
              " which on they have to; 80", "gc_disk_usage_threshold", low=1, high=100),
    ConfigKey("client.gc_inode_usage_threshold", "whole", "the same of its inodes; 70",
              "gc_inode_usage_threshold", low=1, high=100),
    ConfigKey("client.gc_max_allocs", "whole", "the same by the number of allocations, those that"
              " run among them; 50", "gc_max_allocs", high=1_000_000),
    ConfigKey("client.gc_parallel_destroys", "whole", "allocations whose files are deleted at the"
              " same time; 2", "gc_parallel_destroys", low=1, high=64),
    ConfigKey("client.disable_remote_exec", "bool", "no commands of people inside tasks",
              "disable_remote_exec"),
    ConfigKey("client.reserved.cpu", "whole", "MHz that jobs never get"),
    ConfigKey("client.reserved.cores", "text", "cores that jobs never get, as 0-1,3"),
    ConfigKey("client.reserved.memory", "whole", "MiB that jobs never get"),
    ConfigKey("client.reserved.disk", "whole", "MiB that jobs never get"),
    ConfigKey("client.reserved.reserved_ports", "text", "ports that jobs never get, as 22,80-90"),
    ConfigKey("client.host_volume.*.path", "text", "a directory that jobs may ask for by the"
              " block's name"),
    ConfigKey("client.host_volume.*.read_only", "bool", "whether they may only read it"),
    ConfigKey("client.host_volume_plugin_dir", "text", "programs that make volumes",
              "host_volume_plugin_dir"),
    ConfigKey("client.host_volumes_dir", "text", "where volumes that jobs make stand",
              "host_volumes_dir"),
    ConfigKey("client.host_network.*.cidr", "text", "the addresses in it are a network of the"
              " block's name; several with commas between"),
    ConfigKey("client.host_network.*.interface", "text", "those of this interface are"),
    ConfigKey("client.host_network.*.reserved_ports", "text", "ports of them that jobs never get"),
    ConfigKey("client.bind_wildcard_default_host_network", "bool", "ports of groups with a network"
              " of their own are those of every address, unless there is a host_network; true"),
    ConfigKey("client.bridge_network_name", "text", "the bridge of the mode `bridge`; bivouac"),
    ConfigKey("client.bridge_network_subnet", "text", "its IPv4 addresses; 172.26.64.0/20"),
    ConfigKey("client.bridge_network_subnet_ipv6", "text", "its IPv6 addresses; '': none"),
    ConfigKey("client.bridge_network_hairpin_mode", "bool", "a group may reach itself by its own"
              " mapped ports; false"),
    ConfigKey("client.cni_path", "text", "directories of CNI plugins, `:` between them;"
              " the variable CNI_PATH, else /opt/cni/bin:/usr/lib/cni:/usr/libexec/cni"),
    ConfigKey("client.cni_config_dir", "text", "where the lists for `cni/<name>` are;"
              " /opt/cni/config"),
    ConfigKey("client.drain_on_shutdown.deadline", "span", "how long the drain may take; 1h"),
    ConfigKey("client.drain_on_shutdown.force", "bool", "read, and without effect as in the"
              " reference"),
    ConfigKey("client.drain_on_shutdown.ignore_system_jobs", "bool", "leave those of system jobs"),
    ConfigKey("client.artifact.http_read_timeout", "span", "how long one download may take",
              "artifact_timeout"),
    ConfigKey("plugin.raw_exec.config.enabled", "bool", "run commands of this host", "raw_exec"),
    ConfigKey("plugin.docker.config.endpoint", "text", "socket of a container engine; '': none",
              "docker_socket"),
    ConfigKey("plugin.docker.config.volumes.enabled", "bool",
              "containers may see any directory of this host", "docker_volumes"),
    ConfigKey("plugin.docker.config.allow_privileged", "bool",
              "containers may have every right on this host", "docker_privileged"),
    ConfigKey("plugin.docker.config.gc.image", "bool", "images that were fetched for tasks, and"
              " none uses any more, are removed; true", "docker_keep_images"),
    ConfigKey("plugin.docker.config.gc.image_delay", "span", "after so long; 3m",
              "docker_image_delay"),
)  # fmt: skip

_SERVERS = "servers are set by environment variables; this file is an agent's"
_RPC = "agents speak HTTP with the server at `client.servers`"
_ELSEWHERE = "Consul and Vault are not built"
#: Keys of the reference that are refused by name, and why. A path stands for what is below it.
UNSUPPORTED = {
    "server": _SERVERS, "acl": _SERVERS, "limits": _SERVERS, "autopilot": _SERVERS,
    "ui": _SERVERS, "audit": _SERVERS, "keyring": _SERVERS, "reporting": _SERVERS,
    "http_api_response_headers": _SERVERS,
    "bind_addr": "an agent listens nowhere: it calls its server",
    "addresses": "an agent listens nowhere: it calls its server",
    "ports": "an agent listens nowhere: it calls its server",
    "advertise": "an agent listens nowhere: it calls its server",
    "region": "the region is the server's (BIVOUAC_REGION)",
    "consul": _ELSEWHERE, "vault": _ELSEWHERE, "sentinel": "Sentinel is not built",
    "telemetry": "numbers of agents are told by the server (docs/metrics.md)",
    "plugin_dir": "drivers are packages of Python", "plugin": "this driver is not configured here",
    "leave_on_interrupt": "an agent never leaves by itself; see client.drain_on_shutdown",
    "leave_on_terminate": "an agent never leaves by itself; see client.drain_on_shutdown",
    "enable_syslog": "what an agent logs goes to its standard error", "syslog_facility":
    "what an agent logs goes to its standard error", "log_file":
    "what an agent logs goes to its standard error", "log_json":
    "what an agent logs goes to its standard error", "log_rotate_bytes":
    "what an agent logs goes to its standard error", "log_rotate_duration":
    "what an agent logs goes to its standard error", "log_rotate_max_files":
    "what an agent logs goes to its standard error", "log_include_location":
    "what an agent logs goes to its standard error",
    "disable_update_check": "Bivouac asks nobody for updates",
    "disable_anonymous_signature": "Bivouac asks nobody for updates",
    "enable_debug": "profiles of an agent are not built",
    "tls": "an agent takes tls.ca_file or tls.fingerprint, else what the system trusts",
    "client.state_dir": "it is `state` in data_dir",
    "client.alloc_dir": "it is `alloc` in data_dir",
    "client.alloc_mounts_dir": "a driver that mounts says itself where",
    "client.server_join": _RPC, "client.network_speed": "the interface tells it",
    "client.preferred_address_family": "say the interface or the address",
    "client.cpu_disable_dmidecode": "dmidecode is never asked",
    "client.reservable_cores": "all cores but client.reserved.cores may be reserved by jobs",
    "client.client_min_port": "drivers need no ports", "client.client_max_port":
    "drivers need no ports", "client.no_host_uuid": "the node's id is always its own",
    "client.node_max_allocs": "a limit by number is not built",
    "client.default_ineligible": "make the node ineligible on the page Nodes",
    "client.gc_volumes_on_node_gc": "volumes are not deleted with their node",
    "client.common_plugin_dir": "plugins of the reference are not run",
    "client.chroot_env": "the driver that would need it says itself what a task sees",
    "client.cgroup_parent": "control groups are made below the agent's own",
    "client.nomad_service_discovery": "it is always on",
    "client.template": "templates have fixed limits", "client.users": "no driver makes users",
    "client.fingerprint": "which cloud is seen by itself; --no-cloud-metadata asks none",
    "client.options": "lists of drivers, users and variables are not built",
    "client.artifact": "of artifacts the time alone is set here",
    "client.stats": "statistics are kept as they are",
}  # fmt: skip


def key_at(steps: tuple[str, ...]) -> ConfigKey | None:
    """The key that a path of a file is."""
    return next((key for key in KEYS if _fits(key.steps, steps)), None)


def is_block(steps: tuple[str, ...]) -> bool:
    """Whether keys stand below a path."""
    size = len(steps)
    return any(len(key.steps) > size and _fits(key.steps[:size], steps) for key in KEYS)


def names_below(steps: tuple[str, ...]) -> list[str]:
    """What may stand in the block at a path."""
    size = len(steps)
    return sorted(
        {
            key.steps[size]
            for key in KEYS
            if len(key.steps) > size and _fits(key.steps[:size], steps)
        }
    )


def why_not(steps: tuple[str, ...]) -> str:
    """Why the reference's key at a path, or the block around it, is not taken; "" if unknown."""
    for size in range(len(steps), 0, -1):
        if reason := UNSUPPORTED.get(".".join(steps[:size])):
            return reason
    return ""


def _fits(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return len(pattern) == len(steps) and all(
        wanted in ("*", step) for wanted, step in zip(pattern, steps, strict=True)
    )
