"""Where a download may go: not to this machine, its network, or a cloud's own door."""

import socket

import pytest

from cluster.agent.artifacts import addresses
from cluster.agent.artifacts.addresses import is_public, reachable_address
from cluster.agent.artifacts.order import ArtifactRefused


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.20.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - asked about, not bound to
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("2002:7f00:0001::", False),
    ],
)
def test_an_address_is_public_or_not(address, public):
    assert is_public(address) is public


def answers(*found):
    return lambda *_asked, **_more: [(0, 0, 0, "", (address, 80)) for address in found]


def test_a_name_with_a_public_address_is_reached_at_that_one(monkeypatch):
    monkeypatch.setattr(addresses.socket, "getaddrinfo", answers("10.0.0.1", "93.184.215.14"))
    assert reachable_address("x.example", 80, private=False) == "93.184.215.14"
    assert reachable_address("x.example", 80, private=True) == "10.0.0.1"


def test_a_name_of_this_network_is_refused_and_says_what_would_allow_it(monkeypatch):
    monkeypatch.setattr(addresses.socket, "getaddrinfo", answers("10.0.0.1"))
    with pytest.raises(ArtifactRefused, match="is the private address") as told:
        reachable_address("x.example", 80, private=False)
    assert "--artifact-private-addresses" in str(told.value)


def test_an_unknown_name_is_told(monkeypatch):
    def none(*_asked, **_more):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(addresses.socket, "getaddrinfo", none)
    with pytest.raises(ArtifactRefused, match="Name or service not known"):
        reachable_address("x.example", 80, private=False)
