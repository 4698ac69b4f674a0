"""An agent's configuration file: what it sets, who wins, and how what is wrong is told."""

import json
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from django.core.management import CommandError, load_command_class

from cluster.agent.agent import fingerprint
from cluster.agent.collector import CollectionLimits
from cluster.agent.config_file import BadConfigFile, read_config
from cluster.agent.config_keys import KEYS, UNSUPPORTED, is_block, key_at
from cluster.agent.config_values import DrainOnShutdown, addresses_of_network, settings_from
from cluster.agent.networks.lists import NetworkSettings
from cluster.management.commands.runagent import config_from
from scheduler.engine.measure.ports_in_use import PortsInUse
from scheduler.structs.network import HostNetwork

SECOND = 1_000_000_000
WHOLE = """
# The node of a workshop.
name       = "n1"
datacenter = "hall"
data_dir   = "/srv/bivouac"
log_level  = "warning"

client {
  enabled    = true
  servers    = ["https://bivouac.example:4646"]
  node_class = "press"
  node_pool  = "floor"
  network_interface = "lo"
  cpu_total_compute = 9000
  memory_total_mb   = 4000
  disk_total_mb     = 30000
  min_dynamic_port  = 21000
  max_dynamic_port  = 21100
  max_kill_timeout  = "45s"
  gc_max_allocs     = 7
  gc_interval       = "30s"
  gc_disk_usage_threshold  = 75
  gc_inode_usage_threshold = 60
  gc_parallel_destroys     = 3

  meta {
    rack = "r1"
    unit = 7
  }
  reserved {
    cpu    = 500
    cores  = "0"
    memory = 256
    disk   = 1000
    reserved_ports = "22,21000-21009"
  }
  host_volume "certs" {
    path      = "%(path)s"
    read_only = true
  }
  host_network "inside" {
    cidr = "127.0.0.0/8"
    reserved_ports = "21010"
  }
  cni_path                  = "/a/bin:/b/bin"
  cni_config_dir            = "/a/lists"
  bridge_network_name       = "inside0"
  bridge_network_subnet     = "10.9.0.0/24"
  bridge_network_subnet_ipv6 = "fd00:9::/112"
  bridge_network_hairpin_mode = true
  drain_on_shutdown {
    deadline = "5m"
    ignore_system_jobs = true
  }
  artifact {
    http_read_timeout = "2m"
  }
}

plugin "raw_exec" {
  config {
    enabled = true
  }
}
"""


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("NODE_NAME", "RAW_EXEC", "NODE_CLASS", "CONFIG", "HOST_VOLUME", "DATACENTER"):
        monkeypatch.delenv(f"BIVOUAC_{name}", raising=False)
    # A file sets the level of the whole process.
    monkeypatch.setattr("logging.Logger.setLevel", lambda *_: None)


def options_of(*arguments):
    parser = load_command_class("cluster", "runagent").create_parser("manage.py", "runagent")
    return vars(parser.parse_args(list(arguments)))


def written(folder, text, name="agent.hcl"):
    file = folder / name
    file.write_text(text)
    return str(file)


def whole(tmp_path) -> str:
    return written(tmp_path, WHOLE % {"path": tmp_path})


def problems_of(folder, text, name="agent.hcl") -> list[str]:
    file = written(folder, text, name)
    with pytest.raises(BadConfigFile) as refused:
        settings_from(read_config(folder / name))
    return [line.removeprefix(file) for line in refused.value.problems]


def test_a_file_says_everything_of_a_node(tmp_path):
    config = config_from(options_of("-config", whole(tmp_path)))
    assert (config.name, config.datacenter, config.server) == (
        "n1", "hall", "https://bivouac.example:4646"
    )  # fmt: skip
    assert (config.node_class, config.node_pool, config.address) == ("press", "floor", "127.0.0.1")
    assert (config.cpu_mhz, config.memory_mb, config.disk_mb) == (9000, 4000, 30000)
    assert config.meta == {"rack": "r1", "unit": "7"}
    assert str(config.state_dir) == "/srv/bivouac/state"
    assert config.max_kill_timeout_s == 45
    assert config.room == CollectionLimits(
        interval_s=30, max_allocs=7, disk_percent=75, inode_percent=60, parallel_destroys=3
    )
    assert config.artifact.timeout_s == 120
    assert config.raw_exec is True
    (volume,) = config.host_volumes
    assert (volume.name, volume.path, volume.read_only) == ("certs", str(tmp_path), True)
    assert config.drain_on_shutdown == DrainOnShutdown(300 * SECOND, ignore_system_jobs=True)


def test_a_file_says_how_networks_of_groups_are_made(tmp_path):
    network = config_from(options_of("-config", whole(tmp_path))).network
    assert network == NetworkSettings(
        plugin_directories=(Path("/a/bin"), Path("/b/bin")),
        list_directory=Path("/a/lists"),
        bridge_name="inside0",
        bridge_subnet="10.9.0.0/24",
        bridge_subnet_ipv6="fd00:9::/112",
        hairpin=True,
        # Mapped ports are those of the address that was granted, as there is a host_network.
        binds_every_address=False,
    )
    plain = "client { bind_wildcard_default_host_network = %s }"
    for said, every in (("true", True), ("false", False)):
        told = settings_from(read_config(Path(written(tmp_path, plain % said))))
        assert told.network == NetworkSettings(binds_every_address=every)


def test_names_and_subnets_that_make_no_bridge_are_refused_by_key_and_line(tmp_path):
    text = (
        'client {\n  bridge_network_name = "far too long for one"\n'
        '  bridge_network_subnet = "10.0.0.1/24"\n'
        '  bridge_network_subnet_ipv6 = "10.0.0.0/24"\n}\n'
    )
    assert problems_of(tmp_path, text) == [
        ":2: client.bridge_network_name: 'far too long for one' is no name of an interface",
        ":3: client.bridge_network_subnet: '10.0.0.1/24' is no IPv4 network like 172.26.64.0/20",
        (
            ":4: client.bridge_network_subnet_ipv6: '10.0.0.0/24' is no IPv6 network like"
            " fd00:a110:c8::/112"
        ),
    ]


def test_what_is_reserved_is_not_given_to_jobs(tmp_path):
    config = config_from(options_of("--config", whole(tmp_path)))
    node = fingerprint(config, "n", {}, 0)
    assert [*node.host_networks] == ["inside"]
    kept = node.reserved_resources
    assert kept.cpu.cpu_shares == 500 + 9000 // psutil.cpu_count()
    assert kept.cpu.reserved_cpu_cores == (0,)
    assert (kept.memory.memory_mb, kept.disk.disk_mb) == (256, 1000)
    cores = psutil.cpu_count()
    assert node.attributes["cpu.totalcompute"] == "9000"
    assert node.attributes["cpu.usablecompute"] == str(9000 - kept.cpu.cpu_shares)
    assert node.attributes["cpu.reservablecores"] == str(cores - 1)
    resources = node.node_resources
    assert (resources.min_dynamic_port, resources.max_dynamic_port) == (21000, 21100)
    inside = [
        address for network in resources.node_networks for address in network.addresses
        if address.alias == "inside"
    ]  # fmt: skip
    assert [(address.address, address.reserved_ports) for address in inside] == [
        ("127.0.0.1", "21010")
    ]
    assert PortsInUse(node) is not None


def test_json_says_the_same(tmp_path):
    document = {
        "name": "n1",
        "client": {
            "meta": {"rack": "r1"},
            "host_volume": [{"certs": {"path": str(tmp_path)}}],
            "drain_on_shutdown": {},
        },
        "plugin": {"raw_exec": {"config": {"enabled": True}}},
    }
    file = written(tmp_path, json.dumps(document, indent=1), "agent.json")
    config = config_from(options_of("--config", file))
    assert (config.name, config.meta, config.raw_exec) == ("n1", {"rack": "r1"}, True)
    assert [volume.name for volume in config.host_volumes] == ["certs"]
    assert config.drain_on_shutdown == DrainOnShutdown(3600 * SECOND)


def test_options_win_over_variables_those_over_the_file_and_that_over_what_is_usual(
    tmp_path, monkeypatch
):
    file = written(tmp_path, 'name = "file"\ndatacenter = "file"\nclient { node_class = "file" }')
    monkeypatch.setenv("BIVOUAC_NODE_NAME", "variable")
    monkeypatch.setenv("BIVOUAC_DATACENTER", "variable")
    config = config_from(options_of("--config", file, "--node-name", "option"))
    assert (config.name, config.datacenter) == ("option", "variable")
    assert (config.node_class, config.node_pool) == ("file", "default")


def test_a_variable_turns_off_what_the_file_turns_on(tmp_path, monkeypatch):
    monkeypatch.setenv("BIVOUAC_RAW_EXEC", "0")
    monkeypatch.setenv("BIVOUAC_CONFIG", whole(tmp_path))
    config = config_from(options_of("--meta", "rack=r2"))
    assert (config.raw_exec, config.meta) == (False, {"rack": "r2", "unit": "7"})
    monkeypatch.setenv("BIVOUAC_META", "zone=a,rack=r3")
    meta = config_from(options_of("--meta", "rack=r2")).meta
    assert meta == {"rack": "r2", "unit": "7", "zone": "a"}


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    written(tmp_path, 'name = "a"\nclient { meta { one = "a"\n two = "a" } }', "10.hcl")
    written(tmp_path, '{"name": "b", "client": {"meta": {"two": "b"}}}', "20.json")
    written(tmp_path, "not read", "notes.txt")
    config = config_from(options_of("--config", str(tmp_path)))
    assert (config.name, config.meta) == ("b", {"one": "a", "two": "b"})


def test_every_problem_is_told_at_once_with_its_key_and_line(tmp_path):
    told = problems_of(
        tmp_path,
        'nmae = "n1"\nserver {\n  enabled = true\n}\nclient {\n  cpu_disable_dmidecode = true\n'
        '  node_klass = "x"\n  memory_total_mb = "much"\n  min_dynamic_port = 70000\n'
        '  meta = "rack"\n  reserved = 3\n}\nplugin "java" {\n  config { }\n}\n',
    )
    assert sorted(line.split(": ")[0] + " " + line.split(": ")[1] for line in told) == sorted([
        ":1 nmae", ":2 server", ":6 client.cpu_disable_dmidecode", ":7 client.node_klass",
        ":8 client.memory_total_mb", ":9 client.min_dynamic_port", ":10 client.meta",
        ":11 client.reserved", ":13 plugin.java",
    ])  # fmt: skip
    text = "\n".join(told)
    assert 'nmae: there is no such key. Did you mean "name"?' in text
    assert "server: not supported: servers are set by environment variables" in text
    assert "client.min_dynamic_port: must be from 1 to 65535; it is 70000" in text


def test_values_that_make_no_sense_are_told_together(tmp_path):
    told = "\n".join(
        problems_of(
            tmp_path,
            'log_level = "loud"\nclient {\n  enabled = false\n  servers = ["bivouac:4647"]\n'
            '  network_interface = "none9"\n  host_volume "v" { path = "relative" }\n'
            '  host_volume "w" { }\n  host_network "x" { cidr = "10.0.0.0/99" }\n'
            '  reserved {\n    cores = "0-"\n    reserved_ports = "many"\n  }\n'
            "  min_dynamic_port = 30000\n  max_dynamic_port = 20000\n}\n",
        )
    )
    for key in (
        ":1: log_level", ":3: client.enabled", ":4: client.servers",
        ":5: client.network_interface",
        ":6: client.host_volume.v.path", "client.host_volume.w: `path` is missing",
        "client.host_network.x.cidr", ":10: client.reserved.cores",
        ":11: client.reserved.reserved_ports", ":14: client.max_dynamic_port",
    ):  # fmt: skip
        assert key in told


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        pytest.param("client {", "a.hcl", ":1", id="unclosed"),
        pytest.param('{"client": ', "a.json", "no JSON", id="json"),
        pytest.param("[1]", "a.json", "an object is expected", id="list"),
        pytest.param('{"client": {"reserved": 3}}', "a.json", "a block is expected", id="block"),
    ],
)
def test_text_that_cannot_be_read_is_named(text, name, reason, tmp_path):
    assert reason in problems_of(tmp_path, text, name)[0]


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path):
    for path in (tmp_path / "none.hcl", tmp_path):
        with pytest.raises(CommandError, match=str(path)):
            config_from(options_of("--config", str(path)))


def test_no_key_is_both_taken_and_refused():
    options = options_of()
    for key in KEYS:
        assert key_at(tuple(key.path.replace("*", "x").split("."))) is key
        assert key.path not in UNSUPPORTED
        assert not key.option or key.option in options
    taken = [path for path in UNSUPPORTED if key_at(tuple(path.split(".")))]
    assert taken == []
    assert is_block(("client", "host_volume", "any"))


def test_a_host_network_may_have_several_parts_and_none_of_a_link_alone(monkeypatch):
    def of(*addresses):
        return [SimpleNamespace(address=address) for address in addresses]

    here = {
        "eth0": of("fe80::1%eth0", "2001:db8::5", "10.1.2.3", "00:00:5e:00:53:01"),
        "eth1": of("192.168.7.7", "169.254.1.1"),
        "eth2": of("fe80::2%eth2"),
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: here)
    both = HostNetwork(name="n", cidr="10.0.0.0/8, 192.168.0.0/16")
    assert addresses_of_network(both) == [("eth0", "10.1.2.3"), ("eth1", "192.168.7.7")]
    whole = HostNetwork(name="n", interface="eth0")
    assert addresses_of_network(whole) == [("eth0", "10.1.2.3"), ("eth0", "2001:db8::5")]
    alone = HostNetwork(name="n", interface="eth2")
    assert addresses_of_network(alone) == [("eth2", "fe80::2")]
