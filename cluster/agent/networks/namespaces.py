"""Network namespaces that stay while nobody is in them, each held by a file below `/run/netns`.

In: the path of the file. Out: a namespace with nothing but a loopback interface that is down,
where `ip netns` finds it too. System calls: man7.org, `unshare(2)`, `mount(2)`, `ioctl_ns(2)`.
"""

import contextlib
import ctypes
import fcntl
import os
import threading
from pathlib import Path

#: Where such files are on Linux, known to `ip netns`.
DIRECTORY = Path("/run/netns")
_NEW_NETWORK = 0x40000000
_BIND, _RECURSIVE, _SHARED = 1 << 12, 1 << 14, 1 << 20
_DETACH = 2
_NS_GET_NSTYPE = 0xB703

_library = ctypes.CDLL(None, use_errno=True)


def make(path: Path) -> None:
    """Make a namespace that this file holds. Raises OSError with the step that failed."""
    _share(path.parent)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o444))
    problems: list[OSError] = []

    def hold() -> None:
        try:
            leave_network()
            _mount("/proc/thread-self/ns/net", str(path), _BIND)
        except OSError as problem:
            problems.append(problem)

    # Of a thread that ends: what it left behind is no other thread's network.
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    if problems:
        path.unlink()
        raise problems[0]


def is_there(path: Path) -> bool:
    """Whether the file holds a namespace; after a start of the machine it holds none."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return fcntl.ioctl(opened, _NS_GET_NSTYPE) == _NEW_NETWORK
    except OSError:
        return False
    finally:
        os.close(opened)


def remove(path: Path) -> None:
    """Let go of it; the kernel removes it, and every interface in it, with its last process."""
    _library.umount2(str(path).encode(), _DETACH)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def let_go(directory: Path) -> None:
    """Undo what `make` does to the directory itself, for one that is to be removed."""
    _library.umount2(str(directory).encode(), _DETACH)


def leave_network() -> None:
    """Give the calling thread a network namespace of its own. Raises OSError."""
    _check(_library.unshare(_NEW_NETWORK), "unshare of the network")


def _share(directory: Path) -> None:
    """As `ip netns` does: what is let go of here is let go of by every other mount namespace."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    place = str(directory)
    try:
        _mount(None, place, _SHARED | _RECURSIVE)
    except OSError:
        _mount(place, place, _BIND | _RECURSIVE)
        _mount(None, place, _SHARED | _RECURSIVE)


def _mount(source: str | None, target: str, flags: int) -> None:
    given = None if source is None else source.encode()
    done = _library.mount(given, target.encode(), None, ctypes.c_ulong(flags), None)
    _check(done, f"mount of {target}")


def _check(done: int, what: str) -> None:
    if done != 0:
        raise OSError(f"{what}: {os.strerror(ctypes.get_errno())}")
