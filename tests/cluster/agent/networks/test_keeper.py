"""What is noted, tried again and left for later, with plugins that fail as they are told to."""

import pytest

from cluster.agent.agent_state import DiskStorage
from cluster.agent.alloc_runner import AllocRunner, Surroundings
from cluster.agent.networks import keeper, namespaces
from cluster.agent.networks.keeper import AllocNetworks, NetworkFailed
from cluster.agent.networks.lists import NetworkSettings
from scheduler.structs.network import CNIConfig
from tests.builders import make_task
from tests.cluster.agent.networks.plugins import FakePlugins
from tests.cluster.agent.networks.real_bridge import namespace_directory, networked

__all__ = ["namespace_directory"]

MADE = {
    "interfaces": [{"name": "eth0", "sandbox": "/s"}],
    "ips": [{"interface": 0, "address": "10.9.0.7/24"}],
}
LIST = '{"name": "own", "plugins": [{"type": "first"}, {"type": "second"}]}'


@pytest.fixture
def fake(tmp_path):
    fake = FakePlugins(tmp_path / "plugins", ["first", "second", "bridge"])
    fake.tell(first_ADD=[0, MADE])
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "own.conflist").write_text(LIST)
    return fake


@pytest.fixture
def begin(fake, tmp_path, namespace_directory, monkeypatch):
    """Starts an agent's keeper anew, on the same state."""
    monkeypatch.setattr(keeper, "PAUSE_S", 0.0)
    settings = NetworkSettings(plugin_directories=(fake.place,), list_directory=tmp_path / "lists")
    opened = []

    def begin():
        while opened:
            opened.pop().close()
        opened.append(DiskStorage(tmp_path / "state", tmp_path / "alloc"))
        return AllocNetworks(opened[-1], settings, namespace_directory)

    yield begin
    opened.pop().close()


def runner_of(number=801, **network):
    alloc, job = networked(number, make_task(), mode="cni/own", **network)
    return AllocRunner(alloc, job, Surroundings(), now=1)


async def test_plugins_are_told_whose_network_it_is_and_what_the_job_says(fake, begin):
    runner = runner_of(cni=CNIConfig(args={"color": "blue"}))
    networks = begin()
    await networks.set_up(runner)
    assert runner.network_status.address == "10.9.0.7"
    told = dict(pair.split("=") for pair in fake.calls[0]["CNI_ARGS"].split(";"))
    assert told == {
        "IgnoreUnknown": "true",
        "NOMAD_REGION": "global",
        "NOMAD_NAMESPACE": "default",
        "NOMAD_JOB_ID": "web",
        "NOMAD_GROUP_NAME": "web",
        "NOMAD_ALLOC_ID": runner.alloc.id,
        "color": "blue",
    }
    await networks.remove(runner.alloc.id)


async def test_three_attempts_are_made_and_the_first_error_is_told(
    fake, begin, namespace_directory
):
    fake.tell(second_ADD=[1, {"msg": "no luck"}])
    runner = runner_of()
    networks = begin()
    with pytest.raises(NetworkFailed) as failed:
        await networks.set_up(runner)
    assert str(failed.value) == (
        "failed to configure networking for alloc: failed to configure network:"
        ' plugin type="second" failed (add): no luck'
    )
    assert fake.names("ADD") == ["first", "second"] * 3
    assert fake.names("DEL")[:2] == ["second", "first"]
    assert not networks.holds(runner.alloc.id)
    assert [*namespace_directory.iterdir()] == []


async def test_what_could_not_be_taken_away_is_tried_again_by_the_next_agent(fake, begin):
    runner = runner_of()
    networks = begin()
    await networks.set_up(runner)
    fake.tell(second_DEL=[1, {"msg": "busy"}])
    await networks.remove(runner.alloc.id)
    assert networks.holds(runner.alloc.id)
    fake.tell(second_DEL=[0, None])
    again = begin()
    assert again.holds(runner.alloc.id)
    await again.remove_orphans(known=())
    assert not again.holds(runner.alloc.id)
    assert fake.names("DEL") == ["second", "first"] * 2
    assert not begin().holds(runner.alloc.id)


async def test_a_new_agent_has_what_it_finds_checked_and_keeps_it(
    fake, begin, namespace_directory
):
    runner = runner_of()
    await begin().set_up(runner)
    namespace = runner.network_namespace
    found = runner_of()
    networks = begin()
    await networks.resume(found)
    assert fake.names("CHECK") == ["first", "second"]
    assert fake.names("ADD") == ["first", "second"]
    assert (found.network_status, found.network_namespace) == (runner.network_status, namespace)
    await networks.remove(runner.alloc.id)
    assert not namespaces.is_there(namespace_directory / runner.alloc.id)


async def test_one_that_its_check_finds_fault_with_is_attached_anew(fake, begin):
    runner = runner_of()
    await begin().set_up(runner)
    moved = {**MADE, "ips": [{"interface": 0, "address": "10.9.0.8/24"}]}
    fake.tell(first_CHECK=[1, {"msg": "it is gone"}], first_ADD=[0, moved])
    found = runner_of()
    networks = begin()
    await networks.resume(found)
    assert found.network_status.address == "10.9.0.8"
    assert found.network_namespace == runner.network_namespace
    await networks.remove(runner.alloc.id)


async def test_a_network_that_no_list_describes_is_said_by_name(begin):
    alloc, job = networked(802, make_task(), mode="cni/other")
    runner = AllocRunner(alloc, job, Surroundings(), now=1)
    with pytest.raises(NetworkFailed, match='CNI network config not found for name "other"'):
        await begin().set_up(runner)
