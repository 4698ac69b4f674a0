"""From a fork to the command of a task: what lies between, for tasks and for commands beside them.

In: the specification that the agent wrote, three descriptors. Out: a process that runs the
command, or the reason why it does not. Standard library only: the small process beside each task
uses it.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import stat
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.agent.control_groups import ControlGroup, found_group

#: As text, what a started child is told by whoever wrote its specification.
Spec = Mapping[str, Any]
_ERROR_FD = 3
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_OPEN_FILES = 1 << 20
_NEW_NETWORK = 0x40000000


class NotStarted(Exception):
    """The command does not run; the text says why."""


def start(
    spec: Spec, streams: Sequence[int], settle: Callable[[Spec], None], *, tty: bool = False
) -> int:
    """The number of a child of ours that runs the command by now. Raises NotStarted.

    `settle` is called in the child, with all rights of this process: it takes the child to where
    the command is to run.
    """
    near, far = os.pipe()
    child = os.fork()
    if child == 0:
        _become(spec, streams, settle, far, tty=tty)
    os.close(far)
    with os.fdopen(near, "rb") as words:
        told = words.read()
    if told:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        raise NotStarted(told.decode(errors="replace"))
    return child


def _become(
    spec: Spec, streams: Sequence[int], settle: Callable[[Spec], None], far: int, *, tty: bool
) -> None:
    """Never returns: the command, or the end."""
    try:
        os.setsid()
        _take(streams, far)
        _restore_signals()
        settle(spec)
        if tty:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _execute(spec["argv"], spec["env"])
    except BaseException as problem:  # A second process must not go on from here.
        with contextlib.suppress(OSError):
            os.write(_ERROR_FD, (str(problem) or type(problem).__name__).encode())
    finally:
        os._exit(127)


def _execute(argv: list[str], env: dict[str, str]) -> None:
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606 - the job's command
    except OSError as problem:
        why = os.strerror(problem.errno or 0).lower()
        raise NotStarted(f"fork/exec {argv[0]}: {why}") from problem


def _take(streams: Sequence[int], far: int) -> None:
    """Make the streams this process's own; nothing else stays open but the line for errors."""
    kept = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (*streams, far)]
    for number, each in enumerate(kept[:3]):
        os.dup2(each, number)
    os.dup2(kept[3], _ERROR_FD, inheritable=False)
    os.closerange(_ERROR_FD + 1, _OPEN_FILES)


def _restore_signals() -> None:
    """What is ignored or held back here would be so in the command, whatever it is sent.

    Python ignores some; a script that starts an agent in its background makes it ignore others.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def group_of(spec: Spec) -> ControlGroup | None:
    """The control group that is the task's alone."""
    noted = spec.get("group")
    return found_group(noted) if noted else None


def join_groups(spec: Spec) -> None:
    """Into the task's own control group, or those of others that its job names. Raises OSError."""
    group = group_of(spec)
    if group is not None:
        group.join()
    for directory in spec.get("foreign_groups") or ():
        (Path(directory) / "cgroup.procs").write_text("0")


def enter_network(spec: Spec) -> None:
    """Into the namespace of the allocation's network, where it has one. Raises OSError."""
    namespace = spec.get("network")
    if not namespace:
        return
    library = ctypes.CDLL(None, use_errno=True)
    opened = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The kind is named, so that a file that holds no network is refused.
        if library.setns(opened, _NEW_NETWORK) != 0:
            raise OSError(f"setns of {namespace}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(opened)


def settle_on_host(spec: Spec) -> None:
    """To a place of the host: group, score, user, directory. Raises OSError with the reason."""
    join_groups(spec)
    enter_network(spec)
    if spec.get("oom_score_adj"):
        Path("/proc/self/oom_score_adj").write_text(str(spec["oom_score_adj"]))
    user = spec.get("user")
    if user and os.geteuid() == 0:
        become_user(user)
        for path in spec["needs"]:
            _require_reach(Path(path))
    os.chdir(spec["directory"])


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send that signal as soon as the process that forked this one is gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever children leave behind, so that it can be ended too."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def become_user(user: Mapping[str, Any]) -> None:
    """Give up being root for good; the pipes of its output become that user's too."""
    for stream in (0, 1, 2):
        # So that it may open them again, as `/dev/stdout`.
        if stat.S_ISFIFO(os.fstat(stream).st_mode):
            os.fchown(stream, user["uid"], -1)
    os.setgroups(user["groups"])
    os.setgid(user["gid"])
    os.setuid(user["uid"])


def _require_reach(path: Path) -> None:
    """The way to a directory or program must be open all along."""
    for place in (*reversed(path.parents), path):
        if not os.access(place, os.X_OK):
            raise PermissionError(f"the user of this task has no access to {place}")
