"""A task that asks for its identity finds it where it asked for it; no other is asked about."""

import stat

import pytest

from cluster.agent.drivers.driver import Launch, StartError, TaskDirectories
from cluster.agent.server_link import CallFailed
from cluster.agent.task_identity import with_identity
from scheduler.structs.task_group import Identity
from tests.builders import make_task


@pytest.fixture
def launch(tmp_path):
    root = tmp_path / "task"
    (root / "secrets").mkdir(parents=True)
    places = TaskDirectories(root=root, shared=tmp_path)
    return Launch("id", "web", {}, env={"A": "b"}, directories=places)


async def ask(alloc_id, task, name):
    return f"{name or 'token'} of {task} in {alloc_id}"


async def test_a_task_finds_its_identity_in_its_environment_or_in_a_file(launch):
    task = make_task(identity=Identity(env=True, file=True))
    given = await with_identity(launch, "alloc", task, ask)
    assert given.env == {"A": "b", "NOMAD_TOKEN": "token of web in alloc"}
    file = launch.directories.secrets / "nomad_token"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (
        "token of web in alloc",
        0o600,
    )
    again = make_task(identity=Identity(file=True, filepath="local/me"))
    assert (await with_identity(launch, "alloc", again, ask)).env == {"A": "b"}
    assert (launch.directories.root / "local" / "me").read_text() == "token of web in alloc"


async def test_who_does_not_ask_is_given_none(launch):
    async def never(_alloc_id, _task, _name):
        raise AssertionError

    for task in (make_task(), make_task(identity=Identity())):
        assert await with_identity(launch, "alloc", task, never) is launch


@pytest.mark.parametrize(("status", "passes"), [(0, True), (503, True), (404, False)])
async def test_without_the_server_the_task_does_not_start(launch, status, passes):
    async def fail(_alloc_id, _task, _name):
        raise CallFailed("away", status)

    with pytest.raises(StartError, match="could not be had: away") as refused:
        await with_identity(launch, "alloc", make_task(identity=Identity(env=True)), fail)
    assert refused.value.recoverable is passes


async def test_a_file_outside_the_task_is_not_written(launch):
    task = make_task(identity=Identity(file=True, filepath="../../out"))
    with pytest.raises(PermissionError):
        await with_identity(launch, "alloc", task, ask)
