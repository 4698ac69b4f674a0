"""A task that asks for its identity finds it where it asked for it; no other is asked about."""

import os
import pwd
import stat

import pytest

from cluster.agent.drivers.driver import Launch, StartError, TaskDirectories
from cluster.agent.server_link import CallFailed
from cluster.agent.task_identity import FileReader, with_further_identities, with_identity
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
    given = await with_identity(launch, "alloc", task, ask, FileReader())
    assert given.env == {"A": "b", "NOMAD_TOKEN": "token of web in alloc"}
    file = launch.directories.secrets / "nomad_token"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (
        "token of web in alloc",
        0o600,
    )
    again = make_task(identity=Identity(file=True, filepath="local/me"))
    assert (await with_identity(launch, "alloc", again, ask, FileReader())).env == {"A": "b"}
    assert (launch.directories.root / "local" / "me").read_text() == "token of web in alloc"


async def test_who_does_not_ask_is_given_none(launch):
    async def never(_alloc_id, _task, _name):
        raise AssertionError

    for task in (make_task(), make_task(identity=Identity())):
        assert await with_identity(launch, "alloc", task, never, FileReader()) is launch


@pytest.mark.parametrize(("status", "passes"), [(0, True), (503, True), (404, False)])
async def test_without_the_server_the_task_does_not_start(launch, status, passes):
    async def fail(_alloc_id, _task, _name):
        raise CallFailed("away", status)

    with pytest.raises(StartError, match="could not be had: away") as refused:
        await with_identity(
            launch, "alloc", make_task(identity=Identity(env=True)), fail, FileReader()
        )
    assert refused.value.recoverable is passes


async def test_a_file_outside_the_task_is_not_written(launch):
    task = make_task(identity=Identity(file=True, filepath="../../out"))
    with pytest.raises(PermissionError):
        await with_identity(launch, "alloc", task, ask, FileReader())


def read_by(file):
    found = file.stat()
    return found.st_uid, stat.S_IMODE(found.st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts tasks as others")
async def test_a_task_of_nobody_can_read_its_files(launch):
    task = make_task(identity=Identity(file=True), identities=(Identity(name="db", file=True),))
    nobody = FileReader("nobody")
    await with_identity(launch, "alloc", task, ask, nobody)
    await with_further_identities(launch, "alloc", task, ask, nobody)
    owner = pwd.getpwnam("nobody").pw_uid
    secrets = launch.directories.secrets
    assert read_by(secrets / "nomad_token") == (owner, 0o600)
    assert read_by(secrets / "nomad_db.jwt") == (owner, 0o600)


async def test_a_user_of_an_image_reads_them_whatever_the_host_knows_of_it(launch):
    task = make_task(
        user="of-the-image", identity=Identity(file=True),
        identities=(Identity(name="db", file=True),),
    )  # fmt: skip
    reader = FileReader(is_of_image=True)
    await with_identity(launch, "alloc", task, ask, reader)
    await with_further_identities(launch, "alloc", task, ask, reader)
    for name in ("nomad_token", "nomad_db.jwt"):
        assert read_by(launch.directories.secrets / name) == (os.geteuid(), 0o644)
