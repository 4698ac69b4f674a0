"""Pause containers at an engine that answers as a real one, with namespaces of the kernel's."""

import platform
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.agent.drivers.docker import group_network, pause_image
from cluster.agent.drivers.docker.engine import Engine
from cluster.agent.drivers.docker.group_network import GroupNetworks, hosts_text, pause_name
from cluster.agent.drivers.docker.options import read_options
from cluster.agent.drivers.driver import Launch, StartError, TaskDirectories, TaskNetwork
from cluster.agent.networks import namespaces
from scheduler.structs.network import DNSConfig
from tests.cluster.agent.drivers.docker.fake_engine import FakeEngine
from tests.cluster.agent.networks.real_bridge import namespace_directory

__all__ = ["namespace_directory"]


@pytest.fixture
async def engine(tmp_path, monkeypatch):
    """Its containers are processes of this machine: they enter by a program of this machine."""
    written = group_network.pause_body

    def with_program(alloc_id, owner, launch):
        entering = ["nsenter", f"--net={launch.network.namespace}", "sleep", "60"]
        return {**written(alloc_id, owner, launch), "Cmd": entering}

    monkeypatch.setattr(group_network, "pause_body", with_program)
    async with FakeEngine(tmp_path / "engine.sock") as engine:
        yield engine


@pytest.fixture
def namespace(namespace_directory):
    path = namespace_directory / "alloc-1"
    namespaces.make(path)
    yield path
    namespaces.remove(path)


@pytest.fixture
def launch(tmp_path, namespace):
    directories = TaskDirectories(root=tmp_path / "web", shared=tmp_path / "alloc")
    directories.private.mkdir(parents=True)
    network = TaskNetwork(str(namespace), "172.26.64.5", "box", DNSConfig(servers=("192.0.2.1",)))
    return Launch(
        task_id="alloc-1/web/1",
        task_name="web",
        config={},
        directories=directories,
        network=network,
    )


OPTIONS = read_options({"image": "app:1", "extra_hosts": ["db:192.0.2.7"]})


async def enter(networks, launch, options=OPTIONS):
    async with networks._engine.connected() as docker:
        return await networks.enter(docker, options, launch)


async def test_tasks_of_one_allocation_share_a_container_in_its_namespace(engine, launch):
    networks = GroupNetworks(Engine(engine.socket), "node-1")
    first = await enter(networks, launch)
    assert await enter(networks, replace(launch, task_id="alloc-1/other/1")) == first
    (pause,) = engine.containers.values()
    assert (first, pause.name) == (f"container:{pause.id}", pause_name("alloc-1"))
    assert Path(f"/proc/{pause.process.pid}/ns/net").samefile(launch.network.namespace)
    assert pause_image.image_name() in engine.images
    assert pause.body["Hostname"] == "box"
    assert pause.body["HostConfig"]["CapDrop"] == ["ALL"]


async def test_one_that_is_gone_or_elsewhere_is_made_anew(engine, launch, namespace):
    networks = GroupNetworks(Engine(engine.socket), "node-1")
    first = await enter(networks, launch)
    (pause,) = engine.containers.values()
    pause.signal(signal.SIGKILL)
    await pause.over.wait()
    assert await enter(networks, launch) != first
    # The machine was started anew: the namespace is another one of the same name.
    namespaces.remove(namespace)
    namespaces.make(namespace)
    await enter(networks, launch)
    (pause,) = engine.containers.values()
    assert Path(f"/proc/{pause.process.pid}/ns/net").samefile(namespace)


async def test_it_goes_with_the_network_and_others_are_left_alone(engine, launch, caplog):
    networks = GroupNetworks(Engine(engine.socket), "node-1")
    await enter(networks, launch)
    await GroupNetworks(Engine(engine.socket), "node-2").leave("alloc-1")
    assert "is there and not ours" in caplog.text
    assert len(engine.containers) == 1
    await networks.leave("alloc-1")
    await networks.leave("alloc-1")
    assert engine.containers == {}


async def test_a_network_is_taken_away_where_no_engine_answers(tmp_path, caplog):
    await GroupNetworks(Engine(str(tmp_path / "none.sock")), "node-1").leave("alloc-1")
    await GroupNetworks(Engine(""), "node-1").leave("alloc-1")
    assert caplog.text == ""


async def test_one_that_does_not_enter_is_told_and_removed(engine, launch, namespace):
    other = replace(launch.network, namespace=str(namespace.parent / "none"))
    networks = GroupNetworks(Engine(engine.socket), "node-1")
    with pytest.raises(StartError, match="cannot enter the network of the group"):
        await enter(networks, replace(launch, network=other))
    assert engine.containers == {}


async def test_names_are_those_of_the_group_and_the_task(engine, launch):
    await enter(GroupNetworks(Engine(engine.socket), "node-1"), launch)
    private = launch.directories.private
    said = (private / "web.hosts").read_text().splitlines()
    assert said[-2:] == ["172.26.64.5 box", "192.0.2.7 db"]
    assert "nameserver 192.0.2.1" in (private / "web.resolv").read_text()
    without = replace(launch, network=TaskNetwork(namespace="/x"))
    assert "127.0.0.1 alloc-1\n" in hosts_text(OPTIONS, without)


async def test_a_task_that_declines_has_no_pause_container(engine, launch):
    options = read_options({"image": "app:1", "network_mode": "none"})
    assert await enter(GroupNetworks(Engine(engine.socket), "n"), launch, options) == ""
    assert engine.containers == {}


def test_the_program_is_one_and_ends_where_there_is_nothing_to_enter(tmp_path):
    if platform.machine() not in ("x86_64", "aarch64"):
        assert "alone" in pause_image.why_none()
        return
    assert pause_image.why_none() == ""
    archive = tmp_path / "image.tar"
    archive.write_bytes(pause_image.image_archive())
    subprocess.run(["tar", "-C", tmp_path, "-xf", archive], check=True)
    ended = subprocess.run([tmp_path / "pause"], timeout=10, check=False)
    assert ended.returncode == 1
    assert (tmp_path / "pause").stat().st_size < 1024


def test_other_processors_are_refused_by_name():
    assert "not on riscv64" in pause_image.why_none("riscv64")
    assert pause_image.image_archive("aarch64") != pause_image.image_archive("x86_64")
