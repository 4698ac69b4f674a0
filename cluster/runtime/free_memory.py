"""Gives the system back the memory that a process freed and its allocator kept.

Messages of thousands of structs come and go; what is left between them keeps glibc from shrinking
its heap by itself, and a process seems to grow that does not. Elsewhere nothing is done.
"""

import ctypes
import os
import platform
import threading
from collections.abc import Callable

#: Seconds between two times.
EVERY_S = 60.0
#: For processes that have not begun: threads beside ours then share two heaps instead of many.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}

_begun_in = 0


def begin_trimming(
    before: Callable[[], object] | None = None,
    *,
    every_s: float = EVERY_S,
    trim: Callable[[], object] | None = None,
) -> bool:
    """Do it from now on, in a thread of this process; False where it is done or cannot be.

    `before`: what lets go of memory that is given back then.
    """
    global _begun_in  # noqa: PLW0603 - one thread per process, forks included
    trim = trim or _trim_of_this_system()
    if trim is None or _begun_in == os.getpid():
        return False
    _begun_in = os.getpid()
    never = threading.Event()

    def work() -> None:
        while not never.wait(every_s):
            if before is not None:
                before()
            trim()

    threading.Thread(target=work, name="trim memory", daemon=True).start()
    return True


def _trim_of_this_system() -> Callable[[], object] | None:
    """`malloc_trim` where it is glibc's; it lets other threads run meanwhile."""
    if platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        return None
    library.malloc_trim.argtypes = [ctypes.c_size_t]
    return lambda: library.malloc_trim(0)
