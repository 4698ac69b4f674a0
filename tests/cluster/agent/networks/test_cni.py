"""The protocol between an agent and CNI plugins, seen from plugins that write it down."""

import pytest

from cluster.agent.networks.cni import Attachment, CniError, Plugins
from tests.cluster.agent.networks.plugins import FakePlugins

MADE = {"cniVersion": "0.4.0", "interfaces": [{"name": "eth0", "sandbox": "/s"}]}
NETWORK = {
    "cniVersion": "0.4.0",
    "name": "n",
    "plugins": [
        {"type": "first", "own": 1},
        {"type": "second", "capabilities": {"portMappings": True, "other": True}},
    ],
}
PORTS = [{"hostPort": 1, "containerPort": 2, "protocol": "tcp"}]
END = Attachment(
    "id", "/run/netns/id", arguments={"K": "v"}, capabilities={"portMappings": PORTS, "more": 1}
)


@pytest.fixture
def fake(tmp_path):
    fake = FakePlugins(tmp_path, ["first", "second"])
    fake.tell(first_ADD=[0, MADE])
    return fake


@pytest.fixture
def plugins(fake):
    return Plugins((fake.place / "missing", fake.place))


def test_each_plugin_is_told_of_its_part_and_of_what_those_before_it_made(fake, plugins):
    assert plugins.add(NETWORK, END) == MADE
    first, second = fake.calls
    assert first["order"] == {"cniVersion": "0.4.0", "name": "n", "type": "first", "own": 1}
    assert second["order"] == {
        "cniVersion": "0.4.0",
        "name": "n",
        "type": "second",
        "runtimeConfig": {"portMappings": PORTS},
        "prevResult": MADE,
    }
    environment = {key: text for key, text in second.items() if key.startswith("CNI_")}
    assert environment == {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "id",
        "CNI_NETNS": "/run/netns/id",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": f"{fake.place}/missing:{fake.place}",
        "CNI_ARGS": "IgnoreUnknown=true;K=v",
    }


def test_an_error_of_a_plugin_ends_the_chain_in_its_own_words(fake, plugins):
    fake.tell(first_ADD=[1, {"code": 11, "msg": "no room", "details": "none at all"}])
    with pytest.raises(CniError) as refused:
        plugins.add(NETWORK, END)
    assert str(refused.value) == 'plugin type="first" failed (add): no room: none at all'
    assert fake.names("ADD") == ["first"]


def test_what_is_taken_away_goes_backwards_and_as_far_as_it_goes(fake, plugins):
    fake.tell(second_DEL=[1, {"msg": "a"}], first_DEL=[1, {"msg": "b"}])
    with pytest.raises(CniError, match=r'"second" failed \(del\): a; .*"first" failed \(del\): b'):
        plugins.delete(NETWORK, END, MADE)
    assert fake.names("DEL") == ["second", "first"]
    assert fake.calls[0]["order"]["prevResult"] == MADE


def test_a_missing_plugin_is_named_with_the_places_that_were_looked_at(plugins):
    with pytest.raises(CniError, match='failed to find plugin "third" in path'):
        plugins.add({"name": "n", "plugins": [{"type": "third"}]}, END)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        pytest.param("v1.6.2", "v1.6.2", id="its own"),
        # As Debian builds them: the newest protocol is the only whole version there is.
        pytest.param("version unknown", "1.0.0", id="of the protocol"),
    ],
)
def test_versions_are_the_first_word_that_is_one(tmp_path, said, version):
    FakePlugins(tmp_path, ["bridge"], version=said)
    plugins = Plugins((tmp_path,))
    assert plugins.version("bridge") == version
    assert plugins.version("nothing") == ""
    assert "bridge" in plugins.names()
