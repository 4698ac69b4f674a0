"""Keeps the `secrets` directories of tasks in memory (node-agent-2.md 10).

In: a directory and a size. Out: a tmpfs there, or the reason why this machine has none. What is
mounted is read from the kernel and noted nowhere else, so that no end of the agent loses a mount.

System calls: man7.org, `mount(2)`, `umount2(2)`; options: kernel.org `filesystems/tmpfs.rst`.
"""

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: MiB of a task that says nothing of `resources.secrets`.
USUAL_SIZE_MB = 1
_MOUNTS = Path("/proc/self/mountinfo")
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_DETACH = 2
_PROBE = ".secrets-probe"


class SecretMounts(NamedTuple):
    """What this machine can do for secrets."""

    #: Why they lie on the disk; "" where they are kept in memory.
    why_not: str = "nobody has tried"
    #: Whether the kernel keeps them out of its swap space as well.
    is_unswappable: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """What the node says of it."""
        if self.why_not:
            return {"bivouac.secrets.storage": "directory"}
        swap = "false" if self.is_unswappable else "true"
        return {"bivouac.secrets.storage": "tmpfs", "bivouac.secrets.swappable": swap}

    @property
    def sentence(self) -> str:
        """The same for the agent's log."""
        if self.why_not:
            return f"Secrets of tasks lie in directories on the disk: {self.why_not}"
        swap = "never swapped" if self.is_unswappable else "which this kernel may swap"
        return f"Secrets of tasks lie in memory (tmpfs), {swap}"

    def prepare(self, directory: Path, size_mb: int, mode: int) -> None:
        """Have the directory there, with that mode, in memory if it can be. Raises OSError.

        One that is mounted already, or that an agent before filled on the disk, stays as it is.
        """
        directory.mkdir(parents=True, exist_ok=True)
        is_made = directory.is_mount() or any(directory.iterdir())
        if not self.why_not and not is_made:
            _mount(directory, size_mb or USUAL_SIZE_MB, is_unswappable=self.is_unswappable)
        _change_mode(directory, mode)


def secret_mounts(beside: Path) -> SecretMounts:
    """Find out by mounting one, below a directory that exists, and taking it away again."""
    if sys.platform != "linux":
        return SecretMounts("only Linux has tmpfs")
    if os.geteuid() != 0:
        return SecretMounts("the agent does not run as root")
    place = beside / _PROBE
    place.mkdir(mode=0o700, exist_ok=True)
    try:
        why = ""
        for is_unswappable in (True, False):
            try:
                _mount(place, USUAL_SIZE_MB, is_unswappable=is_unswappable)
            except OSError as problem:
                why = str(problem)
            else:
                unmount_below(place)
                return SecretMounts("", is_unswappable)
        return SecretMounts(why)
    finally:
        with contextlib.suppress(OSError):
            place.rmdir()


def mounts_below(root: Path, table: Path = _MOUNTS) -> list[Path]:
    """Where something is mounted at a directory or below it, the innermost first."""
    found = [place for place in _mounted(table) if place.is_relative_to(root)]
    return found[::-1]


def unmount_below(root: Path) -> None:
    """Take away what is mounted there; whoever still has it open keeps it until it ends.

    What the agent may not take away stays.
    """
    for place in mounts_below(root.resolve()):
        with contextlib.suppress(OSError):
            _check(ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(place), _DETACH), place)


def _mounted(table: Path) -> Iterator[Path]:
    try:
        lines = table.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        # Spaces and the like stand there as their numbers.
        place = re.sub(rb"\\([0-7]{3})", lambda told: bytes([int(told[1], 8)]), line.split()[4])
        yield Path(os.fsdecode(place))


def _mount(directory: Path, size_mb: int, *, is_unswappable: bool) -> None:
    options = f"mode=0700,size={size_mb}m" + (",noswap" if is_unswappable else "")
    # By its descriptor: a link that a task laid there is not followed.
    opened = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        done = ctypes.CDLL(None, use_errno=True).mount(
            b"tmpfs", f"/proc/self/fd/{opened}".encode(), b"tmpfs",
            ctypes.c_ulong(_NOSUID | _NODEV | _NOEXEC), options.encode(),
        )  # fmt: skip
        _check(done, directory)
    finally:
        os.close(opened)


def _change_mode(directory: Path, mode: int) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(opened, mode)
    finally:
        os.close(opened)


def _check(done: int, place: Path) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"tmpfs at {place}: {os.strerror(number).lower()}")
