"""Artifacts in the life of a task: fetched before it starts, once; failures, kills, restarts."""

import shutil
import threading

import pytest
from msgspec.structs import replace

from cluster.agent import artifact_hook
from cluster.agent.artifacts.order import Limits
from cluster.agent.secret_mounts import unmount_below
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.task_group import Artifact
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work

SECOND = 1_000_000_000
CAT = {"command": "/bin/sh", "args": ["-c", "cat local/conf; sleep 60"]}
ONCE_MORE = RestartPolicy(attempts=1, interval=60 * SECOND, delay=SECOND // 10, mode="fail")


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path / "node", artifact=Limits(private_addresses=True))
    await node.start()
    yield node
    await node.end()


def work(served, *, path="/conf", config=None, policy=None, **fields):
    artifact = Artifact(getter_source=f"{served.url}{path}", **fields)
    alloc, job = make_work(config or CAT, driver="raw_exec", artifacts=(artifact,))
    if policy is not None:
        group = replace(job.task_groups[0], restart_policy=policy)
        job = replace(job, task_groups=(group,))
    return alloc, job


def lines(node, alloc):
    (state,) = node.host.entries[alloc.id].runner.states.values()
    return [event.type for event in state.events], [e.display_message for e in state.events]


async def test_a_task_finds_its_artifacts_when_it_starts(node, served):
    served.files["/conf"] = b"key = 1"
    alloc, job = work(served)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    await until(lambda: node.read(alloc, "alloc/logs/web.stdout.0") == "key = 1", "its output")
    types, _texts = lines(node, alloc)
    assert types == ["Received", "Task Setup", "Downloading Artifacts", "Started"]


async def test_a_failure_uses_up_the_restart_policy(node, served):
    alloc, job = work(served, path="/none", policy=ONCE_MORE)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    types, texts = lines(node, alloc)
    assert types == [
        "Received",
        "Task Setup",
        "Downloading Artifacts",
        "Failed Artifact Download",
        "Restarting",
        "Downloading Artifacts",
        "Failed Artifact Download",
        "Not Restarting",
    ]
    assert texts[3] == (f'failed to download artifact "{served.url}/none": bad response code: 404')


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"relative_dest": "../../x"}, "artifact destination path escapes alloc directory"),
        ({"path": "", "getter_mode": "file"}, "is no name for a file"),
    ],
)
async def test_what_can_never_be_fetched_uses_it_up_too(node, served, fields, why):
    alloc, job = work(served, policy=ONCE_MORE, **fields)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    types, texts = lines(node, alloc)
    assert types.count("Failed Artifact Download") == 2
    assert any(why in text for text in texts)


async def test_it_is_fetched_once_however_often_the_task_restarts(node, served):
    served.files["/conf"] = b"key = 1"
    fails = {"command": "/bin/sh", "args": ["-c", "cat local/conf; exit 1"]}
    alloc, job = work(served, config=fails, policy=ONCE_MORE)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    types, _texts = lines(node, alloc)
    assert types.count("Started") == 2
    assert types.count("Downloading Artifacts") == 1
    assert len(served.asked) == 1


async def test_it_is_not_fetched_again_after_a_restart_of_the_agent(node, served):
    served.files["/conf"] = b"key = 1"
    alloc, job = work(served)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    await node.stop()
    await node.start()
    node.host.restart(alloc.id, "", all_tasks=False)
    await until(lambda: lines(node, alloc)[0].count("Started") == 2, "the second start")
    assert len(served.asked) == 1


async def test_what_a_boot_took_from_the_secrets_is_fetched_again(node, served):
    served.files["/conf"] = b"key = 1"
    reads = {"command": "/bin/sh", "args": ["-c", "cat secrets/keys/conf; sleep 60"]}
    alloc, job = work(served, config=reads, relative_dest="secrets/keys")
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    task = node.storage.directories(alloc.id).task("web")
    unmount_below(task.secrets)
    shutil.rmtree(task.secrets / "keys", ignore_errors=True)
    node.host.restart(alloc.id, "", all_tasks=False)
    await until(lambda: lines(node, alloc)[0].count("Started") == 2, "the second start")
    assert len(served.asked) == 2
    assert (task.secrets / "keys" / "conf").read_text() == "key = 1"
    unmount_below(task.secrets)


async def test_a_stop_breaks_a_download_off(node, served):
    served.files["/conf"] = bytes(5_000_000)
    served.held["/conf"] = threading.Event()
    alloc, job = work(served)
    node.host.add(alloc, job)
    await until(lambda: served.asked, "the request")
    node.host.update(alloc.changed(desired_status=DesiredStatus.STOP), job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    types, _texts = lines(node, alloc)
    assert types[-1] == "Killing"
    assert "Failed Artifact Download" not in types
    assert not node.read(alloc, "web/local/conf")


async def test_an_agent_that_stops_while_it_downloads_begins_anew(node, served):
    served.files["/conf"] = b"key = 1" + bytes(3_000_000)
    served.held["/conf"] = threading.Event()
    alloc, job = work(served)
    node.host.add(alloc, job)
    await until(lambda: served.asked, "the request")
    await node.stop()
    served.held.pop("/conf").set()
    await node.start()
    node.host.release()
    await node.reach(alloc, ClientStatus.RUNNING)
    assert node.read(alloc, "web/local/conf").startswith("key = 1")


async def test_the_history_tells_how_far_a_long_download_is(node, served, monkeypatch):
    monkeypatch.setattr(artifact_hook, "TELL_EVERY_S", 0.0)
    served.files["/conf"] = bytes(20 * 1024 * 1024)
    alloc, job = work(served, config={"command": "/bin/sleep", "args": ["60"]})
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    types, texts = lines(node, alloc)
    assert types.count("Downloading Artifacts") == 1
    assert texts[2].startswith("Client is downloading artifacts: ")
    assert texts[2].endswith(" of 20.0 MiB so far")
