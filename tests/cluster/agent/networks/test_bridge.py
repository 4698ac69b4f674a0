"""Groups with a bridge of their own, by the real plugins and the real kernel."""

import asyncio
import ipaddress
import json
import os
import signal
import socket
import urllib.request
from pathlib import Path

import psutil
import pytest

from cluster.agent.agent_state import DiskStorage
from cluster.agent.drivers.driver import Abilities
from cluster.agent.drivers.exec import ExecDriver
from cluster.agent.networks import namespaces
from cluster.agent.networks.lists import ADMIN_CHAIN
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.network import DNSConfig
from tests.builders import make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.networks.real_bridge import (
    HERE,
    bridge,
    keeper_of,
    namespace_directory,
    networked,
    run,
)
from tests.cluster.agent.real_groups import groups, rooted
from tests.cluster.agent.real_node import Node

__all__ = ["bridge", "groups", "namespace_directory", "rooted"]

SERVES = (
    "echo hello from $NOMAD_ALLOC_ID at $NOMAD_ALLOC_ADDR_http > local/index.html && cd local &&"
    " exec python3 -m http.server $NOMAD_PORT_http"
)


#: An address of the other kind that this machine is reached at; "" where it has none.
HERE_IPV6 = next(
    (
        each.address
        for addresses in psutil.net_if_addrs().values()
        for each in addresses
        if each.family == socket.AF_INET6
        and ipaddress.ip_address(each.address.split("%")[0]).is_private
        and not each.address.startswith(("fe80", "::1", "fd00:b1"))
    ),
    "",
)


def free_port():
    with socket.create_server((HERE, 0)) as taken:
        return taken.getsockname()[1]


def shell(script, name="web", driver="raw_exec"):
    return make_task(name=name, driver=driver, config={"command": "sh", "args": ["-c", script]})


def body_of(port, host):
    with urllib.request.urlopen(f"http://{host}:{port}/index.html", timeout=2) as answer:
        return answer.read().decode()


async def answer_of(port, host=HERE):
    """What is served there, once it is."""
    for _ in range(100):
        try:
            return await asyncio.to_thread(body_of, port, host)
        except OSError:
            await asyncio.sleep(0.1)
    return "nothing"


@pytest.fixture
async def node(bridge, namespace_directory, tmp_path):
    node = Node(tmp_path, networks=keeper_of(bridge, namespace_directory))
    await node.start()
    yield node
    await finish(node)
    await node.end()


def end_at_once(handle):
    """As the end of the machine does: the task, and the process beside it that would tell."""
    noted = json.loads(Path(handle.facts["directory"], "process.json").read_bytes())
    for pid in (noted["supervisor_pid"], noted["pid"]):
        os.kill(pid, signal.SIGKILL)


async def finish(node):
    """Stop every allocation, as a server does."""
    for alloc_id, entry in list(node.host.entries.items()):
        stopped = entry.runner.alloc.changed(desired_status=DesiredStatus.STOP)
        node.host.update(stopped, entry.runner.job)
        await until(lambda alloc_id=alloc_id: not node.host.networks.holds(alloc_id), "its end")


async def test_the_right_bytes_come_through_mapped_ports_of_two_that_use_the_same_port(node):
    name = node.host.networks.settings.bridge_name
    works = [
        networked(number, shell(SERVES), ports=[("http", free_port(), 8080)])
        for number in (701, 702)
    ]
    for alloc, job in works:
        node.host.add(alloc, job)
    for alloc, _ in works:
        await node.reach(alloc, ClientStatus.RUNNING)
    rules = [line for line in run("iptables", "-S", ADMIN_CHAIN).splitlines() if name in line]
    assert len(rules) == 1, "they began at the same time, and the bridge has one rule"
    for alloc, _ in works:
        status = node.host.entries[alloc.id].runner.report().network_status
        (port,) = alloc.allocated_resources.shared.ports
        assert status.interface_name == "eth0"
        assert await answer_of(port.value) == f"hello from {alloc.id} at {status.address}:8080\n"


async def test_a_group_has_an_address_of_each_kind_and_ports_are_mapped_to_both(node):
    port = free_port()
    serves = SERVES + " --bind ::"
    alloc, job = networked(705, shell(serves), ports=[("http", port, 8080)])
    node.host.add(alloc, job)
    assert f"hello from {alloc.id}" in await answer_of(port)
    status = node.host.entries[alloc.id].runner.report().network_status
    network = ipaddress.ip_network(node.host.networks.settings.bridge_subnet_ipv6)
    assert ipaddress.ip_address(status.address_ipv6) in network
    for host, number in ((status.address_ipv6, 8080), (HERE_IPV6, port)):
        if host:
            body = await answer_of(number, f"[{host}]")
            assert f"hello from {alloc.id}" in body, host


async def test_one_group_reaches_the_port_of_another_through_the_rules_for_forwarding(node):
    port = free_port()
    served, job = networked(711, shell(SERVES), ports=[("http", port, 8080)])
    node.host.add(served, job)
    await answer_of(port)
    asks = (
        "import urllib.request as r;"
        f"print(r.urlopen('http://{HERE}:{port}/index.html', timeout=5).read().decode())"
    )
    caller = make_task(driver="raw_exec", config={"command": "python3", "args": ["-c", asks]})
    alloc, its_job = networked(712, caller)
    node.host.add(alloc, its_job)
    await until(
        lambda: f"hello from {served.id}" in node.read(alloc, "alloc/logs/web.stdout.0"),
        "the answer inside the other group",
    )


async def test_an_agent_that_comes_back_finds_the_namespace_the_port_and_the_status(node):
    port = free_port()
    alloc, job = networked(721, shell(SERVES), ports=[("http", port, 8080)])
    node.host.add(alloc, job)
    before = await answer_of(port)
    status = node.host.entries[alloc.id].runner.network_status
    await node.stop()
    assert await answer_of(port) == before, "nobody needs the agent for it"
    await node.start()
    assert node.status(alloc) is ClientStatus.RUNNING
    assert node.host.entries[alloc.id].runner.network_status == status
    assert await answer_of(port) == before


async def test_after_a_start_of_the_machine_the_network_is_made_again_before_the_tasks(node):
    port = free_port()
    alloc, job = networked(731, shell(SERVES), ports=[("http", port, 8080)])
    node.host.add(alloc, job)
    assert f"hello from {alloc.id}" in await answer_of(port)
    entry = node.host.entries[alloc.id]
    await node.stop()
    end_at_once(entry.handles["web"])
    namespaces.remove(Path(entry.runner.network_namespace))
    await node.start()
    node.host.release()
    assert f"hello from {alloc.id}" in await answer_of(port)


async def test_what_an_agent_left_of_allocations_it_knows_no_more_is_taken_away(node):
    alloc, job = networked(741, shell("sleep 600"), ports=[("http", free_port(), 80)])
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    held = Path(node.host.entries[alloc.id].runner.network_namespace)
    entry = node.host.entries[alloc.id]
    await node.stop()
    end_at_once(entry.handles["web"])
    storage = DiskStorage(node.storage.state_dir, node.storage.alloc_dir)
    storage.delete(alloc.id)
    storage.close()
    assert namespaces.is_there(held)
    await node.start()
    assert not held.exists()
    assert node.storage.load_networks() == []


async def test_isolated_and_plain_tasks_share_one_namespace_with_name_and_resolver(
    rooted, bridge, namespace_directory, tmp_path
):
    drivers = [ExecDriver(lambda: rooted)]
    node = Node(tmp_path, drivers=drivers, networks=keeper_of(bridge, namespace_directory))
    await node.start()
    says = "ip -o -4 addr show eth0; hostname; cat /etc/resolv.conf; sleep 600"
    shows = "readlink /proc/self/ns/net"
    dns = DNSConfig(servers=("192.0.2.53",), searches=("${NOMAD_JOB_ID}.inside",))
    alloc, job = networked(
        751,
        shell(f"{shows}; {says}", name="in", driver="exec"),
        shell(f"{shows}; sleep 600", name="beside", driver="exec"),
        hostname="box-${NOMAD_ALLOC_INDEX}",
        dns=dns,
    )
    node.host.add(alloc, job)
    try:
        await node.reach(alloc, ClientStatus.RUNNING)
        status = node.host.entries[alloc.id].runner.network_status
        await until(
            lambda: (
                "nameserver" in node.read(alloc, "alloc/logs/in.stdout.0")
                and node.read(alloc, "alloc/logs/beside.stdout.0")
            ),
            "their words",
        )
        namespace, address, name, *resolver = node.read(
            alloc, "alloc/logs/in.stdout.0"
        ).splitlines()
        assert node.read(alloc, "alloc/logs/beside.stdout.0").splitlines() == [namespace]
        assert f"inet {status.address}/24" in address
        assert name == "box-751"
        assert resolver[:3] == [
            "# of the job's block dns",
            "nameserver 192.0.2.53",
            "search web.inside",
        ]
        assert status.dns == dns
    finally:
        await finish(node)
        await node.end()


async def test_without_any_network_there_is_a_loopback_alone(node):
    alloc, job = networked(761, shell("ls /sys/class/net; tail -n +3 /proc/net/dev"), mode="none")
    node.host.add(alloc, job)
    await until(lambda: "lo:" in node.read(alloc, "alloc/logs/web.stdout.0"), "its interfaces")
    last = node.read(alloc, "alloc/logs/web.stdout.0").splitlines()[-1]
    assert last.split(":")[0].strip() == "lo"


async def test_a_port_that_a_stranger_has_is_not_taken_away_from_it(node):
    with socket.create_server((HERE, 0)) as stranger:
        port = stranger.getsockname()[1]
        alloc, job = networked(771, shell(SERVES), ports=[("http", port, 8080)])
        node.host.add(alloc, job)
        await node.reach(alloc, ClientStatus.FAILED)
    (state,) = node.host.entries[alloc.id].runner.states.values()
    assert f"port {port} of {HERE}" in state.events[-1].display_message
    assert not node.host.networks.holds(alloc.id)


async def test_drivers_and_names_that_do_not_go_with_a_network_are_refused_by_name(node):
    for number, fields, text in (
        (781, {"mode": "bridge"}, 'task web does not support "bridge" networking mode'),
        (
            782,
            {"mode": "host", "hostname": "x"},
            'hostname cannot be set on task group using "host" networking mode',
        ),
    ):
        node.host.drivers["aside"] = Aside()
        alloc, job = networked(number, make_task(driver="aside"), **fields)
        node.host.add(alloc, job)
        await node.reach(alloc, ClientStatus.FAILED)
        (state,) = node.host.entries[alloc.id].runner.states.values()
        assert text in state.events[-1].display_message


class Aside:
    """A driver that knows nothing of networks."""

    name = "aside"
    abilities = Abilities()


async def test_a_lost_network_is_made_anew_in_the_namespace_that_the_tasks_are_in(node):
    """Only plugins whose check can be believed are asked; here they are taken to be such."""
    port = free_port()
    alloc, job = networked(791, shell(SERVES), ports=[("http", port, 8080)])
    node.host.add(alloc, job)
    assert f"hello from {alloc.id}" in await answer_of(port)
    held = Path(node.host.entries[alloc.id].runner.network_namespace)
    inode = held.stat().st_ino
    await node.stop()
    run("nsenter", f"--net={held}", "ip", "link", "del", "eth0")
    keeper = node.networks

    def believing(storage):
        networks = keeper(storage)
        networks._can_check = lambda: True
        return networks

    node.networks = believing
    await node.start()
    assert held.stat().st_ino == inode
    assert f"hello from {alloc.id}" in await answer_of(port)
