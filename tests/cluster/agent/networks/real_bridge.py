"""A bridge of this machine for one test, with names and addresses of its own, gone afterwards.

Skipped, saying why, where the plugins, the kernel or the right to make one is missing.
"""

import contextlib
import functools
import os
import subprocess

import pytest

from cluster.agent.fingerprint import default_address
from cluster.agent.networks import namespaces
from cluster.agent.networks.keeper import AllocNetworks
from cluster.agent.networks.lists import ADMIN_CHAIN, NetworkSettings, subnets
from cluster.agent.networks.offered import READY, WHY, offered_networks, why_no_namespaces
from scheduler.structs.network import AllocatedPort, NetworkResource
from scheduler.structs.resources import AllocatedResources, AllocatedSharedResources
from tests.builders import make_allocation, make_job, make_task_group

#: The address that mapped ports are reached at.
HERE = default_address()
_NUMBER = os.getpid() % 200


@functools.cache
def why_no_bridge() -> str:
    """Why tests can make no bridge here; "" where they can."""
    settings = NetworkSettings(bridge_subnet_ipv6="fd00:b1::/112")
    why = offered_networks(settings).attributes[WHY]
    return "" if why == READY else why


@pytest.fixture
def bridge(tmp_path):
    """The settings of a bridge; at the end everything that was made is gone, and was before."""
    if why := why_no_bridge():
        pytest.skip(f"no bridge networks on this machine: {why}")
    settings = NetworkSettings(
        bridge_name=f"bvtest{_NUMBER:03}",
        bridge_subnet=f"10.213.{_NUMBER}.0/24",
        bridge_subnet_ipv6=f"fd00:b1:{_NUMBER:x}::/112",
        address_directory=tmp_path / "addresses",
    )
    try:
        yield settings
        assert traces(settings) == []
    finally:
        run("ip", "link", "del", settings.bridge_name)
        for subnet, _ in subnets(settings):
            program = "ip6tables" if ":" in subnet else "iptables"
            rule = ("-o", settings.bridge_name, "-d", subnet, "-j", "ACCEPT")
            run(program, "-w", "-D", ADMIN_CHAIN, *rule)


@pytest.fixture
def namespace_directory(tmp_path):
    """Where tests keep namespaces."""
    if why := why_no_namespaces():
        pytest.skip(f"no networks of allocations on this machine: {why}")
    directory = tmp_path / "netns"
    yield directory
    left = [each.name for each in directory.iterdir()] if directory.exists() else []
    for name in left:
        namespaces.remove(directory / name)
    namespaces.let_go(directory)
    assert left == [], "namespaces that were left"


def keeper_of(settings, directory):
    """What makes the networks of a storage."""
    return lambda storage: AllocNetworks(storage, settings, directory)


def traces(settings):
    """Interfaces on the bridge and rules that speak of it, but its own."""
    rules = [*run("iptables-save").splitlines(), *run("ip6tables-save").splitlines()]
    own = [line for line in rules if settings.bridge_name in line and ADMIN_CHAIN not in line]
    links = run("ip", "-o", "link", "show", "master", settings.bridge_name).splitlines()
    return own + links


def run(*command):
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return ""


def networked(number, *tasks, mode="bridge", ports=(), **network):
    """An allocation whose group has that network; ports as label, number, number inside."""
    group = make_task_group(tasks=tasks, networks=(NetworkResource(mode=mode, **network),))
    job = make_job(task_groups=(group,))
    granted = tuple(
        AllocatedPort(label=label, value=value, to=to, host_ip=HERE) for label, value, to in ports
    )
    shared = AllocatedSharedResources(ports=granted)
    alloc = make_allocation(job, number)
    return alloc.changed(allocated_resources=AllocatedResources(shared=shared)), job
