"""Which plugins make a network, what they are given, and what their result says."""

import json
from pathlib import Path

import pytest

from cluster.agent.networks.cni import CniError
from cluster.agent.networks.lists import (
    NetworkSettings,
    bridge_list,
    list_for,
    lists_in,
    port_mappings,
    status_of,
)
from scheduler.structs.allocation import NetworkStatus
from scheduler.structs.network import AllocatedPort, DNSConfig

ETH0 = {"name": "eth0", "sandbox": "/run/netns/a"}
OF_HOST = {"name": "a-bridge"}


def test_the_bridge_is_that_of_the_owner_s_settings():
    settings = NetworkSettings(bridge_name="b0", bridge_subnet="10.9.0.0/24", hairpin=True)
    made = bridge_list(settings)
    assert [plugin["type"] for plugin in made["plugins"]] == [
        "loopback",
        "bridge",
        "firewall",
        "portmap",
    ]
    bridge = made["plugins"][1]
    assert (made["name"], bridge["bridge"], bridge["hairpinMode"]) == ("b0", "b0", True)
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.9.0.0/24"}]]
    assert bridge["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}]
    both = bridge_list(NetworkSettings(bridge_subnet_ipv6="fd00:9::/112"))["plugins"][1]["ipam"]
    assert both["ranges"][1] == [{"subnet": "fd00:9::/112"}]
    assert both["routes"] == [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]


def test_ports_are_mapped_for_both_protocols_to_where_the_job_says():
    ports = [
        AllocatedPort(label="a", value=20001, to=8080, host_ip="192.0.2.1"),
        AllocatedPort(label="b", value=20002, host_ip="192.0.2.1"),
    ]
    everywhere = port_mappings(ports, NetworkSettings())
    assert everywhere == [
        {"hostPort": 20001, "containerPort": 8080, "protocol": "tcp"},
        {"hostPort": 20001, "containerPort": 8080, "protocol": "udp"},
        {"hostPort": 20002, "containerPort": 20002, "protocol": "tcp"},
        {"hostPort": 20002, "containerPort": 20002, "protocol": "udp"},
    ]
    narrow = port_mappings(ports, NetworkSettings(binds_every_address=False))
    assert {mapping["hostIP"] for mapping in narrow} == {"192.0.2.1"}


def test_the_status_is_that_of_the_first_interface_inside_that_has_an_address():
    result = {
        "interfaces": [OF_HOST, {"name": "net1", "sandbox": "/s"}, ETH0],
        "ips": [
            {"interface": 0, "address": "10.9.0.1/24"},
            {"interface": 1, "address": "10.8.0.1/24"},
            {"interface": 2, "address": "10.9.0.7/24"},
            {"interface": 2, "address": "fd00::7/64"},
        ],
        "dns": {"nameservers": ["10.9.0.1"], "search": ["inside"]},
    }
    assert status_of(result) == NetworkStatus(
        interface_name="eth0",
        address="10.9.0.7",
        address_ipv6="fd00::7",
        dns=DNSConfig(servers=("10.9.0.1",), searches=("inside",)),
    )


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param({}, "no interfaces found", id="nothing"),
        pytest.param({"interfaces": [OF_HOST]}, "no interface with an address", id="of the host"),
        pytest.param({"interfaces": [ETH0]}, "no interface with an address", id="no address"),
    ],
)
def test_a_result_without_an_address_is_an_error(result, text):
    with pytest.raises(CniError, match=f"failed to configure network: {text}"):
        status_of(result)


def test_lists_of_the_owner_are_found_by_name_the_first_file_of_a_name_counts(tmp_path):
    def write(name, told):
        (tmp_path / name).write_text(told if isinstance(told, str) else json.dumps(told))

    write("10-a.conflist", {"name": "a", "cniVersion": "1.0.0", "plugins": [{"type": "ptp"}]})
    write("20-a.json", {"name": "a", "plugins": [{"type": "other"}]})
    write("30-b.conf", {"name": "b", "cniVersion": "0.4.0", "type": "macvlan", "master": "eth0"})
    write("40.conflist", "{no json")
    write("50.conflist", {"name": "empty", "plugins": []})
    write("60.txt", {"name": "c", "type": "ptp"})
    found = lists_in(tmp_path)
    assert sorted(found) == ["a", "b"]
    assert found["a"]["plugins"] == [{"type": "ptp"}]
    assert found["b"] == {
        "name": "b",
        "cniVersion": "0.4.0",
        "plugins": [{"type": "macvlan", "master": "eth0"}],
    }
    settings = NetworkSettings(list_directory=tmp_path)
    assert list_for("cni/b", settings) == found["b"]
    assert list_for("none", settings) is None
    with pytest.raises(CniError, match='CNI network config not found for name "x"'):
        list_for("cni/x", settings)


@pytest.mark.parametrize("mode", ["cni/x", "weird"])
def test_without_lists_the_directory_is_named(mode, tmp_path):
    settings = NetworkSettings(list_directory=Path(tmp_path, "nowhere"))
    with pytest.raises(CniError, match=r"no CNI network config found in .*nowhere"):
        list_for(mode, settings)
