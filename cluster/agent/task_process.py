"""The small process beside a task: holds its pipes, writes its logs, records its end.

It is forked for the agent (`fork_server.py`) and outlives it, so that a task survives any end of
the agent and its exit code is known afterwards. In: a run directory with `spec.json`. Out:
`process.json` once the task runs or could not start, `exit.json` when it ended. Standard library
only, to stay small.
"""

import contextlib
import errno
import json
import os
import selectors
import signal
import time
from pathlib import Path

from cluster.agent import task_child, task_root
from cluster.agent.log_rotation import RotatingLog
from cluster.agent.process_identity import boot_id, children_of, start_time_of

#: Descriptors handed over: the lock that says this process lives, and the line to the agent.
LOCK_FD = 3
READY_FD = 4
_CHUNK = 64 * 1024
_EXIT = "exit.json"
#: Bytes that hold any record of an end, and attempts to write one, a second apart.
_ROOM, _RECORD_TRIES = 512, 10


def main(run_directory: Path) -> None:
    """Run the task of this directory to its end."""
    os.setsid()
    for unheeded in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        # A handler, not SIG_IGN: the task would inherit that.
        signal.signal(unheeded, lambda _number, _frame: None)
    task_child.adopt_orphans()
    spec = json.loads((run_directory / "spec.json").read_bytes())
    try:
        _reserve(run_directory / _EXIT)
        streams = _Streams(spec)
        child = _start(spec, streams)
    except (OSError, ValueError, LookupError, task_child.NotStarted) as problem:
        _fail(run_directory, problem)
        return
    streams.close_far_ends()
    facts: dict[str, object] = {
        "supervisor_pid": os.getpid(),
        "supervisor_start": start_time_of(os.getpid()),
        "pid": child,
        "pid_start": start_time_of(child),
        "boot_id": boot_id(),
    }
    try:
        write_atomically(run_directory / "process.json", facts)
    except OSError as problem:
        # Without that note nobody would find it again.
        _end_unnoted(child, spec)
        _fail(run_directory, problem)
        return
    _say(facts)
    code = _pump_until_end(child, streams)
    _record(run_directory / _EXIT, _ending(code, out_of_memory=_out_of_memory(spec)))


def write_atomically(path: Path, value: object) -> None:
    """Replace the file with the value as JSON; a reader sees the old one or the new one."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(value))
    draft.chmod(0o600)
    draft.replace(path)


def _reserve(path: Path) -> None:
    """Have room for the record of the end, however full the disk is by then. Raises OSError."""
    draft = path.with_suffix(".new")
    with draft.open("wb") as file:
        file.write(b" " * _ROOM)
    draft.chmod(0o600)


def _record(path: Path, ending: dict[str, int | bool | str]) -> None:
    """Into the room that was reserved. Should that fail too, the end counts as unknown."""
    draft = path.with_suffix(".new")
    for _ in range(_RECORD_TRIES):
        with contextlib.suppress(OSError):
            with draft.open("r+b") as file:
                file.write(json.dumps(ending).encode().ljust(_ROOM))
            draft.replace(path)
            return
        time.sleep(1.0)


class _Streams:
    """The two pipes of the task and the logs they end in."""

    def __init__(self, spec: dict[str, object]) -> None:
        self.logs: dict[int, RotatingLog] = {}
        self.far_ends: list[int] = []
        logs = spec.get("logs")
        if not isinstance(logs, dict):
            return
        for stream in ("stdout", "stderr"):
            near, far = os.pipe()
            name = f"{logs['task']}.{stream}"
            directory = Path(str(logs["directory"]))
            self.logs[near] = RotatingLog(directory, name, logs["max_files"], logs["max_bytes"])
            self.far_ends.append(far)

    def close_far_ends(self) -> None:
        for far in self.far_ends:
            os.close(far)

    def read_one(self, near: int) -> bool:
        """Move what is there into the log; False at the end of the stream."""
        data = os.read(near, _CHUNK)
        if data:
            # A full disk loses output; it must not lose the task.
            with contextlib.suppress(OSError):
                self.logs[near].write(data)
        return bool(data)


def _start(spec: dict[str, object], streams: _Streams) -> int:
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    out, err = streams.far_ends or (nothing, nothing)
    settle = task_root.settle_in_root if spec.get("root") else task_child.settle_on_host
    try:
        if spec.get("root"):
            task_root.leave_numbers()
        return task_child.start(spec, (nothing, out, err), settle)
    finally:
        os.close(nothing)


def _pump_until_end(child: int, streams: _Streams) -> int:
    """Copy output until the task ended; then end what it left behind and copy the rest."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    selector = selectors.DefaultSelector()
    selector.register(wake_read, selectors.EVENT_READ)
    for near in streams.logs:
        selector.register(near, selectors.EVENT_READ)
    while (code := _code_of(child)) is None:
        for key, _ in selector.select():
            if key.fd == wake_read:
                os.read(wake_read, 512)
                _reap_adopted(child)
            elif not streams.read_one(key.fd):
                selector.unregister(key.fd)
    _end_what_is_left(child)
    for near in streams.logs:
        while near in selector.get_map() and streams.read_one(near):
            pass
    selector.close()
    return code


def _code_of(child: int) -> int | None:
    """The exit code of the task, or less than 0 for a signal; None while it runs."""
    pid, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if pid else None


def _reap_adopted(child_pid: int) -> None:
    """Bury adopted processes; the task itself is left to who wants its code."""
    while (pid := _corpse()) not in (0, child_pid):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _corpse() -> int:
    """A child that ended and is not buried yet; 0 when there is none."""
    with contextlib.suppress(ChildProcessError, AttributeError):
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found.si_pid if found else 0
    return 0


def _end_what_is_left(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while left := children_of(os.getpid()):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _out_of_memory(spec: task_child.Spec) -> bool:
    """Whether the kernel killed for want of memory; afterwards the control group is gone."""
    group = task_child.group_of(spec)
    if group is None:
        return False
    # What is left may have run out of memory only because it was not ended yet.
    kills = group.oom_kills()
    group.remove()
    return kills > 0


def _ending(code: int, *, out_of_memory: bool) -> dict[str, int | bool | str]:
    if code >= 0:
        return {"exit_code": code, "signal": 0}
    ending: dict[str, int | bool | str] = {"exit_code": 128 - code, "signal": -code}
    if out_of_memory and -code == signal.SIGKILL:
        ending |= {"oom_killed": True, "message": "OOM Killed"}
    return ending


def _fail(run_directory: Path, problem: Exception) -> None:
    """The task does not run: leave the reason for later, and tell the agent that waits."""
    full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)
    facts: dict[str, object] = {"error": str(problem), "passes": full}
    with contextlib.suppress(OSError):
        write_atomically(run_directory / "process.json", facts)
    _say(facts)


def _end_unnoted(child: int, spec: task_child.Spec) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    _end_what_is_left(child)
    _out_of_memory(spec)


def _say(facts: dict[str, object]) -> None:
    """To the agent, if it still waits."""
    with contextlib.suppress(OSError):
        os.write(READY_FD, json.dumps(facts).encode() + b"\n")
        os.close(READY_FD)
