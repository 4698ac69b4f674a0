"""How much memory this process may take: what it uses, not what it reserves.

In: a limit. Out: MemoryError in the main thread, within a tenth of a second, once more is in use.
The kernel's own limits count what is reserved, so that threads and libraries which reserve much
and touch little would use up a limit that nobody meant for them.
"""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_STATUS = Path("/proc/self/status")
_MIB = 1024**2
#: Seconds between two looks; one takes about 20 microseconds.
_LOOK_S = 0.1
#: One request at once is refused from so many times the limit: no look comes between its beginning
#: and its end.
_AT_ONCE = 2


def memory_mib() -> int:
    """The most that this process has used at a time.

    Not `ru_maxrss`: in a new process that begins with what the one that started it had used.
    """
    return _kib("VmHWM") // 1024


@contextmanager
def memory_limit(mib: int) -> Iterator[None]:
    """Inside, more than so much ends what the main thread does with a MemoryError, once.

    For the main thread alone: only there signals are heard.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _kib("VmData") * 1024 + _AT_ONCE * mib * _MIB
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))

    def look(_signal: int, _frame: FrameType | None) -> None:
        if memory_mib() > mib:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise MemoryError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _kib(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise OSError(f"{_STATUS} tells no {name}")
