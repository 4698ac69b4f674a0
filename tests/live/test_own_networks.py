"""Groups with networks of their own, from a submitted job to the bytes on the wire and back."""

import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from cluster.agent.networks.lists import ADMIN_CHAIN, NetworkSettings
from cluster.bench.stack import Stack
from tests.cluster.agent.networks.real_bridge import run, traces, why_no_bridge
from tests.live.world import SIZE, AgentProcess, World, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXAMPLE = Path(__file__).parents[2] / "examples/own-network.nomad.hcl"
SETTINGS = NetworkSettings(
    bridge_name=f"bvlive{os.getpid() % 200:03}", bridge_subnet=f"10.214.{os.getpid() % 200}.0/24"
)
CONFIG = f"""
client {{
  bridge_network_name   = "{SETTINGS.bridge_name}"
  bridge_network_subnet = "{SETTINGS.bridge_subnet}"
}}
"""


@pytest.fixture(scope="module")
def world():
    """A cluster with one node that offers a bridge, whose agent may die."""
    if why := why_no_bridge():
        pytest.skip(f"no bridge networks on this machine: {why}")
    before = namespaces()
    with Stack(environment=SIZE) as stack:
        world = World(stack)
        agent = AgentProcess(stack, "bridged")
        config = stack.data_dir / "bridged.hcl"
        config.write_text(CONFIG)
        agent.environment["BIVOUAC_CONFIG"] = str(config)
        agent.start()
        world.agent = agent
        try:
            world.node("bridged")
            yield world
            for each in world.get("jobs"):
                world.purge(each["ID"])
            until(lambda: traces(SETTINGS) == [] and namespaces() <= before, "everything gone")
        finally:
            agent.kill()
            world.api.close()
            rule = ("-o", SETTINGS.bridge_name, "-d", SETTINGS.bridge_subnet, "-j", "ACCEPT")
            run("iptables", "-w", "-D", ADMIN_CHAIN, *rule)
            run("ip", "link", "del", SETTINGS.bridge_name)


def namespaces():
    """As `ip netns` lists them."""
    told = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in told.splitlines()}


def page_of(port):
    """What is served at a granted port, once it is."""

    def ask():
        try:
            address = f"http://{port['HostIP']}:{port['Value']}/index.html"
            return httpx.get(address, trust_env=False, timeout=2).text
        except httpx.TransportError:
            return ""

    return until(ask, "its page")


def test_the_example_is_reached_by_mapped_ports_through_the_end_of_its_agent(world):
    node = world.get(f"node/{world.node('bridged')['ID']}")
    assert node["Attributes"]["unique.bivouac.network.bridge"] == "ready"
    assert "bridge" in [network["Mode"] for network in node["NodeResources"]["Networks"]]
    world.register(world.api.put("/v1/jobs/parse", json={"JobHCL": EXAMPLE.read_text()}).json())
    allocs = [world.get(f"allocation/{each['ID']}") for each in world.running("own-network", 2)]
    shown = {}
    for alloc in allocs:
        (port,) = alloc["AllocatedResources"]["Shared"]["Ports"]
        status = alloc["NetworkStatus"]
        assert status["InterfaceName"] == "eth0"
        shown[alloc["ID"]] = page_of(port)
        assert shown[alloc["ID"]] == f"hello from {alloc['ID']} at {status['Address']}:8080\n"
        until(lambda one=alloc["ID"]: shown[one] in world.output(one, "beside"), "localhost")
    assert namespaces() >= shown.keys()

    world.agent.kill(signal.SIGKILL)
    for alloc in allocs:
        (port,) = alloc["AllocatedResources"]["Shared"]["Ports"]
        assert page_of(port) == shown[alloc["ID"]]
    world.agent.start()
    until(lambda: world.output(allocs[0]["ID"], "beside"), "the agent's answer")
    again = world.running("own-network", 2)
    assert {each["ID"] for each in again} == shown.keys()
    assert {state["Restarts"] for each in again for state in each["TaskStates"].values()} == {0}
    for alloc in allocs:
        (port,) = alloc["AllocatedResources"]["Shared"]["Ports"]
        assert page_of(port) == shown[alloc["ID"]]


def test_services_tell_both_addresses_and_checks_reach_them(world):
    allocs = [world.get(f"allocation/{each['ID']}") for each in world.running("own-network", 2)]
    inside = {f"{each['NetworkStatus']['Address']}:8080" for each in allocs}

    def told(name):
        return {f"{each['Address']}:{each['Port']}" for each in world.get(f"service/{name}")}

    until(lambda: told("own-network-inside") == inside, "addresses inside")
    (ports,) = zip(
        *(each["AllocatedResources"]["Shared"]["Ports"] for each in allocs), strict=True
    )
    assert told("own-network") == {f"{port['HostIP']}:{port['Value']}" for port in ports}
    for each in allocs:
        until(
            lambda one=each["ID"]: (
                [
                    check["Status"]
                    for check in world.get(f"client/allocation/{one}/checks").values()
                ]
                == ["success"]
            ),
            "its check",
        )


def test_a_stopped_group_leaves_neither_namespace_nor_rule_nor_interface(world):
    ids = {each["ID"] for each in world.running("own-network", 2)}
    world.purge("own-network")
    until(lambda: not namespaces() & ids and traces(SETTINGS) == [], "its network gone")
