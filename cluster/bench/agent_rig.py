"""A real agent beside a stack, and a count of what really runs: by /proc and control groups.

In: a stack. Out: an agent that can be killed, cut off and started again, and a Census of its
tasks that asks neither the agent nor the server.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from django.conf import settings

from cluster.agent.control_groups import NoControlGroups, control_groups
from cluster.agent.drivers.driver import RUNS
from cluster.bench.scenario import WrongCount
from cluster.bench.stack import Stack
from cluster.runtime.clock import SystemClock

_CLOCK = SystemClock()
_LOOK_S = 0.2
#: What makes the processes beside tasks, and they themselves, which say where they belong.
_FORKED = "cluster.agent.fork_server"
SECOND = 1_000_000_000
_MIB = 1024 * 1024


@dataclass
class Census:
    """What really runs of one agent's tasks."""

    #: By allocation: the processes beside its tasks, each of which stands for one run of a task.
    keepers: Counter[str] = field(default_factory=Counter)
    #: By allocation: processes of its tasks.
    processes: Counter[str] = field(default_factory=Counter)
    #: Those among them that have ended and were not buried.
    corpses: Counter[str] = field(default_factory=Counter)
    #: Processes that no process beside a task answers for.
    orphans: list[int] = field(default_factory=list)
    #: Names of control groups of its allocations.
    groups: set[str] = field(default_factory=set)


class RealAgent:
    """`manage.py runagent` on this machine, with a directory of its own."""

    def __init__(
        self,
        stack: Stack,
        name: str,
        *,
        directory: Path | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """`prefix`: before the command, what takes it to other surroundings, as `unshare` does."""
        self.stack = stack
        self.name = name
        self.directory = directory or stack.data_dir / name
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(stack.data_dir),
            "BIVOUAC_ADDR": stack.address,
            "BIVOUAC_JOIN_TOKEN": (stack.data_dir / "join-token").read_text().strip(),
            "BIVOUAC_AGENT_DIR": str(self.directory),
            "BIVOUAC_NODE_NAME": name,
            "BIVOUAC_RAW_EXEC": "1",
            "BIVOUAC_CPU_MHZ": "20000",
            "BIVOUAC_MEMORY_MB": "20000",
            "BIVOUAC_DISK_MB": "20000",
            "BIVOUAC_DOCKER_SOCKET": "",
        }
        self.prefix = [*prefix]
        self._process: subprocess.Popen[bytes] | None = None
        self._seen: set[str] = set()

    def start(self) -> None:
        """Start it; see `Rig.ready`."""
        log_file = self.stack.data_dir / "logs" / f"{self.name}.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [*self.prefix, sys.executable, str(settings.BASE_DIR / "manage.py"), "runagent"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process; with a prefix that execs, the same."""
        assert self._process is not None, "started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the agent alone; its tasks run on."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)

    def end_all(self) -> None:
        """As a reboot does: the agent, every task and its control group."""
        self.end()
        for process in (*self.keepers(), *self.tasks()):
            with contextlib.suppress(psutil.Error):
                process.kill()
        deadline = _CLOCK.monotonic() + 10
        while self.keepers() and _CLOCK.monotonic() < deadline:
            time.sleep(_LOOK_S)
        self._remove_groups()

    def census(self) -> Census:
        """What runs at this moment; what begins meanwhile may be missing."""
        found = Census(groups=self._groups())
        answered: set[int] = set()
        for keeper in self.keepers():
            alloc_id = self._alloc_of(keeper)
            with contextlib.suppress(psutil.Error):
                below = keeper.children(recursive=True)
                found.keepers[alloc_id] += 1
                found.processes[alloc_id] += len(below)
                answered |= {each.pid for each in below}
                if dead := _corpses(below):
                    found.corpses[alloc_id] += dead
        # What began after the keepers were looked at belongs to one of them as a rule.
        found.orphans = [
            process.pid
            for process in self.tasks()
            if process.pid not in answered and not self._is_kept(process)
        ]
        return found

    def corpses(self) -> int:
        """Dead children that the agent has not buried."""
        with contextlib.suppress(psutil.Error):
            return _corpses(psutil.Process(self.pid).children())
        return 0

    def cost(self) -> tuple[float, float]:
        """CPU seconds until now and MiB, of the agent and what forks for it; not of the forks."""
        used = memory = 0.0
        for process in (psutil.Process(self.pid), *self.fork_servers()):
            times = process.cpu_times()
            used += times.user + times.system
            memory += process.memory_full_info().pss / _MIB
        return used, memory

    def fork_servers(self) -> list[psutil.Process]:
        """What forks the processes beside tasks."""
        with contextlib.suppress(psutil.Error):
            below = psutil.Process(self.pid).children()
            return [each for each in below if _FORKED in each.cmdline()]
        return []

    def keepers_mb(self) -> float:
        """MiB of all processes beside tasks."""
        return sum(each.memory_full_info().pss / _MIB for each in self.keepers())

    def keepers(self) -> list[psutil.Process]:
        """The processes beside tasks."""
        here = str(self.directory)
        found = {}
        for process in psutil.process_iter(["cmdline", "ppid"]):
            if _run_of(process.info["cmdline"] or []).startswith(here):
                found[process.pid] = process
        # One that is about to become a task looks like what stands beside it.
        return [each for each in found.values() if each.info["ppid"] not in found]

    def _alloc_of(self, keeper: psutil.Process) -> str:
        with contextlib.suppress(psutil.Error, ValueError):
            run = Path(_run_of(keeper.cmdline()))
            return run.relative_to(self.directory / "alloc" / RUNS).parts[0]
        return ""

    def _is_kept(self, process: psutil.Process) -> bool:
        """Whether one of those above it stands beside a task; what is gone counts as kept."""
        try:
            return any(_run_of(above.cmdline()) for above in process.parents())
        except psutil.NoSuchProcess:
            return True

    def tasks(self) -> list[psutil.Process]:
        """Every process with the environment of a task of this agent."""
        here, known = str(self.directory), self._known()
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                given = process.environ()
                is_ours = given.get("NOMAD_ALLOC_DIR", "").startswith(here)
                if is_ours or given.get("NOMAD_ALLOC_ID", "-") in known:
                    found.append(process)
        return found

    def know(self, alloc_ids: Iterable[str]) -> None:
        """Count what is left of these as its own, whatever became of their files."""
        self._seen.update(alloc_ids)

    def _known(self) -> set[str]:
        """Its allocations, those among them whose files are gone since they were looked at."""
        self._seen |= {path.name for path in (self.directory / "alloc").glob("*")}
        return self._seen

    def _groups(self) -> set[str]:
        """Control groups of its allocations."""
        try:
            parents = control_groups().parents.values()
        except NoControlGroups:
            return set()
        names = {path.name for parent in parents for path in parent.iterdir() if path.is_dir()}
        return {name for name in names if name.partition(".")[0] in self._known()}

    def _remove_groups(self) -> None:
        with contextlib.suppress(NoControlGroups):
            for parent in control_groups().parents.values():
                for path in parent.iterdir():
                    if path.is_dir() and path.name.partition(".")[0] in self._known():
                        with contextlib.suppress(OSError):
                            path.rmdir()


class Rig:
    """A stack and its one real agent, asked as a person would."""

    def __init__(self, stack: Stack, agent: RealAgent) -> None:
        self.stack = stack
        self.agent = agent
        self._client = stack.client()

    def close(self) -> None:
        """Stop what runs, then the agent."""
        if self.agent.is_running:
            self.purge_all()
            with contextlib.suppress(WrongCount):
                self.until(lambda: not self.agent.census().keepers, "every task ended", 30)
        self.agent.end_all()
        self._client.close()

    def purge_all(self) -> None:
        """Stop and forget every job, and have the node delete what has ended."""
        for job in self.get("/v1/jobs"):
            self._client.delete(f"/v1/job/{job['ID']}", params={"purge": "true"})
        self._client.put("/v1/system/gc")
        if node := self.node():
            self._client.get("/v1/client/gc", params={"node_id": node["ID"]})

    def get(self, path: str) -> Any:
        """What the server says. Raises httpx.HTTPError."""
        answer = self._client.get(path)
        answer.raise_for_status()
        return answer.json()

    def submit(self, job_id: str, script: str, *, count: int = 1, **fields: Any) -> None:
        """A service whose task runs this script of the shell."""
        config = {"command": "/bin/sh", "args": ["-c", script], **fields.pop("config", {})}
        task = {
            "Name": "task",
            "Driver": fields.pop("driver", "raw_exec"),
            "Config": config,
            "Resources": {"CPU": 20, "MemoryMB": 32},
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
            "KillTimeout": SECOND,
            "RestartPolicy": {"Attempts": 3, "Delay": SECOND, "Interval": 600 * SECOND},
        }
        group = {
            "Name": "group",
            "Count": count,
            "EphemeralDisk": {"SizeMB": 10},
            "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
            "Tasks": [task],
            **fields,
        }
        body = {
            "ID": job_id,
            "Type": "service",
            "Datacenters": ["*"],
            "Update": {"MaxParallel": 0},
            "TaskGroups": [group],
        }
        self._client.put("/v1/jobs", json={"Job": body}).raise_for_status()

    def stop(self, job_id: str) -> None:
        """Stop a job."""
        self._client.delete(f"/v1/job/{job_id}").raise_for_status()

    def allocations(self, job_id: str, *statuses: str) -> list[dict[str, Any]]:
        """Of a job, with one of these statuses if any are given."""
        found = self.get(f"/v1/job/{job_id}/allocations")
        return [each for each in found if not statuses or each["ClientStatus"] in statuses]

    def running(self, job_id: str, count: int = 1, limit_s: float = 60) -> list[dict[str, Any]]:
        """Wait until so many run, and are wanted. Raises WrongCount."""

        def find() -> list[dict[str, Any]]:
            found = self.allocations(job_id, "running")
            wanted = [each for each in found if each["DesiredStatus"] == "run"]
            return wanted if len(wanted) == count else []

        found: list[dict[str, Any]] = self.until(find, f"{count} of {job_id} run", limit_s)
        return found

    def started(self, job_id: str) -> dict[str, str]:
        """When the task of each running allocation began."""
        running = self.allocations(job_id, "running")
        return {each["ID"]: each["TaskStates"]["task"]["StartedAt"] for each in running}

    def node(self) -> dict[str, Any]:
        """The agent's node; {} before it is known."""
        listed = [n for n in self.get("/v1/nodes") if n["Name"] == self.agent.name]
        return dict(listed[0]) if listed else {}

    def ready(self, limit_s: float = 90) -> None:
        """Wait for the node. Raises WrongCount."""
        self.until(lambda: self.node().get("Status") == "ready", "the node is ready", limit_s)

    def answers(self, alloc_id: str) -> bool:
        """Whether the agent can be asked about the allocation."""
        return self._client.get(f"/v1/client/allocation/{alloc_id}/stats").is_success

    def until(self, find: Callable[[], Any], what: str, limit_s: float = 60) -> Any:
        """What `find` answers, once it is something. Raises WrongCount."""
        deadline = _CLOCK.monotonic() + limit_s
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if found := find():
                    return found
            if _CLOCK.monotonic() > deadline:
                raise WrongCount(
                    f"not within {limit_s:g} s: {what}; {self.agent.census()}; {self._told()}"
                )
            time.sleep(_LOOK_S)

    def _told(self) -> list[str]:
        """What the server says, for who reads why a wait ended in vain."""
        with contextlib.suppress(httpx.HTTPError):
            return [
                f"{a['JobID']} {a['ID'][:8]}: {a['DesiredStatus']}, {a['ClientStatus']}"
                for a in self.get("/v1/allocations")
            ]
        return []

    def check(self) -> None:
        """What runs is what the server says, once each, and nothing else. Raises WrongCount."""

        def agrees() -> bool:
            wanted = Counter(
                each["ID"]
                for each in self.get("/v1/allocations")
                if each["ClientStatus"] == "running"
                and each["DesiredStatus"] == "run"
                and each["NodeName"] == self.agent.name
            )
            census = self.agent.census()
            groups = {name.partition(".")[0] for name in census.groups}
            return census.keepers == wanted and not census.orphans and groups <= set(wanted)

        self.until(agrees, "what runs is what is wanted, once each", 30)


def _corpses(processes: list[psutil.Process]) -> int:
    """How many of them have ended and were not buried; what is gone by now was."""
    found = 0
    for each in processes:
        with contextlib.suppress(psutil.Error):
            found += each.status() == psutil.STATUS_ZOMBIE
    return found


def _run_of(words: list[str]) -> str:
    """The directory of the run that a process stands beside; empty for every other process."""
    given = [word for word in words if word]
    is_beside = len(given) > 1 and given[-2] == _FORKED and given[-1].startswith("/")
    return given[-1] if is_beside else ""
