"""Rules for what a service says of Consul's mesh: transparent proxy, gateways, native services.

In: a service and its `Connect` block as the request wrote it. Out: what is wrong with the block.
What the groups around it must be like is in `cluster.jobspec.mesh_rules`.
"""

import ipaddress
from collections.abc import Iterator

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.service import Service
from scheduler.structs.task_group import Task, TaskGroup

#: A block of a request: field names to values, None where nothing was given.
Block = dict[str, object]
#: Tasks of this kind are the proxy of the service named behind it.
PROXY_KIND = "connect-proxy:"
_HIGHEST_USER = 65535
_PROTOCOLS = ("tcp", "http", "http2", "grpc")


def block_of(value: object) -> Block | None:
    """The value as a block; None if there is none."""
    return value if isinstance(value, dict) else None


def blocks_of(value: object) -> list[Block]:
    """The blocks of a list; none if there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def sidecar_of(service: Service) -> Block | None:
    """The sidecar of a meshed service."""
    return block_of((service.connect or {}).get("SidecarService"))


def proxy_of(service: Service) -> Block:
    """What the sidecar's proxy is told; empty if nothing."""
    return block_of((sidecar_of(service) or {}).get("Proxy")) or {}


def _text(block: Block, name: str) -> str:
    return str(block.get(name) or "")


def _texts(block: Block, name: str) -> list[str]:
    value = block.get(name)
    return [str(each) for each in value] if isinstance(value, list) else []


def _number(block: Block, name: str) -> int:
    value = block.get(name)
    return value if isinstance(value, int) else 0


def check_connect(service: Service, connect: Block, findings: Findings) -> None:
    """Add the faults of a `Connect` block: the first one, and what a native service lacks."""
    is_native = bool(connect.get("Native"))
    gateway = block_of(connect.get("Gateway"))
    tproxy = block_of(proxy_of(service).get("TransparentProxy"))
    faults = list(_transparent_faults(tproxy)) if tproxy is not None else []
    if len(faults) > 1:
        part = findings.below("Connect")
        for fault in faults:
            part.add(fault)
        findings.nest(part)
    elif faults:
        findings.add(faults[0], "Connect")
    elif (sidecar_of(service) is not None) + is_native + (gateway is not None) != 1:
        text = "Consul Connect must be exclusively native, make use of a sidecar"
        findings.add(f"{text}, or represent a Gateway", "Connect")
    elif gateway is not None:
        fault = next(_gateway_faults(gateway), "")
        if fault:
            findings.add(fault, "Connect")
    if is_native:
        head = f"Service {service.name} is Connect Native and requires setting the"
        if not service.task_name:
            findings.add(f"{head} task", "TaskName")
        if not service.port_label:
            findings.add(f"{head} port", "PortLabel")


def _transparent_faults(tproxy: Block) -> Iterator[str]:
    for network in _texts(tproxy, "ExcludeOutboundCIDRs"):
        reason = _network_problem(network)
        if reason:
            text = "could not parse transparent proxy excluded outbound CIDR as network prefix"
            yield f"{text}: netip.ParsePrefix({quoted(network)}): {reason}"
    head = "transparent proxy block has invalid"
    user = _text(tproxy, "UID")
    named = [("UID", user)] if user else []
    for field, name in (*named, *(("ExcludeUIDs", u) for u in _texts(tproxy, "ExcludeUIDs"))):
        reason = number_problem(name, _HIGHEST_USER)
        if reason:
            yield f"{head} {field} field: invalid user ID {quoted(name)}: {reason}"


def number_problem(text: str, highest: int) -> str:
    """Why the text is no number from 0 to `highest`; empty if it is one."""
    if not (text.isascii() and text.isdigit()):
        return "invalid syntax"
    digits = text.lstrip("0")
    is_high = len(digits) > len(str(highest)) or int(digits or "0") > highest
    return "value out of range" if is_high else ""


def _network_problem(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"ParseAddr({quoted(address)}): unable to parse IP"
    if "%" in address:
        return "IPv6 zones cannot be present in a prefix"
    is_plain = bits.isascii() and bits.isdigit() and (bits == "0" or bits[0] != "0")
    if not is_plain or len(bits) > 3:
        return f"bad bits after slash: {quoted(bits)}"
    return "prefix length out of range" if int(bits) > parsed.max_prefixlen else ""


def _gateway_faults(gateway: Block) -> Iterator[str]:
    proxy = block_of(gateway.get("Proxy")) or {}
    if _text(proxy, "EnvoyDNSDiscoveryType") not in ("", "STRICT_DNS", "LOGICAL_DNS"):
        yield "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS"
    addresses = block_of(proxy.get("EnvoyGatewayBindAddresses")) or {}
    for _, value in sorted(addresses.items()):
        address = block_of(value) or {}
        if not _text(address, "Address"):
            yield "Consul Gateway Bind Address must be set"
        port = _number(address, "Port")
        if port <= 0 and port != -1:
            yield "Consul Gateway Bind Address must set valid Port"
    ingress = block_of(gateway.get("Ingress"))
    terminating = block_of(gateway.get("Terminating"))
    if ingress is not None:
        yield from _ingress_faults(ingress)
    if terminating is not None:
        yield from _terminating_faults(terminating)
    kinds = (ingress, terminating, gateway.get("Mesh"))
    if sum(kind is not None for kind in kinds) != 1:
        yield "One Consul Gateway Configuration must be set"


def _ingress_faults(ingress: Block) -> Iterator[str]:
    listeners = blocks_of(ingress.get("Listeners"))
    if not listeners:
        yield "Consul Ingress Gateway requires at least one listener"
    for listener in listeners:
        head = "Consul Ingress Listener requires"
        if _number(listener, "Port") <= 0:
            yield f"{head} valid Port"
        protocol = _text(listener, "Protocol") or "tcp"
        if protocol not in _PROTOCOLS:
            yield f"{head} protocol of {', '.join(_PROTOCOLS)}, got {quoted(protocol)}"
        services = blocks_of(listener.get("Services"))
        if not services:
            yield f"{head} one or more services"
        for service in services:
            yield from _ingress_service_faults(service, protocol)


def _ingress_service_faults(service: Block, protocol: str) -> Iterator[str]:
    head, name, hosts = "Consul Ingress Service", _text(service, "Name"), service.get("Hosts")
    if not name:
        yield f"{head} requires a name"
    if protocol == "tcp":
        if name == "*":
            yield f'{head} doesn\'t support wildcard name for "tcp" protocol'
        if hosts:
            text = 'doesn\'t support associating hosts to a service for the "tcp" protocol'
            yield f"{head} {text}"
    elif name == "*" and hosts:
        yield f'{head} with a wildcard "*" service name can not also specify hosts'


def _terminating_faults(terminating: Block) -> Iterator[str]:
    services = blocks_of(terminating.get("Services"))
    if not services:
        yield "Consul Terminating Gateway requires at least one service"
    for service in services:
        if not _text(service, "Name"):
            yield "Consul Linked Service requires Name"
        authority, certificate, key = (
            bool(_text(service, name)) for name in ("CAFile", "CertFile", "KeyFile")
        )
        if (certificate or key) and not authority:
            yield "Consul Linked Service TLS requires CAFile"
        if certificate != key:
            yield "Consul Linked Service TLS Cert and Key must both be set"
        if _text(service, "SNI") and not authority:
            yield "Consul Linked Service TLS SNI requires CAFile"


def check_proxy_task(group: TaskGroup, task: Task, served: str, findings: Findings) -> None:
    """Add the faults of a task that says it is the proxy of the service `served`."""
    if task.services:
        findings.add("Connect proxy task must not have a service block", "Services")
    if task.leader:
        findings.add("Connect proxy task must not have leader set", "Leader")
    names = [service.name for service in group.services if sidecar_of(service) is not None]
    if served in names:
        return
    if not names:
        text = f"No Connect services in task group with Connect proxy ({quoted(served)})"
    else:
        text = f"Connect proxy service name ({quoted(served)}) not found in Connect services"
        text += f" from task group: [{' '.join(names)}]"
    findings.add(text, "Kind")
