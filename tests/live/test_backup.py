"""A backup of a running cluster, and its restore under agents whose tasks run on."""

import os
import subprocess
import sys
import tarfile
import threading
from contextlib import contextmanager, suppress

import httpx
import pytest
from django.conf import settings

from cluster.bench.stack import Stack
from tests.live.visitor import Visitor
from tests.live.world import SIZE, World, job, kill_tasks_below, task_process, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]


@pytest.fixture
def world(tmp_path):
    data_dir = tmp_path / "data"
    environment = {**SIZE, "BIVOUAC_NODE_NAME": "only"}
    try:
        with Stack(agent=True, data_dir=data_dir, environment=environment) as stack:
            world = World(stack)
            world.node("only")
            yield world
            world.api.close()
    finally:
        kill_tasks_below(str(data_dir))


def manage(stack: Stack, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "cluster.settings"}
    return subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), *words],
        env=environment | {"BIVOUAC_DATA_DIR": str(stack.data_dir)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def noting(file) -> dict[str, object]:
    """A task that notes each of its starts in a file."""
    script = f"echo started >> {file}; exec sleep 3600"
    return {"Config": {"command": "/bin/sh", "args": ["-c", script]}}


def test_tasks_are_found_again_and_none_is_started_twice(world, tmp_path):
    stack, token = world.stack, world.stack.token
    starts = {name: tmp_path / f"starts-of-{name}" for name in ("steady", "stopped", "late")}

    def register(name: str) -> None:
        world.register(job(name, task=noting(starts[name])))

    register("steady")
    register("stopped")
    (steady,) = world.running("steady", 1)
    (stopped,) = world.running("stopped", 1)
    process = task_process(steady["ID"])

    file = tmp_path / "kept"
    done = manage(stack, "backup", str(file))
    assert (done.returncode, done.stderr) == (0, "")

    # What follows is not in the file.
    register("late")
    (late,) = world.running("late", 1)
    orphan = task_process(late["ID"])
    world.api.delete("/v1/job/stopped")
    until(lambda: world.allocations("stopped", "complete"), "it has ended")

    refused = manage(stack, "restore", str(file), "--replace")
    assert refused.returncode != 0
    assert f"already running with this data directory: {stack.address}" in refused.stderr
    stack.stop()
    done = manage(stack, "restore", str(file), "--replace")
    assert (done.returncode, done.stderr) == (0, "")
    assert process.is_running()
    stack.start()

    assert stack.token == token
    world.node("only")
    (found,) = world.running("steady", 1)
    assert (found["ID"], found["CreateIndex"]) == (steady["ID"], steady["CreateIndex"])
    assert task_process(steady["ID"]).pid == process.pid
    # Its agent ends what the record knows nothing of.
    until(lambda: not orphan.is_running(), "the task of the later allocation is stopped")
    assert world.api.get("/v1/job/late").status_code == 404
    # That it had ended is told again. The job is wanted again: its next evaluation, which may have
    # come before that news, places another one.
    until(lambda: world.allocations("stopped", "complete"), "the record knows that it ended")
    world.api.put("/v1/job/stopped/evaluate", json={"JobID": "stopped"}).raise_for_status()
    assert world.running("stopped", 1)[0]["ID"] != stopped["ID"]
    until(lambda: starts["stopped"].read_text() == "started\n" * 2, "it was started once more")

    world.register(job("new", task=noting(tmp_path / "new")))
    world.running("new", 1)
    assert starts["steady"].read_text() == starts["late"].read_text() == "started\n"
    assert task_process(steady["ID"]).pid == process.pid


def test_a_snapshot_through_the_api_is_a_backup(world, tmp_path):
    answer = world.api.get("/v1/operator/snapshot")
    file = tmp_path / "snapshot"
    file.write_bytes(answer.content)
    with tarfile.open(file) as tar:
        assert tar.getnames() == ["meta.json", "state.bin", "SHA256SUMS"]
    told = manage(world.stack, "backup", "--inspect", str(file))
    assert (told.returncode, told.stdout.splitlines()[0]) == (0, "Every checksum is right.")


def jobs(world) -> set[str]:
    return {found["ID"] for found in world.get("jobs")}


def put_back(world, body: bytes) -> httpx.Response:
    """As `nomad operator snapshot restore` sends it: of a length that it does not tell."""
    pieces = (body[at : at + 10_000] for at in range(0, len(body), 10_000))
    with world.stack.client() as client:
        return client.put("/v1/operator/snapshot", content=pieces, timeout=120)


def test_a_running_cluster_goes_back_and_on(world, browser, tmp_path):
    starts = {name: tmp_path / f"starts-of-{name}" for name in ("steady", "stopped", "late")}

    def register(name: str) -> None:
        world.register(job(name, task=noting(starts[name])))

    register("steady")
    register("stopped")
    (steady,) = world.running("steady", 1)
    (stopped,) = world.running("stopped", 1)
    process = task_process(steady["ID"])
    snapshot = world.api.get("/v1/operator/snapshot").content

    register("late")
    (late,) = world.running("late", 1)
    orphan = task_process(late["ID"])
    world.api.delete("/v1/job/stopped")
    until(lambda: world.allocations("stopped", "complete"), "it has ended")
    with looking_at_jobs(world, browser):
        restore_at_once(world, snapshot)
    assert jobs(world) == {"steady", "stopped"}

    until(lambda: not orphan.is_running(), "the task of the later allocation is stopped")
    until(lambda: world.allocations("stopped", "complete"), "the record knows that it ended")
    world.api.put("/v1/job/stopped/evaluate", json={"JobID": "stopped"}).raise_for_status()
    assert world.running("stopped", 1)[0]["ID"] != stopped["ID"]
    world.register(job("new", task=noting(tmp_path / "new")))
    world.running("new", 1)

    kill_while_restoring(world, snapshot)
    assert jobs(world) in ({"steady", "stopped"}, {"steady", "stopped", "new"})
    world.register(job("last", task=noting(tmp_path / "last")))
    world.running("last", 1)
    (found,) = world.running("steady", 1)
    assert (found["ID"], found["CreateIndex"]) == (steady["ID"], steady["CreateIndex"])
    assert task_process(steady["ID"]).pid == process.pid
    assert starts["steady"].read_text() == starts["late"].read_text() == "started\n"


@contextmanager
def looking_at_jobs(world, browser):
    """Somebody has the list of jobs open, and loads nothing by hand."""
    visitor = Visitor(browser, world.stack.address)
    visitor.sign_in(world)
    visitor.open("/jobs/")
    visitor.expect_live()
    late = visitor.page.get_by_text("late", exact=True)
    assert late.count()
    yield
    until(lambda: not late.count(), "the page follows")
    # Whoever was signed in still is.
    visitor.expect_live()
    visitor.context.close()


def restore_at_once(world, snapshot: bytes) -> None:
    damaged = put_back(world, snapshot[: len(snapshot) // 2])
    assert damaged.status_code == 500
    assert damaged.text.startswith("failed to restore from snapshot: the snapshot is no whole")
    before = int(world.api.get("/v1/jobs").headers["X-Nomad-Index"])
    answer = put_back(world, snapshot)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["X-Nomad-Index"]) > before


def kill_while_restoring(world, snapshot: bytes) -> None:
    restoring = threading.Thread(target=lambda: _in_vain(world, snapshot))
    restoring.start()
    restoring.join(0.7)
    world.stack.kill("web")
    restoring.join()
    until(lambda: _answered(world), "the web process is back")


def _in_vain(world, body: bytes) -> None:
    with suppress(httpx.HTTPError):
        put_back(world, body)


def _answered(world) -> set[str]:
    try:
        return jobs(world)
    except httpx.HTTPError:
        return set()
