"""Rules for the networks of a group: labels, static ports, CNI arguments, host name.

In: a task group. Out: what is wrong with its networks, its tasks' own ones included.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.network import CNIConfig, NetworkResource, Port
from scheduler.structs.task_group import TaskGroup

_HIGHEST_PORT = 65535
_HOST_MODES = ("", "host")
_LONGEST_LABEL = 63
_LONGEST_NAME = 255

#: Who holds a static port, by host network and number.
_Statics = dict[tuple[str, int], str]


def check_networks(group: TaskGroup, findings: Findings) -> None:
    """Add the faults of the networks of a group and of its tasks."""
    labels: set[str] = set()
    statics: _Statics = {}
    arguments: set[str] = set()
    for network in group.networks:
        for port in (*network.reserved_ports, *network.dynamic_ports):
            _check_label(port, labels, findings)
            labels.add(port.label)
            owner = f"taskgroup network:{port.label}"
            _check_static(port, owner, statics, findings, may_collide=port.ignore_collision)
            _check_mapping(port, network, findings)
        if network.cni is not None:
            _check_arguments(network.cni, arguments, findings)
        if network.hostname and "${" not in network.hostname and not _is_name(network.hostname):
            findings.add("Hostname is not a valid DNS name")
    for task in group.tasks:
        for network in task.resources.networks:
            for port in (*network.reserved_ports, *network.dynamic_ports):
                _check_label(port, labels, findings)
                owner = f"{task.name}:{port.label}"
                _check_static(port, owner, statics, findings, may_collide=False)


def _check_label(port: Port, labels: set[str], findings: Findings) -> None:
    if port.label in labels:
        findings.add(f"Port label {port.label} already in use by taskgroup network")


def _check_static(
    port: Port, owner: str, statics: _Statics, findings: Findings, *, may_collide: bool
) -> None:
    if port.value == 0:
        return
    key = (port.host_network or "default", port.value)
    if key in statics and not may_collide:
        findings.add(f"Static port {port.value} already reserved by {statics[key]}")
    elif port.value > _HIGHEST_PORT:
        findings.add(f"Port {port.label} ({port.value}) cannot be greater than {_HIGHEST_PORT}")
    else:
        statics[key] = owner


def _check_mapping(port: Port, network: NetworkResource, findings: Findings) -> None:
    head = f"Port {quoted(port.label)}"
    if port.to < -1:
        findings.add(f"{head} cannot be mapped to negative value {port.to}")
    elif port.to > _HIGHEST_PORT:
        text = f"cannot be mapped to a port ({port.to}) greater than {_HIGHEST_PORT}"
        findings.add(f"{head} {text}")
    if port.ignore_collision and network.mode not in _HOST_MODES:
        text = f"collision may not be ignored on non-host network mode {quoted(network.mode)}"
        findings.add(f"{head} {text}")


def _check_arguments(cni: CNIConfig, seen: set[str], findings: Findings) -> None:
    for key, value in sorted(cni.args.items()):
        if key in seen:
            findings.add(f"duplicate CNI arg {quoted(key)}")
        seen.add(key)
        if ";" in key:
            findings.add(f"invalid ';' character in CNI arg key {quoted(key)}")
        if ";" in value:
            findings.add(f"invalid ';' character in CNI arg value {quoted(value)}")


def _is_name(hostname: str) -> bool:
    """Whether a DNS name; only lengths count, any character may stand in it."""
    name = hostname.encode()
    if name == b".":
        return True
    labels = name.removesuffix(b".").split(b".")
    return len(name.removesuffix(b".")) <= _LONGEST_NAME and all(
        0 < len(label) <= _LONGEST_LABEL for label in labels
    )
