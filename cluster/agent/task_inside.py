"""Runs one command in the surroundings of a task that runs already, for `alloc exec`.

In: the run directory of the task, what to run, descriptors 0 to 2 as the command's own, and a line
to the agent that says why it could not start. It ends as the command does, or when it is told to
by SIGTERM, which the end of the agent is too; whatever the command started ends with it. Standard
library only.
"""

import contextlib
import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from cluster.agent import task_child, task_root
from cluster.agent.process_identity import children_of

#: As a shell tells that SIGKILL ended something.
_KILLED = 137
_TERMINAL = "xterm-256color"


class _Told(Exception):
    """Somebody wants this to end."""


def main(run_directory: Path, ready: int, command: list[str], *, tty: bool) -> int:
    """Run the command to its end; its exit code."""
    signal.signal(signal.SIGTERM, _end)
    task_child.die_with_parent(signal.SIGTERM)
    task_child.adopt_orphans()
    fcntl.fcntl(ready, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    try:
        return _run(run_directory, ready, command, tty=tty)
    except _Told:
        return _KILLED
    finally:
        _end_what_is_left()


def _run(run_directory: Path, ready: int, command: list[str], *, tty: bool) -> int:
    spec = json.loads((run_directory / "spec.json").read_bytes())
    spec["argv"] = command
    if tty:
        # Programs that draw ask for it, and tasks have none.
        spec["env"] = {"TERM": _TERMINAL, **spec["env"]}
    try:
        settle = _settle_in_root(run_directory) if spec.get("root") else _settle_on_host
        child = task_child.start(spec, (0, 1, 2), settle, tty=tty)
    except (OSError, task_child.NotStarted) as problem:
        with contextlib.suppress(OSError):
            os.write(ready, str(problem).encode())
        return 127
    os.close(ready)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Told


def _end_what_is_left() -> None:
    """The command, where it still runs, and everything that it started."""
    while left := children_of(os.getpid()):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _settle_on_host(spec: task_child.Spec) -> None:
    _give_terminal(spec)
    task_child.settle_on_host({**spec, "needs": []})
    task_child.die_with_parent()


def _settle_in_root(run_directory: Path) -> Callable[[task_child.Spec], None]:
    """Where the first process of the task is; this process's next child is numbered in there."""
    process = json.loads((run_directory / "process.json").read_bytes())
    task_root.enter_numbers(process["pid"])

    def settle(spec: task_child.Spec) -> None:
        _give_terminal(spec)
        task_root.settle_beside(spec, process["pid"], process["pid_start"])
        task_child.die_with_parent()

    return settle


def _give_terminal(spec: task_child.Spec) -> None:
    user = spec.get("user")
    if user and os.geteuid() == 0 and os.isatty(0):
        os.fchown(0, user["uid"], -1)


if __name__ == "__main__":
    sys.exit(
        main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[4:], tty=sys.argv[3] == "terminal")
    )
