"""Whether ports that an allocation was granted are free on its node (node-agent-2.md 8.1).

In: granted ports. Out: a sentence for each that a stranger holds, a program of this machine that
is no task of ours. Nothing is held here: a port that is free now may be taken before its task
has it.
"""

import contextlib
import errno
import socket
from collections.abc import Iterable
from typing import NamedTuple

import psutil

from scheduler.structs.network import AllocatedPort

_EVERY_ADDRESS = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}  # noqa: S104 - only asked for


class TakenPorts(NamedTuple):
    """What was found."""

    #: Of ports that somebody listens on: no task could have them.
    refusals: tuple[str, ...] = ()
    #: Of ports taken for datagrams alone: a task that wants connections has them all the same.
    remarks: tuple[str, ...] = ()


def taken_ports(ports: Iterable[AllocatedPort], *, everywhere: bool = False) -> TakenPorts:
    """Ask the kernel for each port.

    `everywhere`: at every address of the node, as mapped ports are, not at the granted one alone.
    """
    refusals, remarks = [], []
    for port in ports:
        if port.ignore_collision:
            continue
        if _is_taken(port, socket.SOCK_STREAM, everywhere=everywhere):
            refusals.append(f"{_named(port)} is taken by {_holder(port, socket.SOCK_STREAM)}")
        elif _is_taken(port, socket.SOCK_DGRAM, everywhere=everywhere):
            holder = _holder(port, socket.SOCK_DGRAM)
            remarks.append(f"{_named(port)} is taken for datagrams (udp) by {holder}")
    return TakenPorts(tuple(refusals), tuple(remarks))


def _named(port: AllocatedPort) -> str:
    return f'port {port.value} of {port.host_ip} ("{port.label}")'


def _is_taken(port: AllocatedPort, kind: socket.SocketKind, *, everywhere: bool) -> bool:
    """Whether the kernel gives it to somebody already; False where it does not say."""
    family = socket.AF_INET6 if ":" in port.host_ip else socket.AF_INET
    address = _EVERY_ADDRESS[family] if everywhere else port.host_ip
    try:
        with socket.socket(family, kind) as asking:
            if kind is socket.SOCK_STREAM:
                # Connections that have ended do not keep anybody from listening.
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:
                asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            asking.bind((address, port.value))
    except OSError as problem:
        return problem.errno == errno.EADDRINUSE
    return False


def _holder(port: AllocatedPort, kind: socket.SocketKind) -> str:
    """Who has it, as far as this user may know."""
    stranger = "a program of this machine that is no task here"
    with contextlib.suppress(psutil.Error, OSError):
        for each in psutil.net_connections("tcp" if kind is socket.SOCK_STREAM else "udp"):
            has_it = each.laddr and each.laddr.port == port.value
            listens = kind is socket.SOCK_DGRAM or each.status == psutil.CONN_LISTEN
            if has_it and listens and each.pid:
                return f"{stranger}: {psutil.Process(each.pid).name()} ({each.pid})"
    return stranger
