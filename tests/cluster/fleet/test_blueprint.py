"""The same options make the same fleet."""

from collections import Counter

from cluster.fleet.blueprint import FleetOptions, members_of

OPTIONS = FleetOptions(
    nodes=24,
    datacenters=("dc1", "dc2"),
    classes=("small", "large"),
    cpu=(2000, 8000),
    memory=(4096, 16384),
    attributes={"rack": ("r1", "r2", "r3")},
    drivers=("docker",),
)


def test_the_same_seed_makes_the_same_nodes_and_secrets():
    assert members_of(OPTIONS, "key") == members_of(OPTIONS, "key")


def test_secrets_depend_on_the_key_and_ids_do_not():
    first, second = members_of(OPTIONS, "one")[0], members_of(OPTIONS, "two")[0]
    assert first.node == second.node
    assert first.secret != second.secret


def test_every_node_is_another_one():
    nodes = [member.node for member in members_of(OPTIONS, "key")]
    addresses = {node.node_resources.networks[0].ip for node in nodes}
    assert len({node.id for node in nodes}) == len(addresses) == 24


def test_every_combination_comes_up_equally_often():
    nodes = [member.node for member in members_of(OPTIONS, "key")]
    kinds = Counter(
        (
            node.datacenter,
            node.node_class,
            node.node_resources.cpu.cpu_shares,
            node.node_resources.memory.memory_mb,
            node.attributes["rack"],
        )
        for node in nodes
    )
    assert (len(kinds), set(kinds.values())) == (24, {1})


def test_pretended_drivers_are_offered():
    node = members_of(OPTIONS, "key")[0].node
    assert set(node.drivers) == {"mock_driver", "docker"}
    assert node.attributes["driver.docker"] == "1"
