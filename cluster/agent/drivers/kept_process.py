"""Tasks that are processes of the host, each with a small process beside it that stays.

What `raw_exec` and `exec` share: starting, watching, stopping, finding again by the lock that the
process beside the task holds, its number and its start time. A driver adds the specification.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import select
import signal as signals
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cluster.agent.control_groups import ControlGroup, ControlGroups, GroupLimits, NoControlGroups
from cluster.agent.drivers.driver import (
    Ended,
    Handle,
    InsideFailed,
    InsideProcess,
    Launch,
    StartError,
    Streams,
    TaskLimits,
    TaskReading,
)
from cluster.agent.drivers.fork_line import Forked, fork_line
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.drivers.process_watch import until_gone
from cluster.agent.drivers.readings import read_task
from cluster.agent.drivers.small_process import run_inside
from cluster.agent.process_identity import boot_id, descendants_of, is_same_process
from cluster.agent.restarts import Ending
from cluster.agent.task_child import group_of

MEGABYTE = 1024 * 1024
#: Seconds for the process beside a task to say that the task runs.
READY_TIMEOUT_S = 30.0
_PAUSE = threading.Event()
_UNKNOWN_END = "the process beside the task ended without a record"


class _Process(msgspec.Struct, frozen=True):
    """What `process.json` says."""

    error: str = ""
    supervisor_pid: int = 0
    supervisor_start: int | None = None
    pid: int = 0
    pid_start: int | None = None
    #: "": of an agent that did not note it.
    boot_id: str = ""
    #: The error is one that another attempt may not meet.
    passes: bool = False

    @property
    def is_of_this_boot(self) -> bool:
        """Whether its numbers say anything: after a reboot they are those of strangers."""
        return self.boot_id in ("", boot_id())


@dataclass
class _Run:
    """One task under watch."""

    directory: Path
    process: _Process
    watch: asyncio.Task[None]
    group: ControlGroup | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_alive(self) -> bool:
        return is_same_process(self.process.pid, self.process.pid_start or 0)


FindGroups = Callable[[], ControlGroups]


def no_groups() -> ControlGroups:
    """Where tasks are not to be limited. Raises NoControlGroups, always."""
    raise NoControlGroups("tasks are not limited here")


class KeptProcesses(ABC):
    """The processes of one node, for one driver."""

    def __init__(self, find_groups: FindGroups = no_groups) -> None:
        self._find_groups = find_groups
        self._runs: dict[str, _Run] = {}

    #: Whether a task starts without limits where no control group can be made.
    runs_unlimited = joins_networks = True

    @abstractmethod
    def specification(self, launch: Launch) -> dict[str, object]:
        """What the process beside the task is told. Raises StartError."""

    async def start(self, launch: Launch, handle: Handle, ended: Ended) -> None:
        """Start the command in a session of its own."""
        spec = self.specification(launch)
        directory = Path(str(handle.facts["directory"]))
        group = await asyncio.to_thread(self._make_group, launch, spec)
        spec |= {"group": group and group.noted, "network": launch.network.namespace}
        try:
            process = await asyncio.to_thread(_spawn, directory, spec)
        except OSError:
            await _removed(group)
            raise
        if process.error:
            await _removed(group)
            raise StartError(process.error, recoverable=process.passes)
        self._watch(handle, directory, process, ended)

    def _make_group(self, launch: Launch, spec: Mapping[str, object]) -> ControlGroup | None:
        """The task's control group; None where it has none. Raises StartError and OSError."""
        if spec.get("foreign_groups") or (launch.limits is None and self.runs_unlimited):
            return None
        try:
            groups = self._find_groups()
        except NoControlGroups as problem:
            if self.runs_unlimited:
                return None
            raise StartError(str(problem), recoverable=True) from problem
        alloc_id, task, _ = launch.task_id.split("/", 2)
        limits = launch.limits or TaskLimits()
        group = groups.group(f"{alloc_id}.{task}", has_cores=bool(limits.cores))
        is_hard, pids = bool(spec.get("cpu_hard_limit")), int(str(spec.get("pids_limit") or 0))
        group.make(group_limits(limits, is_hard=is_hard, pids=pids))
        return group

    async def recover(self, handle: Handle, ended: Ended) -> bool:
        """Go on watching it, or tell how it ended meanwhile; else end what is left of it."""
        directory = Path(str(handle.facts["directory"]))
        process = await asyncio.to_thread(_find, directory)
        if process is None:
            await asyncio.to_thread(self._remove_unnoted, handle)
            return False
        self._watch(handle, directory, process, ended)
        return True

    def _remove_unnoted(self, handle: Handle) -> None:
        """The group of a start whose agent died before it could note that it had made one."""
        alloc_id, task, _ = handle.task_id.split("/", 2)
        with contextlib.suppress(NoControlGroups):
            for has_cores in (False, True):
                group = self._find_groups().group(f"{alloc_id}.{task}", has_cores=has_cores)
                if any(directory.is_dir() for directory in group.directories):
                    group.remove()

    async def stop(self, handle: Handle, timeout_s: float, signal: str) -> None:
        """The signal to the process, then SIGKILL to everything it started."""
        run = self._runs.get(handle.task_id)
        if run is None:
            return
        if timeout_s > 0:
            _send(run, _kill_signal(signal))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await run.gone.wait()
        if not run.gone.is_set():
            await asyncio.to_thread(_kill_tree, run.process, run.group)
            await run.gone.wait()

    async def signal(self, handle: Handle, signal: str) -> None:
        """To the process itself, not to its group."""
        run = self._runs.get(handle.task_id)
        if run is not None:
            _send(run, signal_number(signal))

    async def run_inside(
        self, handle: Handle, argv: Sequence[str], streams: Streams
    ) -> InsideProcess:
        """By a small process of its own, which enters where the task is."""
        run = self._runs.get(handle.task_id)
        if run is None or not run.is_alive:
            raise InsideFailed(f"task {handle.task_id} is not running")
        return await run_inside(run.directory, argv, streams)

    def measure(self, handle: Handle, processes: ProcessTable) -> TaskReading | None:
        """Of the process and everything it started, orphans included."""
        run = self._runs.get(handle.task_id)
        if run is None or not run.is_alive:
            return None
        # The process beside a task adopts what the task leaves behind.
        keeper = run.process.supervisor_pid
        return read_task(processes, processes.below(keeper), keeper, run.group)

    def forget(self, handle: Handle) -> None:
        """Stop watching; the task itself is left alone."""
        run = self._runs.pop(handle.task_id, None)
        if run is not None:
            run.watch.cancel()

    def _watch(self, handle: Handle, directory: Path, process: _Process, ended: Ended) -> None:
        async def watch() -> None:
            await until_gone(process.supervisor_pid, process.supervisor_start or 0)
            ending = await asyncio.to_thread(_ending, directory, process)
            run = self._runs.pop(handle.task_id, None)
            if run is not None:
                run.gone.set()
                ended(ending)

        task = asyncio.get_running_loop().create_task(watch())
        self._runs[handle.task_id] = _Run(directory, process, task, _group_in(directory))


def signal_number(name: str) -> int:
    """The number of a signal by its name. Raises ValueError for an unknown one."""
    try:
        return int(signals.Signals[name.upper()])
    except KeyError:
        raise ValueError(f'invalid signal "{name}"') from None


def _kill_signal(name: str) -> int:
    """As the reference: what is no signal here must not keep a task from being stopped."""
    try:
        return signal_number(name or "SIGINT")
    except ValueError:
        return int(signals.SIGINT)


def group_limits(limits: TaskLimits, *, is_hard: bool = False, pids: int = 0) -> GroupLimits:
    """What the control group of a task is told, by what the task was granted."""
    most = limits.memory_max_mb or limits.memory_mb
    return GroupLimits(
        cpu_shares=limits.cpu_mhz,
        cpu_count=limits.cpu_mhz / limits.core_mhz if is_hard and limits.core_mhz else 0.0,
        memory=max(0, most) * MEGABYTE,
        memory_low=limits.memory_mb * MEGABYTE if limits.memory_max_mb else 0,
        pids=pids,
        cores=limits.cores,
    )


def log_order(launch: Launch) -> dict[str, object] | None:
    """Where the output of the task goes; None: nowhere."""
    if launch.logs.disabled or launch.directories is None:
        return None
    return {
        "task": launch.task_name,
        "directory": str(launch.directories.logs),
        "max_files": launch.logs.max_files,
        "max_bytes": launch.logs.max_file_size_mb * MEGABYTE,
    }


def _spawn(directory: Path, spec: dict[str, object]) -> _Process:
    """Start the process beside the task and wait for its word."""
    directory.mkdir(parents=True, mode=0o700)
    spec_file = directory / "spec.json"
    spec_file.touch(mode=0o600)
    spec_file.write_text(json.dumps(spec))
    lock = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    near, far = os.pipe()
    errors = os.open(directory / "errors.log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        beside = fork_line().fork(directory, errors, lock, far)
    finally:
        for each in (errors, lock, far):
            os.close(each)
    try:
        process = _word(near)
    finally:
        os.close(near)
    if process.error:
        _end_beside(beside, _group_in(directory))
    # Another server may do what one that ended did not.
    return process if beside.pid else msgspec.structs.replace(process, passes=True)


def _word(near: int) -> _Process:
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([near], [], [], READY_TIMEOUT_S)
        piece = os.read(near, 4096) if ready else b""
        if not piece:
            return _Process(error="the process beside the task did not start", passes=not ready)
        line += piece
    return msgspec.json.decode(line, type=_Process)


def _end_beside(beside: Forked, group: ControlGroup | None) -> None:
    """End the process beside a task that does not run.

    One that gave no word in time may be about to start the task, which nobody would watch.
    """
    process = _Process(supervisor_pid=beside.pid, supervisor_start=beside.start)
    with contextlib.suppress(ProcessLookupError):
        if is_same_process(beside.pid, beside.start):
            os.kill(beside.pid, signals.SIGSTOP)
        _kill_tree(process, group)
        if is_same_process(beside.pid, beside.start):
            os.kill(beside.pid, signals.SIGKILL)


def _find(directory: Path) -> _Process | None:
    """The task's process while it lives or its end is known; None when it must count as gone."""
    process = _noted(directory)
    while process is None and _is_locked(directory / "lock"):
        # It was being started when the agent died; its note is a matter of milliseconds.
        _PAUSE.wait(0.01)
        process = _noted(directory)
    if process is None or process.error:
        _remove_group(directory)
        return None
    if (directory / "exit.json").exists():
        return process
    if _is_locked(directory / "lock") and is_same_process(
        process.supervisor_pid, process.supervisor_start or 0
    ):
        return process
    if process.is_of_this_boot:
        _kill_tree(process, _group_in(directory))
    _remove_group(directory)
    return None


def _noted(directory: Path) -> _Process | None:
    try:
        return msgspec.json.decode((directory / "process.json").read_bytes(), type=_Process)
    except (OSError, msgspec.MsgspecError):
        return None


def _is_locked(path: Path) -> bool:
    """Whether the process beside the task still lives: it holds this lock to its end."""
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _ending(directory: Path, process: _Process) -> Ending:
    """How the task ended, by the record; without one its remains are killed."""
    try:
        return msgspec.json.decode((directory / "exit.json").read_bytes(), type=Ending)
    except (OSError, msgspec.MsgspecError):
        _kill_tree(process, _group_in(directory))
        _remove_group(directory)
        return Ending(exit_code=137, signal=9, message=_UNKNOWN_END)


def _send(run: _Run, number: int) -> None:
    if run.is_alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.process.pid, number)


def _group_in(directory: Path) -> ControlGroup | None:
    """The control group that was made for this run."""
    with contextlib.suppress(OSError, ValueError):
        return group_of(json.loads((directory / "spec.json").read_bytes()))
    return None


async def _removed(group: ControlGroup | None) -> None:
    if group is not None:
        await asyncio.to_thread(group.remove)


def _remove_group(directory: Path) -> None:
    group = _group_in(directory)
    if group is not None:
        group.remove()


def _kill_tree(process: _Process, group: ControlGroup | None) -> None:
    """SIGKILL to the task's groups and to whatever it started outside of them."""
    if group is not None:
        group.kill()
    left = set()
    if is_same_process(process.supervisor_pid, process.supervisor_start or 0):
        left |= set(descendants_of(process.supervisor_pid))
    if is_same_process(process.pid, process.pid_start or 0):
        left |= {process.pid, *descendants_of(process.pid)}
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signals.SIGKILL)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signals.SIGKILL)
