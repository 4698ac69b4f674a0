"""Waits for the end of a process, own child or not.

Where the kernel offers a descriptor for a process nothing polls; elsewhere it is looked at
5 times a second.
"""

import asyncio
import contextlib
import os

from cluster.agent.process_identity import is_same_process

POLL_S = 0.2


async def until_gone(pid: int, start_time: int) -> None:
    """Return once that process has ended; a child of ours is buried."""
    descriptor = _descriptor(pid)
    try:
        while is_same_process(pid, start_time):
            if descriptor is None:
                await asyncio.sleep(POLL_S)
            else:
                await _until_readable(descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)
    _bury(pid)


def _bury(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _descriptor(pid: int) -> int | None:
    """Linux only; the process may be gone already."""
    with contextlib.suppress(OSError, AttributeError):
        return os.pidfd_open(pid)
    return None


async def _until_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def wake() -> None:
        if not done.done():
            done.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await done
    finally:
        loop.remove_reader(descriptor)
