"""Which addresses of the network a download may reach; the node's own doors are none of them.

A name is looked up once and the address that was judged is the one that is connected to, so that a
name cannot answer with another one the second time.
"""

import ipaddress
import socket
from typing import Any

import httpx

from cluster.agent.artifacts.order import ArtifactRefused


def reachable_address(host: str, port: int, *, private: bool) -> str:
    """An address of the host that may be reached. Raises ArtifactRefused when there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise ArtifactRefused(f"dial tcp: lookup {host}: {_said(problem)}") from problem
    addresses = [str(entry[4][0]) for entry in found]
    if private:
        return addresses[0]
    for address in addresses:
        if is_public(address):
            return address
    raise ArtifactRefused(
        f"{host} is the private address {addresses[0]}, which this node does not fetch from"
        " (its owner may allow it: --artifact-private-addresses)"
    )


def is_public(address: str) -> bool:
    """Whether anybody may reach it: not this machine, its network, or a cloud's own door."""
    number = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(number, "ipv4_mapped", None) or getattr(number, "sixtofour", None)
    number = inner or number
    return number.is_global and not number.is_multicast


class JudgedTransport(httpx.HTTPTransport):
    """Connects to the address that was judged, under the name that was asked for."""

    def __init__(self, *, private: bool, **options: Any) -> None:
        super().__init__(**options)
        self._private = private

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """As its base; the certificate is still that of the name."""
        host = request.url.host
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        address = reachable_address(host, port, private=self._private)
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return super().handle_request(request)


def _said(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem)
