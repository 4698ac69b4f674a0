"""What a task finds in its environment, and what `${...}` stands for (node-agent.md 11).

In: node, allocation, job, directories. Out: variables and interpolated values. Touches no file.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.agent.drivers.driver import TaskDirectories
from cluster.agent.granted_ports import ports_of_task
from scheduler.structs.allocation import Allocation, NetworkStatus
from scheduler.structs.job import Job
from scheduler.structs.network import AllocatedPort
from scheduler.structs.node import Node
from scheduler.structs.task_group import Task, TaskGroup

#: Never passed on from the agent's own environment.
DENIED = frozenset(
    {
        "CONSUL_TOKEN", "CONSUL_HTTP_TOKEN", "CONSUL_HTTP_TOKEN_FILE", "NOMAD_TOKEN",
        "VAULT_TOKEN", "CONSUL_LICENSE", "NOMAD_LICENSE", "VAULT_LICENSE", "CONSUL_LICENSE_PATH",
        "NOMAD_LICENSE_PATH", "VAULT_LICENSE_PATH", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "AWS_METADATA_URL", "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        # Of the agent itself; the reference passes it on.
        "NOMAD_CLIENT_INTRO_TOKEN",
    }
)  # fmt: skip
#: The agent's and the server's own settings, secrets among them.
DENIED_PREFIXES = ("BIVOUAC_", "DJANGO_", "CELERY_", "DATABASE_URL", "REDIS_URL", "REDISLITE_")

#: Below which control group a node's tasks have theirs, by the version of the interface.
_GROUPS = "os.cgroups.version"
_PARENT_GROUPS = {"1": "bivouac", "2": "bivouac.slice"}

_REFERENCE = re.compile(r"\$\{\s*([^{}]+?)\s*\}")
_QUOTED = re.compile(r'^(env|attr|meta)\["([^"]*)"\]$')
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True)
class TaskPlace:
    """One task of one allocation on its node."""

    node: Node
    alloc: Allocation
    job: Job
    group: TaskGroup
    task: Task
    region: str = "global"
    directories: TaskDirectories | None = None
    #: Of an allocation with a network of its own.
    network: NetworkStatus | None = None
    #: What its `secret` blocks gave, by the names that stand for it.
    secrets: Mapping[str, str] = field(default_factory=dict)


def task_variables(place: TaskPlace, host: Mapping[str, str]) -> dict[str, str]:
    """The task's whole environment: the host's (filtered), NOMAD_*, then the task's own `env`."""
    own = {
        key: value
        for key, value in host.items()
        if key not in DENIED and not key.startswith(DENIED_PREFIXES)
    }
    variables = {**own, **_described(place), **_meta(place), **_ports(place)}
    values = {**_known(place), **variables}
    for key in _meta(place):
        variables[key] = values[key] = _replaced(variables[key], values)
    task_env = {key: _replaced(text, values) for key, text in place.task.env.items()}
    values |= task_env
    return variables | {key: _replaced(text, values) for key, text in task_env.items()}


def interpolated(
    place: TaskPlace, variables: Mapping[str, str], config: Mapping[str, object]
) -> dict[str, object]:
    """Driver options with every `${...}` in them, keys included, replaced where it is known."""
    values = {**_known(place), **variables}
    return {_replaced(key, values): _deep(value, values) for key, value in config.items()}


def filler(place: TaskPlace, variables: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces every `${...}` of a text that is known."""
    values = {**_known(place), **variables}
    return lambda text: _replaced(text, values)


def _deep(value: object, values: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return _replaced(value, values)
    if isinstance(value, dict):
        return {_deep(key, values): _deep(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_deep(item, values) for item in value)
    return value


def _replaced(text: str, values: Mapping[str, str]) -> str:
    """An unknown reference stays as it is written."""

    def stand_for(match: re.Match[str]) -> str:
        name = match[1]
        if quoted := _QUOTED.match(name):
            name = quoted[2] if quoted[1] == "env" else f"{quoted[1]}.{quoted[2]}"
        return values.get(name, match[0])

    return _REFERENCE.sub(stand_for, text)


def _known(place: TaskPlace) -> dict[str, str]:
    """What stands for itself, without being a variable of the task."""
    return {**_node_values(place.node, place.region), **place.secrets}


def _node_values(node: Node, region: str) -> dict[str, str]:
    return {
        "node.unique.id": node.id,
        "node.unique.name": node.name,
        "node.datacenter": node.datacenter,
        "node.region": region,
        "node.class": node.node_class,
        "node.pool": node.node_pool,
        **{f"attr.{key}": value for key, value in node.attributes.items()},
        **{f"meta.{key}": value for key, value in node.meta.items()},
    }


def _described(place: TaskPlace) -> dict[str, str]:
    alloc, job, task = place.alloc, place.job, place.task
    variables = {
        "NOMAD_ALLOC_ID": alloc.id,
        "NOMAD_SHORT_ALLOC_ID": alloc.id[:8],
        "NOMAD_ALLOC_NAME": alloc.name,
        "NOMAD_ALLOC_INDEX": alloc.name.rpartition("[")[2].rstrip("]"),
        "NOMAD_TASK_NAME": task.name,
        "NOMAD_GROUP_NAME": alloc.task_group,
        "NOMAD_JOB_ID": job.id,
        "NOMAD_JOB_NAME": job.name or job.id,
        "NOMAD_JOB_PARENT_ID": job.parent_id,
        "NOMAD_DC": place.node.datacenter,
        "NOMAD_REGION": place.region,
        "NOMAD_NAMESPACE": alloc.namespace,
        "NOMAD_PARENT_CGROUP": _PARENT_GROUPS.get(place.node.attributes.get(_GROUPS, ""), ""),
        **_limits(place),
    }
    if place.directories is not None:
        seen = place.directories.as_seen
        variables |= {
            "NOMAD_ALLOC_DIR": seen(place.directories.shared),
            "NOMAD_TASK_DIR": seen(place.directories.local),
            "NOMAD_SECRETS_DIR": seen(place.directories.secrets),
        }
    return {key: value for key, value in variables.items() if value}


def _limits(place: TaskPlace) -> dict[str, str]:
    granted = place.alloc.allocated_resources.tasks.get(place.task.name)
    if granted is None:
        return {}
    maximum = granted.memory.memory_max_mb
    # As the reference: a blank where no core is the task's alone.
    cores = ",".join(str(core) for core in granted.cpu.reserved_cores) or " "
    return {
        "NOMAD_CPU_LIMIT": str(granted.cpu.cpu_shares),
        "NOMAD_CPU_CORES": cores,
        "NOMAD_MEMORY_LIMIT": str(granted.memory.memory_mb),
        "NOMAD_MEMORY_MAX_LIMIT": str(maximum) if maximum > 0 else "",
    }


def _meta(place: TaskPlace) -> dict[str, str]:
    job = place.job
    rules = job.parameterized_job if job.dispatched else None
    # A task may read what its dispatch left out, without asking whether it is there.
    optional = dict.fromkeys(rules.meta_optional if rules is not None else (), "")
    merged = {**optional, **job.meta, **place.group.meta, **place.task.meta}
    variables = {}
    for key, value in merged.items():
        name = _NOT_IN_NAMES.sub("_", key)
        variables[f"NOMAD_META_{name}"] = value
        variables[f"NOMAD_META_{name.upper()}"] = value
    return variables


def _ports(place: TaskPlace) -> dict[str, str]:
    variables: dict[str, str] = {}
    granted = place.alloc.allocated_resources
    for name in granted.tasks:
        for port in ports_of_task(granted, name):
            variables |= _task_port(port, "" if name == place.task.name else name)
    for port in place.alloc.allocated_resources.shared.ports:
        variables |= _port(port)
        if place.network is not None and place.network.address:
            variables |= _port_inside(port, place.network)
    return variables


def _port(port: AllocatedPort) -> dict[str, str]:
    label = _NOT_IN_NAMES.sub("_", port.label)
    inside = str(port.to if port.to > 0 else port.value)
    address = _bracketed(port.host_ip)
    return {
        f"NOMAD_PORT_{label}": inside,
        f"NOMAD_ALLOC_PORT_{label}": inside,
        f"NOMAD_IP_{label}": port.host_ip,
        f"NOMAD_ADDR_{label}": f"{address}:{port.value}",
        f"NOMAD_HOST_PORT_{label}": str(port.value),
        f"NOMAD_HOST_IP_{label}": port.host_ip,
        f"NOMAD_HOST_ADDR_{label}": f"{address}:{port.value}",
    }


def _task_port(port: AllocatedPort, other: str) -> dict[str, str]:
    """A port of a network that a task has for itself, as job files of old have them.

    `other`: whose it is, where it is not the task's own.
    """
    label = _NOT_IN_NAMES.sub("_", f"{other}_{port.label}" if other else port.label)
    told = {
        f"NOMAD_IP_{label}": port.host_ip,
        f"NOMAD_PORT_{label}": str(port.value),
        f"NOMAD_ADDR_{label}": f"{_bracketed(port.host_ip)}:{port.value}",
    }
    if other:
        return told
    family = "IPv6" if ":" in port.host_ip else "IPv4"
    return told | {
        f"NOMAD_{family}_{label}": port.host_ip,
        f"NOMAD_ALLOC_PORT_{label}": str(port.value),
        f"NOMAD_HOST_PORT_{label}": str(port.value),
    }


def _port_inside(port: AllocatedPort, network: NetworkStatus) -> dict[str, str]:
    """Where others on the allocation's own network reach the port."""
    label = _NOT_IN_NAMES.sub("_", port.label)
    inside = port.to if port.to > 0 else port.value
    return {
        f"NOMAD_ALLOC_INTERFACE_{label}": network.interface_name,
        f"NOMAD_ALLOC_IP_{label}": network.address,
        f"NOMAD_ALLOC_ADDR_{label}": f"{_bracketed(network.address)}:{inside}",
    }


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
