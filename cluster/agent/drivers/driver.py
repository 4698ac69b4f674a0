"""What the agent asks of whatever runs a task, and what it hands over to have one run.

A driver starts a task, tells once how it ended, stops and signals it, and finds it again after a
restart of the agent from the handle it gave out.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.restarts import Ending
from scheduler.structs.network import AllocatedPort, DNSConfig
from scheduler.structs.node import DriverInfo
from scheduler.structs.task_group import LogConfig

#: Called once, with how the task ended.
Ended = Callable[[Ending], None]


class StartError(Exception):
    """The task could not be started; the text is shown to people."""

    def __init__(
        self, text: str, *, recoverable: bool = False, invalid_config: bool = False
    ) -> None:
        super().__init__(text)
        self.recoverable = recoverable
        self.invalid_config = invalid_config

    def as_ending(self) -> Ending:
        """The failed start as the end of a run that never was."""
        return Ending(
            start_error=str(self) or "Failed to start task",
            recoverable=self.recoverable,
            invalid_config=self.invalid_config,
        )


class HookFailed(StartError):
    """Something beside the driver keeps the task from starting: `<what>: <why>`."""

    def as_ending(self) -> Ending:
        return replace(super().as_ending(), failed_hook=True)


class InsideFailed(Exception):
    """A command could not be run beside a task; the text is shown to people."""


class Isolation(StrEnum):
    """What a task sees of the host's files."""

    #: All of them: its directories have the host's paths.
    NONE = "none"
    #: Those of an image, with its directories at `/alloc`, `/local` and `/secrets`.
    IMAGE = "image"
    #: A root of its own: its directories are `/alloc`, `/local` and `/secrets`.
    CHROOT = "chroot"


@dataclass(frozen=True)
class Abilities:
    """What a driver can do with any of its tasks (node-agent-2.md 5.1)."""

    isolation: Isolation = Isolation.NONE
    #: Whether commands can be run beside a running task.
    runs_inside: bool = False
    #: Whom tasks run as that name nobody; "": the agent's own user.
    default_user: str = ""


@dataclass(frozen=True)
class TaskLimits:
    """What the task was granted: megahertz and megabytes."""

    cpu_mhz: int = 0
    memory_mb: int = 0
    #: 0: none but `memory_mb`; -1: no end.
    memory_max_mb: int = 0
    #: Numbers of the processors set aside for it alone.
    cores: tuple[int, ...] = ()
    #: Megahertz of one processor of the node.
    core_mhz: float = 0.0


@dataclass(frozen=True)
class Streams:
    """Open descriptors for a command that runs beside a task; they stay the caller's to close."""

    stdin: int
    stdout: int
    stderr: int
    #: `stdin` is a terminal, which is to control the command.
    is_terminal: bool = False


@dataclass(frozen=True)
class InsideProcess:
    """A command that runs beside a task."""

    process: asyncio.subprocess.Process

    async def wait(self) -> int:
        """Its exit code, once it has ended; 128 + S when signal S ended it."""
        code = await self.process.wait()
        return code if code >= 0 else 128 - code

    def kill(self) -> None:
        """End it and whatever it started, by force; nothing when it has ended.

        The small process between is told to: it kills the others, and ends last.
        """
        if self.process.returncode is None:
            self.process.terminate()


#: Beside the directories of allocations, whose names are ids.
RUNS = ".runs"


@dataclass(frozen=True)
class TaskDirectories:
    """The directories of one task (node-agent.md 12.1)."""

    root: Path
    shared: Path
    #: Whether the task has a root of its own, in which they have short names.
    is_rooted: bool = False

    def as_seen(self, path: Path) -> str:
        """How the task calls one of its directories."""
        if not self.is_rooted:
            return str(path)
        if path.is_relative_to(self.shared):
            return str(Path("/alloc") / path.relative_to(self.shared))
        return str(Path("/") / path.relative_to(self.root))

    @property
    def local(self) -> Path:
        """The task's own data."""
        return self.root / "local"

    @property
    def secrets(self) -> Path:
        """What nobody else reads."""
        return self.root / "secrets"

    @property
    def private(self) -> Path:
        """The agent's notes, not for the task."""
        return self.root / "private"

    @property
    def runs(self) -> Path:
        """The agent's notes by which it finds, enters and ends the task.

        A task of `raw_exec` with a user owns `root`, and could put notes of its own in the place
        of any that lay below it; no task owns a directory on the way to these.
        """
        alloc = self.root.parent
        return alloc.parent / RUNS / alloc.name / self.root.name

    @property
    def logs(self) -> Path:
        """Output of all tasks of the allocation."""
        return self.shared / "logs"


@dataclass(frozen=True)
class Mount:
    """A directory of the host that a task is to see at another place."""

    #: Its name among the node's volumes, for people.
    volume: str
    source: Path
    #: As the job says it; `${...}` is filled in. A relative one lies below the task's directory.
    target: str
    read_only: bool = False
    #: `private`, `host-to-task` or `bidirectional`: which later mounts below it go across.
    propagation: str = "private"
    #: "", `z` or `Z`.
    selinux_label: str = ""


@dataclass(frozen=True)
class TaskNetwork:
    """The network a task is to be in."""

    #: The file that holds its allocation's namespace; "": the host's network.
    namespace: str = ""
    #: Where the allocation is reached in that network; "": it has no address.
    address: str = ""
    #: Only for a driver whose `names_hosts` is true.
    hostname: str = ""
    #: None: who resolves names for the host does so for the task.
    dns: DNSConfig | None = None


@dataclass(frozen=True)
class Launch:
    """Everything needed to start one run of a task."""

    #: `<alloc>/<task>/<8 hex>`: new for every start.
    task_id: str
    task_name: str
    config: dict[str, object]
    env: dict[str, str] = field(default_factory=dict)
    #: Of the users of the host.
    user: str = ""
    #: Of the users that an image knows.
    image_user: str = ""
    logs: LogConfig = LogConfig()
    #: None on a simulated node, which has no files.
    directories: TaskDirectories | None = None
    #: None: nothing limits it.
    limits: TaskLimits | None = None
    #: Only for a driver whose `takes_mounts` is true: the start of any other is refused before.
    mounts: tuple[Mount, ...] = ()
    #: What its group was granted, for a driver that gives tasks a network of their own.
    ports: tuple[AllocatedPort, ...] = ()
    #: Device files of the host that are this task's; their variables are in `env`.
    devices: tuple[str, ...] = ()
    device_env: dict[str, str] = field(default_factory=dict)
    #: With a namespace only for a driver whose `joins_networks` is true.
    network: TaskNetwork = TaskNetwork()


class Handle(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver needs to find its task again; kept in the agent's state."""

    driver: str
    task_id: str
    facts: dict[str, str | int] = {}


class ProcessReading(msgspec.Struct, frozen=True, kw_only=True):
    """What one process has used since it began, and holds now."""

    #: Seconds of the processor, its own and those of children that it saw end.
    user_s: float = 0.0
    system_s: float = 0.0
    ended_user_s: float = 0.0
    ended_system_s: float = 0.0
    #: Bytes.
    rss: int = 0
    swap: int = 0


class CgroupReading(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel counts of a control group that holds one task alone."""

    user_s: float = 0.0
    system_s: float = 0.0
    #: Periods of a limited processor, and those in which the task was held back.
    periods: int = 0
    throttled_periods: int = 0
    throttled_ns: int = 0
    #: Bytes; `max_usage` is None where the kernel keeps no peak.
    rss: int = 0
    cache: int = 0
    mapped_file: int = 0
    kernel: int = 0
    swap: int = 0
    usage: int = 0
    max_usage: int | None = None


class TaskReading(msgspec.Struct, frozen=True, kw_only=True):
    """One look at one task: counters, from which the shares between two looks follow."""

    #: Seconds of the processor that all its processes have used, those that have ended included.
    user_s: float = 0.0
    system_s: float = 0.0
    #: By process id.
    processes: dict[int, ProcessReading] = {}
    #: None where the task shares its control group with others.
    cgroup: CgroupReading | None = None


class Driver(Protocol):
    """One way to run tasks.

    What it can do beside that it says by attributes that are true: `takes_mounts` (it shows a task
    directories of the host), `joins_networks` (it starts tasks in the namespace of their
    allocation's network), `names_hosts` (it gives them a host name there). One that gets something
    before a task starts, such as an image, has `fetch(launch, tell)`: it may take long, `tell`
    takes sentences for the task's history, and it may be canceled. One that holds the network of
    an allocation beside its tasks has `leave_network(alloc_id)`, which lets go of it.
    """

    @property
    def name(self) -> str:
        """As jobs call it."""

    @property
    def abilities(self) -> Abilities:
        """What it can do; the same for all its tasks, as long as the agent lives."""

    def describe(self, now: int) -> DriverInfo:
        """What the node says of it. Asked every 30 s, in a thread of its own: it may take time."""

    def prepare(self, launch: Launch) -> Handle:
        """The handle this start will have, to be kept before starting.

        So a task whose agent died meanwhile is found. Raises StartError for impossible options.
        """

    async def start(self, launch: Launch, handle: Handle, ended: Ended) -> None:
        """Start the task. Raises StartError; `ended` is not called before this returns."""

    async def recover(self, handle: Handle, ended: Ended) -> bool:
        """Take the task over again, ended or not; False when nothing is known of it any more."""

    async def stop(self, handle: Handle, timeout_s: float, signal: str) -> None:
        """Ask it to end, then force it; the end itself arrives through `ended`."""

    async def signal(self, handle: Handle, signal: str) -> None:
        """Send a signal. Raises ValueError for one it cannot send."""

    async def run_inside(
        self, handle: Handle, argv: Sequence[str], streams: Streams
    ) -> InsideProcess:
        """Run a command in the surroundings of a running task, with the streams as its own.

        Those are user, variables, working directory, control group, and its root and namespaces
        where it has some. Returns once the command runs. Raises InsideFailed.
        """

    def measure(self, handle: Handle, processes: ProcessTable) -> TaskReading | None:
        """What it has used; None: it does not run, or nothing is measured. May take its time."""

    def forget(self, handle: Handle) -> None:
        """The agent will not ask about it again."""


def unhealthy(reason: str, now: int) -> DriverInfo:
    """A driver this node does not offer, and why."""
    return DriverInfo(health_description=reason, update_time=now)


def healthy(name: str, now: int) -> DriverInfo:
    """A driver this node offers."""
    return DriverInfo(
        attributes={f"driver.{name}": "1"},
        detected=True,
        healthy=True,
        health_description="Healthy",
        update_time=now,
    )
