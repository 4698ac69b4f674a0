"""The running Bivouac of the live tests, and what a program does to it while a person watches."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
from django.conf import settings

from cluster.agent.secret_mounts import unmount_below
from cluster.bench.stack import Stack

Found = TypeVar("Found")
LOOK_S = 0.05
#: Waits end so many times later than a quiet machine needs: a bound here ends a test that would
#: never end, and claims nothing about speed, which `manage.py bench` measures.
PATIENCE = 4
#: What the two real nodes of the story offer, whatever the machine has.
NODE_CPU, NODE_MEMORY = 2000, 2048
SIZE = {"BIVOUAC_CPU_MHZ": str(NODE_CPU), "BIVOUAC_MEMORY_MB": str(NODE_MEMORY)}
#: Short, so that a dead node is noticed soon, yet longer than a web server takes to come back.
SILENCE = {"BIVOUAC_MIN_HEARTBEAT_TTL": "1", "BIVOUAC_HEARTBEAT_GRACE": "4"}
SECOND = 1_000_000_000


def until(
    find: Callable[[], Found], what: str, limit_s: float = 20, instead: Callable[[], str] = str
) -> Found:
    """What `find` answers, once it is something; fails with `what` and `instead` at the limit."""
    deadline = time.monotonic() + PATIENCE * limit_s
    while not (found := find()):
        assert time.monotonic() < deadline, f"not within {limit_s:g} s: {what} {instead()}"
        time.sleep(LOOK_S)
    return found


class World:
    """A stack with its API, asked in the words of the story."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.api = stack.client()
        #: Cookies of the one who used the login link.
        self.session: list[Any] = []

    def get(self, path: str) -> Any:
        answer = self.api.get(f"/v1/{path}")
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def register(self, job: dict[str, Any]) -> str:
        """The id of the evaluation that decides about it."""
        answer = self.api.put("/v1/jobs", json={"Job": job})
        assert answer.is_success, answer.text
        return answer.json()["EvalID"]

    def rehearsed(self, *changes: dict[str, Any]) -> dict[str, Any]:
        """What a rehearsal of these changes found."""
        answer = self.api.put("/v1/rehearsals", json={"Changes": list(changes)})
        assert answer.is_success, answer.text
        path = f"rehearsal/{answer.json()['ID']}"
        return until(lambda: self.get(path)["Result"], "a rehearsal that ended", 60)

    def healthy(self, job_id: str, count: int) -> list[dict[str, Any]]:
        """So many allocations of a job that run and were judged healthy."""

        def find() -> list[dict[str, Any]]:
            found = [
                alloc
                for alloc in self.allocations(job_id, "running")
                if (alloc["DeploymentStatus"] or {}).get("Healthy")
            ]
            return found if len(found) == count else []

        return until(find, f"{count} healthy allocations of {job_id}", 60)

    def purge(self, job_id: str) -> None:
        assert self.api.delete(f"/v1/job/{job_id}", params={"purge": "true"}).is_success

    def evaluation(self, job_id: str, trigger: str, status: str = "") -> dict[str, Any]:
        """The newest evaluation of a job with this trigger, once there is one."""

        def find() -> dict[str, Any] | None:
            listed = self.get(f"job/{job_id}/evaluations?additions")
            fitting = [
                item
                for item in listed
                if item["TriggeredBy"] == trigger and status in ("", item["Status"])
            ]
            return max(fitting, key=lambda item: item["CreateIndex"], default=None)

        return until(find, f"a {status} {trigger} evaluation of {job_id}")

    def allocations(self, job_id: str, *statuses: str) -> list[dict[str, Any]]:
        listed = self.get(f"job/{job_id}/allocations")
        fitting = [item for item in listed if not statuses or item["ClientStatus"] in statuses]
        return sorted(fitting, key=lambda item: item["CreateIndex"])

    def running(self, job_id: str, count: int) -> list[dict[str, Any]]:
        """The running allocations of a job, once there are `count`."""

        def find() -> list[dict[str, Any]]:
            found = self.allocations(job_id, "running")
            return found if len(found) == count else []

        what = f"{count} running allocations of {job_id}"
        return until(find, what, instead=lambda: self.state(job_id))

    def state(self, job_id: str) -> str:
        """How a job stands, for who reads why a wait ended in vain."""
        allocs = self.allocations(job_id)
        evals = self.get(f"job/{job_id}/evaluations?additions")
        said = [
            *(f"{a['ClientStatus']} on {a['NodeName']}: {a['TaskStates']}" for a in allocs),
            *(f"{e['TriggeredBy']} {e['Status']}: {e.get('FailedTGAllocs')}" for e in evals),
            *(
                f"{n['Name']} {n['Status']} {n['SchedulingEligibility']}"
                for n in self.get("nodes")
            ),
        ]
        return "; ".join(said)

    def output(self, alloc_id: str, task: str = "task") -> str:
        """What a task has written to its stdout."""
        parameters = {"task": task, "type": "stdout", "plain": "true"}
        answer = self.api.get(f"/v1/client/fs/logs/{alloc_id}", params=parameters)
        return answer.text if answer.is_success else ""

    def node(self, name: str, *, status: str = "ready") -> dict[str, Any]:
        """A node by its name, once it has this status."""

        def find() -> dict[str, Any] | None:
            nodes = self.get("nodes")
            fits = (n for n in nodes if n["Name"] == name and n["Status"] == status)
            return next(fits, None)

        return until(find, f"node {name} {status}")

    def close(self, node: dict[str, Any]) -> None:
        """Place nothing more on the node."""
        self._set(node, "ineligible")

    def open(self, node: dict[str, Any]) -> None:
        """Place on the node again."""
        self._set(node, "eligible")

    def _set(self, node: dict[str, Any], eligibility: str) -> None:
        body = {"Eligibility": eligibility}
        assert self.api.put(f"/v1/node/{node['ID']}/eligibility", json=body).is_success

    @contextlib.contextmanager
    def frozen(self, process: str) -> Iterator[None]:
        """A process of the stack holds its breath, so that what waits for it can be looked at."""
        group = self.stack.pids[process]
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    @contextlib.contextmanager
    def down(self, process: str) -> Iterator[None]:
        """A process of the stack is dead, and nobody starts it again before the block ends."""
        keeper = psutil.Process(self.stack.pids[process]).ppid()
        os.kill(keeper, signal.SIGSTOP)
        try:
            self.stack.kill(process)
            yield
        finally:
            os.kill(keeper, signal.SIGCONT)


class AgentProcess:
    """A second real agent, which can die and come back: `manage.py runagent`."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.environment = {
            **os.environ,
            **SIZE,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(stack.data_dir),
            "BIVOUAC_ADDR": stack.address,
            "BIVOUAC_JOIN_TOKEN": (stack.data_dir / "join-token").read_text().strip(),
            "BIVOUAC_AGENT_DIR": str(stack.data_dir / name),
            "BIVOUAC_NODE_NAME": name,
            "BIVOUAC_RAW_EXEC": "1",
        }
        self.log_file = stack.data_dir / "logs" / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(settings.BASE_DIR / "manage.py"), "runagent"],
                env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            self.process.wait(20)
            self.process = None


def task_process(alloc_id: str) -> psutil.Process:
    """The first process of an allocation's task, which is what its driver started."""

    def find() -> psutil.Process | None:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("NOMAD_ALLOC_ID") == alloc_id:
                    found.append((process.create_time(), process.pid, process))
        return min(found)[2] if found else None

    return until(find, f"a process of allocation {alloc_id}")


def kill_tasks_below(directory: str) -> None:
    """Agents leave their tasks running when they stop, and what they mounted; a test may not."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("NOMAD_ALLOC_DIR", "").startswith(directory):
                process.kill()
    unmount_below(Path(directory))


def job(job_id: str, *, count: int = 1, task: dict[str, Any] | None = None, **group: Any) -> Any:
    """A service of one group with one task, which runs until it is stopped.

    It is replaced at once, without a deployment.
    """
    plain = {
        "Name": "task",
        "Driver": "raw_exec",
        "Config": {"command": "/bin/sleep", "args": ["3600"]},
        "Resources": {"CPU": 50, "MemoryMB": 32},
        "KillTimeout": SECOND,
    }
    groups = [{"Name": "group", "Count": count, "Tasks": [{**plain, **(task or {})}], **group}]
    return {
        "ID": job_id,
        "Name": job_id,
        "Type": "service",
        "Datacenters": ["*"],
        "Update": {"MaxParallel": 0},
        "TaskGroups": groups,
    }


#: A task that only pretends, for nodes that only pretend.
MOCK = {"Driver": "mock_driver", "Config": {"run_for": "1h"}}


@contextlib.contextmanager
def started_world(logs: Path) -> Iterator[World]:
    """A stack of its own with one real agent, called `first`; its logs are kept in `logs`."""
    environment = {**SILENCE, **SIZE, "BIVOUAC_NODE_NAME": "first"}
    with Stack(agent=True, environment=environment) as stack:
        world = World(stack)
        try:
            world.node("first")
            yield world
        finally:
            world.api.close()
            kill_tasks_below(str(stack.data_dir))
            shutil.copytree(stack.data_dir / "logs", logs, dirs_exist_ok=True)
    kill_tasks_below(str(stack.data_dir))
