"""The inside of an `exec` task: its namespaces, its root, its rights (node-agent-2.md 5.4).

In: what the agent wrote of it. Out: the calling process, inside and without the rights of before;
or an OSError that names the step. Standard library only: the process beside a task uses it.

System calls: man7.org, `mount(2)`, `mount_setattr(2)`, `pivot_root(2)`, `setns(2)`.
"""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.agent.own_places import make_executable
from cluster.agent.process_identity import is_same_process
from cluster.agent.task_child import Spec, enter_network, join_groups
from cluster.agent.task_rights import drop_rights

_NEW_MOUNTS, _NEW_CGROUPS, _NEW_IPC, _NEW_PIDS = 0x20000, 0x2000000, 0x8000000, 0x20000000
_NEW_NAMES = 0x4000000
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_BIND, _RECURSIVE, _PRIVATE, _SLAVE = 1 << 12, 1 << 14, 1 << 18, 1 << 19
_DETACH = 2
_MOUNT_SETATTR = 442
_AT_RECURSIVE, _AT_EMPTY_PATH = 0x8000, 0x1000
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore",
}  # fmt: skip
#: What the kernel tells there is not for tasks, or would be theirs to change.
_MASKED = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware")
_FIXED = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")

_library = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def leave_numbers() -> None:
    """Have the next child of this process be number 1 of a world of its own. Raises OSError."""
    _check(_library.unshare(_NEW_PIDS), "unshare of process numbers")


def enter_numbers(pid: int) -> None:
    """Have the next children of this process be in the world of that one. Raises OSError."""
    _enter(pid, "pid")


def settle_in_root(spec: Spec) -> None:
    """Into a root of the task's own, without more rights than it may have. Raises OSError."""
    join_groups(spec)
    # Before its kernel files are mounted: they show the network of who mounts them.
    enter_network(spec)
    _take_name(spec.get("hostname") or "")
    root = spec["root"]
    _check(_library.unshare(_NEW_MOUNTS | _NEW_IPC | _NEW_CGROUPS), "unshare of namespaces")
    # Nothing that is mounted here is seen outside.
    _mount(None, "/", None, _RECURSIVE | _SLAVE)
    _build(Path(root["directory"]), root)
    _pivot(root["directory"])
    spec["argv"][0] = _command(spec["argv"][0], root["directory"])
    drop_rights(spec)
    os.chdir(spec["directory"])


def settle_beside(spec: Spec, pid: int, start: int) -> None:
    """To where that process of the task is, with the same rights. Raises OSError."""
    join_groups(spec)
    enter_network(spec)
    kinds = ("cgroup", "ipc", "uts", "mnt")
    opened = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    if not is_same_process(pid, start):
        raise ProcessLookupError("the task is not running")
    for kind, each in zip(kinds, opened, strict=True):
        _check(_library.setns(each, 0), f"setns of {kind}")
        os.close(each)
    drop_rights(spec)
    os.chdir(spec["directory"])


def _take_name(hostname: str) -> None:
    """A host name that is the task's alone; without one it has the host's."""
    if hostname:
        _check(_library.unshare(_NEW_NAMES), "unshare of host names")
        name = hostname.encode()
        _check(_library.sethostname(name, len(name)), "sethostname")


def _enter(pid: int, kind: str) -> None:
    opened = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_library.setns(opened, 0), f"setns of {kind}")
    finally:
        os.close(opened)


def _build(directory: Path, root: Mapping[str, Any]) -> None:
    """Everything below the new root, while the old one is still there."""
    _bind(str(directory), str(directory), _NOSUID | _NODEV)
    inside = _Inside(directory)
    for place in root["host"]:
        _show_host(inside, Path(place))
    if root.get("resolver"):
        # Where the host's file really lies: the way to it is shown as it is.
        place = str(Path("/etc/resolv.conf").resolve())
        inside.bind(root["resolver"], place, _READ_ONLY | _NOSUID | _NODEV | _NOEXEC)
    # The agent's notes, the resolver's file among them.
    inside.tmpfs("/private", "mode=0700,size=4k", _READ_ONLY | _NOSUID | _NODEV | _NOEXEC)
    inside.bind(root["shared"], "/alloc", _NOSUID | _NODEV)
    inside.bind(root["logs"], "/alloc/logs", _READ_ONLY | _NOSUID | _NODEV)
    _mount_kernel(inside)
    _mount_devices(inside, root.get("devices", ()))
    for hidden in root["hidden"]:
        if any(Path(hidden).is_relative_to(place) for place in root["host"]):
            inside.tmpfs(hidden, "mode=0700,size=4k", _READ_ONLY | _NOSUID | _NODEV | _NOEXEC)
    for mount in root["mounts"]:
        flags = _NOSUID | _NODEV | (_READ_ONLY if mount["read_only"] else 0)
        propagation = _SLAVE if mount["propagation"] == "host-to-task" else _PRIVATE
        inside.bind(mount["source"], mount["target"], flags, propagation)


class _Inside:
    """Places below the new root. Links in the way are refused: the task could have laid them."""

    def __init__(self, directory: Path) -> None:
        self._root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def place(self, path: str, *, is_file: bool = False) -> Any:
        """The place as a path that leads nowhere else, made if it is missing."""
        opened = os.dup(self._root)
        parts = [part for part in path.split("/") if part]
        try:
            for position, part in enumerate(parts):
                is_last = position == len(parts) - 1
                nearer = _step(opened, part, path, is_file=is_file and is_last)
                os.close(opened)
                opened = nearer
            yield f"/proc/self/fd/{opened}"
        finally:
            os.close(opened)

    def bind(self, source: str, target: str, flags: int, propagation: int = _PRIVATE) -> None:
        """Show a directory or file of the host, with everything mounted below it."""
        with self.place(target, is_file=not Path(source).is_dir()) as place:
            _bind(source, place, flags, propagation, shown=target, inside=self)

    def tmpfs(self, target: str, options: str, flags: int) -> None:
        """An empty directory in memory."""
        self.mount("tmpfs", target, flags, options)

    def mount(self, kind: str, target: str, flags: int, options: str = "") -> None:
        """A file system of the kernel's own."""
        with self.place(target) as place:
            _mount(kind, place, kind, flags, options, shown=target)

    def link(self, target: str, to: str) -> None:
        """A symbolic link, unless something is there already."""
        parent, _, name = target.rpartition("/")
        with self.place(parent) as place, contextlib.suppress(FileExistsError):
            Path(f"{place}/{name}").symlink_to(to)

    def change(self, target: str, flags: int, propagation: int = _PRIVATE) -> None:
        """Make what is mounted there, and below it, as the flags say."""
        with self.place(target) as place:
            _change(place, flags, propagation, target)


def _step(parent: int, part: str, path: str, *, is_file: bool) -> int:
    if part == "..":
        raise PermissionError(f"{path} leads out of the task's root")
    kind = 0 if is_file else os.O_DIRECTORY
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC | kind
    with contextlib.suppress(FileNotFoundError):
        return _opened(parent, part, path, flags)
    if is_file:
        made = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(part, made, 0o644, dir_fd=parent))
    else:
        os.mkdir(part, 0o755, dir_fd=parent)
    return _opened(parent, part, path, flags)


def _opened(parent: int, part: str, path: str, flags: int) -> int:
    try:
        opened = os.open(part, flags, dir_fd=parent)
    except NotADirectoryError as problem:
        raise NotADirectoryError(f"{path}: {part} is no directory") from problem
    if stat.S_ISLNK(os.fstat(opened).st_mode):
        os.close(opened)
        raise PermissionError(f"{path}: {part} is a link")
    return opened


def _show_host(inside: _Inside, place: Path) -> None:
    """A directory or file of the host, to be read; a link as the link that it is."""
    if place.is_symlink():
        inside.link(str(place), str(place.readlink()))
    elif place.exists():
        inside.bind(str(place), str(place), _READ_ONLY | _NOSUID | _NODEV)


def _mount_kernel(inside: _Inside) -> None:
    quiet = _NOSUID | _NODEV | _NOEXEC
    inside.mount("proc", "/proc", quiet)
    inside.mount("sysfs", "/sys", quiet | _READ_ONLY)
    for target in _FIXED:
        with inside.place(target.rpartition("/")[0]) as parent:
            is_there = Path(f"{parent}/{target.rpartition('/')[2]}").exists()
        if is_there:
            _bind_below(inside, target, quiet | _READ_ONLY)
    for target in _MASKED:
        with inside.place(target.rpartition("/")[0]) as parent:
            place = Path(f"{parent}/{target.rpartition('/')[2]}")
            is_there, is_directory = place.exists(), place.is_dir()
        if is_directory:
            inside.tmpfs(target, "mode=0700,size=4k", quiet | _READ_ONLY)
        elif is_there:
            inside.bind(os.devnull, target, _NOSUID | _NOEXEC)


def _bind_below(inside: _Inside, target: str, flags: int) -> None:
    """A place that is mounted already, on itself, with less allowed."""
    with inside.place(target.rpartition("/")[0]) as parent:
        source = f"{parent}/{target.rpartition('/')[2]}"
        is_file = not Path(source).is_dir()
        with inside.place(target, is_file=is_file) as place:
            _bind(source, place, flags, shown=target, inside=inside)


def _mount_devices(inside: _Inside, granted: Sequence[str]) -> None:
    inside.tmpfs("/dev", "mode=0755,size=64k", _NOSUID | _NOEXEC)
    for file in granted:
        inside.bind(file, file, _NOSUID | _NOEXEC)
    for name in _DEVICES:
        inside.bind(f"/dev/{name}", f"/dev/{name}", _NOSUID | _NOEXEC)
    for name, to in _LINKS.items():
        inside.link(f"/dev/{name}", to)
    quiet = _NOSUID | _NODEV | _NOEXEC
    for name in ("pts", "shm", "mqueue"):
        with inside.place(f"/dev/{name}"):
            pass
    inside.change("/dev", _READ_ONLY)
    inside.mount(
        "devpts", "/dev/pts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"
    )
    inside.tmpfs("/dev/shm", "mode=1777,size=65536k", quiet)  # noqa: S108 - inside the root
    inside.mount("mqueue", "/dev/mqueue", quiet)


def _pivot(directory: str) -> None:
    os.chdir(directory)
    _check(_library.pivot_root(b".", b"."), "pivot_root")
    # The old root lies over the new one until it is taken away.
    _check(_library.umount2(b".", _DETACH), "umount of the host's root")
    os.chdir("/")


def _command(command: str, directory: str) -> str:
    """Where the command lies inside. Raises FileNotFoundError."""
    if "/" in command:
        if not Path(command).exists():
            raise FileNotFoundError(f"file {command} not found under path {directory}")
        return command
    for place in ("/local", "/", "/usr/local/bin", "/usr/bin", "/bin"):
        found = Path(place, command)
        if found.is_file():
            if not os.access(found, os.X_OK):
                make_executable(found)
            return str(found)
    raise FileNotFoundError(f"file {command} not found under path {directory}")


def _bind(
    source: str,
    target: str,
    flags: int,
    propagation: int = _PRIVATE,
    *,
    shown: str = "",
    inside: "_Inside | None" = None,
) -> None:
    _mount(source, target, None, _BIND | _RECURSIVE, shown=shown)
    if inside is None:
        _change(target, flags, propagation, shown or target)
        return
    # The descriptor of before leads below what is mounted now.
    with inside.place(shown, is_file=not Path(source).is_dir()) as place:
        _change(place, flags, propagation, shown)


def _change(target: str, flags: int, propagation: int, shown: str) -> None:
    attributes = _Attributes(flags, 0, propagation, 0)
    done = _library.syscall(
        _MOUNT_SETATTR, -100, target.encode(), _AT_RECURSIVE,
        ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)),
    )  # fmt: skip
    _check(done, f"mount_setattr of {shown}")


def _mount(
    source: str | None,
    target: str,
    kind: str | None,
    flags: int,
    options: str = "",
    *,
    shown: str = "",
) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    done = _library.mount(*words, ctypes.c_ulong(flags), options.encode() or None)
    _check(done, f"mount of {shown or target}")


def _check(done: int, what: str) -> None:
    if done != 0:
        # Without its number: people read this as the driver's description.
        raise OSError(f"{what}: {os.strerror(ctypes.get_errno())}")


def default_places() -> Iterable[str]:
    """What of the host a task sees, to be read: the reference's own list."""
    return (
        "/bin", "/etc", "/lib", "/lib32", "/lib64", "/run/resolvconf", "/run/systemd/resolve",
        "/sbin", "/usr",
    )  # fmt: skip
