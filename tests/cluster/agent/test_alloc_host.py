"""The active part of a node with pretended tasks, and what it remembers over a restart."""

import asyncio

import pytest
from msgspec.structs import replace

from cluster.agent.agent_state import identity
from cluster.agent.alloc_beginning import ends_first
from cluster.agent.alloc_runner import AllocRunner, Surroundings
from cluster.agent.answers import Answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.node_metadata import NodeMetadata
from cluster.runtime.clock import RandomIDs
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.device import DeviceGrant
from scheduler.structs.policies import DisconnectStrategy
from scheduler.structs.resources import AllocatedResources, AllocatedTaskResources
from tests.builders import make_allocation
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import CLOCK, Node, make_work


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path)
    await node.start()
    yield node
    await node.end()


def stopped(alloc):
    return alloc.changed(desired_status=DesiredStatus.STOP)


async def test_an_allocation_runs_until_the_server_stops_it(node):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    node.host.update(stopped(alloc), job)
    await node.reach(alloc, ClientStatus.COMPLETE)


@pytest.mark.parametrize(
    ("config", "driver", "text"),
    [
        pytest.param({"start_error": "no luck"}, "mock_driver", "no luck", id="driver-error"),
        pytest.param({"run_for": "soon"}, "mock_driver", "invalid duration", id="bad-option"),
        pytest.param({}, "docker", 'driver "docker" is not offered', id="unknown-driver"),
    ],
)
async def test_what_cannot_start_fails_with_its_reason(node, config, driver, text):
    alloc, job = make_work(config, driver=driver)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    (state,) = node.host.entries[alloc.id].runner.states.values()
    assert any(text in event.display_message for event in state.events)


async def test_a_removed_allocation_leaves_nothing_behind(node):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    node.host.remove(alloc.id)
    await until(lambda: alloc.id not in node.host.entries)
    root = node.storage.directories(alloc.id).root
    await until(lambda: not root.exists(), "the end of the directory")
    assert node.storage.load() == []


async def test_what_has_ended_is_collected_on_demand_once_the_server_has_heard_of_it(node):
    alloc, job = make_work()
    other, other_job = make_work()
    for each in ((alloc, job), (other, other_job)):
        node.host.add(*each)
    await node.reach(alloc, ClientStatus.RUNNING)
    node.tell()
    root = node.storage.directories(alloc.id).root

    async def refused():
        with pytest.raises(AnswerRefused, match="not eligible for GC") as refusal:
            await ask(node, "collect", AllocID=alloc.id)
        return refusal.value.status == 400 and root.exists()

    assert await refused(), "it runs"
    node.host.update(stopped(alloc), job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    assert await refused(), "the server has not heard of its end"
    node.tell()
    assert await ask(node, "collect", AllocID=alloc.id) == b"{}"
    assert not root.exists()
    assert [stored.alloc.id for stored in node.storage.load()] == [other.id]
    assert await refused() is False, "it is gone"


async def test_all_that_has_ended_on_a_node_is_collected_on_demand(node):
    ended, alive = [make_work(), make_work()], make_work()
    for each in (*ended, alive):
        node.host.add(*each)
        await node.reach(each[0], ClientStatus.RUNNING)
    for alloc, job in ended:
        node.host.update(stopped(alloc), job)
        await node.reach(alloc, ClientStatus.COMPLETE)
    node.tell()
    roots = [node.storage.directories(alloc.id).root for alloc, _ in ended]
    assert await ask(node, "host.collect") == b"{}"
    assert [root.exists() for root in roots] == [False, False]
    assert [*node.host.entries] == [alive[0].id]


async def test_a_replacement_waits_for_what_it_replaces_here(node):
    first, job = make_work()
    second = make_allocation(job, 1000, previous_allocation=first.id)
    node.host.add(first, job)
    node.host.add(second, job)
    await node.reach(first, ClientStatus.RUNNING)
    assert node.status(second) is ClientStatus.PENDING
    node.host.update(stopped(first), job)
    await node.reach(second, ClientStatus.RUNNING)


def test_one_waits_for_the_end_of_who_has_its_device():
    first, job = make_work()
    grant = DeviceGrant(vendor="v", type="gpu", name="n", device_ids=("a", "b"))
    held = AllocatedResources(tasks={"web": AllocatedTaskResources(devices=(grant,))})
    wants = AllocatedResources(
        tasks={"x": AllocatedTaskResources(devices=(replace(grant, device_ids=("b",)),))}
    )
    beside = replace(wants.tasks["x"].devices[0], device_ids=("c",))
    other = AllocatedResources(tasks={"x": AllocatedTaskResources(devices=(beside,))})
    first = first.changed(allocated_resources=held)
    here = {first.id: HostedAlloc(AllocRunner(first, job, Surroundings(), now=1))}
    second = make_allocation(job, 1000)
    assert ends_first(second.changed(allocated_resources=wants), here, ()) == {first.id}
    assert ends_first(second.changed(allocated_resources=other), here, ()) == frozenset()


async def test_a_replacement_waits_for_what_it_replaces_on_another_node(node):
    alloc, job = make_work()
    alloc = alloc.changed(previous_allocation="elsewhere")
    node.host.add(alloc, job, elsewhere={"elsewhere"})
    assert node.host.awaited_elsewhere == {"elsewhere"}
    assert node.status(alloc) is ClientStatus.PENDING
    node.host.end_elsewhere(["elsewhere"])
    await node.reach(alloc, ClientStatus.RUNNING)
    assert node.host.awaited_elsewhere == frozenset()


async def test_an_update_does_not_begin_what_still_waits(node):
    first, job = make_work()
    second = make_allocation(job, 1000, previous_allocation=first.id)
    node.host.add(first, job)
    await node.reach(first, ClientStatus.RUNNING)
    node.host.add(second, job)
    node.host.update(second.changed(alloc_modify_index=second.alloc_modify_index + 1), job)
    await asyncio.sleep(0.1)
    assert node.status(second) is ClientStatus.PENDING
    node.host.update(stopped(first), job)
    await node.reach(second, ClientStatus.RUNNING)
    said = [
        e.display_message for e in node.host.entries[second.id].runner.tasks["web"].state.events
    ]
    assert said[:2] == ["Task received by client", "Building Task Directory"]


async def test_one_stopped_while_it_waits_for_another_node_never_begins(node):
    alloc, job = make_work()
    alloc = alloc.changed(previous_allocation="elsewhere")
    node.host.add(alloc, job, elsewhere={"elsewhere"})
    node.host.update(stopped(alloc), job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    assert node.host.awaited_elsewhere == frozenset()
    node.host.end_elsewhere(["elsewhere"])
    assert node.status(alloc) is ClientStatus.COMPLETE


async def test_tasks_run_on_while_the_agent_is_away_and_are_found_again(node):
    script = "echo begun; while [ ! -e ../go ]; do sleep 0.02; done; exit 0"
    alloc, job = make_work({"command": "sh", "args": ["-c", script]}, driver="raw_exec")
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    events = node.host.entries[alloc.id].runner.states["web"].events
    await node.stop()
    await node.start()
    assert node.host.entries[alloc.id].runner.states["web"].events == events
    (node.storage.directories(alloc.id).root / "go").touch()
    # A service with no attempts left fails even when it ended well.
    await node.reach(alloc, ClientStatus.FAILED)
    assert node.read(alloc, "alloc/logs/web.stdout.0") == "begun\n"


async def test_a_task_that_is_not_found_again_waits_for_the_server(node):
    alloc, job = make_work({"command": "sleep", "args": ["600"]}, driver="raw_exec")
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    handle = node.host.entries[alloc.id].handles["web"]
    await node.stop()
    await node.host.drivers["raw_exec"].recover(handle, lambda _ending: None)
    await node.host.drivers["raw_exec"].stop(handle, 0, "")
    runs = node.storage.directories(alloc.id).task("web").runs
    (runs / handle.task_id.rpartition("/")[2] / "exit.json").unlink()
    await node.start()
    (state,) = node.host.entries[alloc.id].runner.states.values()
    assert (state.state, state.events[-1].type) == ("pending", "Failed Restoring Task")
    node.host.release()
    await node.reach(alloc, ClientStatus.RUNNING)


async def test_reports_wait_for_the_first_pull_and_equal_ones_are_sent_once(node):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    assert node.outbox.due(urgent_only=False) == ()
    node.outbox.open()
    assert node.outbox.due(urgent_only=True) == ()
    (report,) = node.outbox.due(urgent_only=False)
    node.outbox.sent((report,))
    assert node.outbox.due(urgent_only=False) == ()
    node.outbox.resend(alloc.id)
    assert node.outbox.due(urgent_only=True) == (report,)


async def ask(node, verb, **body):
    metadata = NodeMetadata({}, node.storage, lambda: None)
    answers = Answers(node.host, node.storage, CLOCK, metadata)
    return b"".join([piece async for piece in answers.answer(verb, body)])


async def test_logs_are_followed_until_the_task_is_dead(node):
    script = "echo one; while [ ! -e ../go ]; do sleep 0.02; done; echo two"
    alloc, job = make_work({"command": "sh", "args": ["-c", script]}, driver="raw_exec")
    node.host.add(alloc, job)
    await until(lambda: node.read(alloc, "alloc/logs/web.stdout.0"))
    asked = {"AllocID": alloc.id, "Task": "web", "Type": "stdout", "Follow": True, "Plain": True}
    following = asyncio.create_task(ask(node, "logs", **asked))
    (node.storage.directories(alloc.id).root / "go").touch()
    assert await following == b"one\ntwo\n"
    last = await ask(node, "logs", **(asked | {"Follow": False, "Origin": "end", "Offset": 4}))
    assert last == b"two\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("../../state/secret-id", "Path escapes the alloc directory", id="escape"),
        pytest.param("web/secrets/key", "Reading secret file prohibited", id="secret"),
        pytest.param("web/SECRETS/../secrets/key", "Reading secret file", id="secret-roundabout"),
        pytest.param("web/local/link", "Reading secret file prohibited", id="secret-by-link"),
        pytest.param("web/private/x", "Reading private file prohibited", id="private"),
        pytest.param("web/local/none", "no such file or directory", id="missing"),
    ],
)
async def test_files_that_are_not_given_out(node, path, text):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    places = node.storage.directories(alloc.id).task("web")
    (places.secrets / "key").write_text("secret")
    (places.root / "SECRETS").mkdir()
    (places.local / "link").symlink_to(places.secrets / "key")
    with pytest.raises(AnswerRefused, match=text):
        await ask(node, "fs.cat", AllocID=alloc.id, Path=path)


@pytest.mark.parametrize(
    ("verb", "status"), [("fs.stream", 400), ("fs.cat", 404), ("fs.stat", 404)]
)
async def test_a_missing_file_is_refused_as_each_verb_does(node, verb, status):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    with pytest.raises(AnswerRefused, match="no such file or directory") as refused:
        await ask(node, verb, AllocID=alloc.id, Path="web/local/none")
    assert refused.value.status == status


def test_an_agent_keeps_its_identity(tmp_path):
    first = identity(tmp_path, RandomIDs())
    assert identity(tmp_path, RandomIDs()) == first
    assert (tmp_path / "secret-id").stat().st_mode & 0o777 == 0o600


async def test_an_allocation_without_patience_is_stopped_when_the_server_stays_away(node):
    alloc, job = make_work()
    patient, patient_job = make_work()
    group = replace(
        job.task_groups[0], disconnect=DisconnectStrategy(stop_on_client_after=5_000_000_000)
    )
    node.host.add(alloc, replace(job, task_groups=(group,)))
    node.host.add(patient, patient_job)
    await node.reach(alloc, ClientStatus.RUNNING)
    node.host.end_impatient(5_000_000_000)
    assert node.status(alloc) is ClientStatus.RUNNING
    node.host.end_impatient(5_000_000_001)
    await node.reach(alloc, ClientStatus.COMPLETE)
    assert node.status(patient) is ClientStatus.RUNNING
