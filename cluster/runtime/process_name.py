"""Names of processes, unique over machines and restarts, by which others can tell that one died.

Out: `role@host/pid/start/place/chance`. The place is the running kernel and its process ids as
this process sees them: only who shares them may judge by the process id. Linux tells it; elsewhere
it is empty, and nobody is ever judged dead.
"""

import functools
import hashlib
import os
import socket
from pathlib import Path

from cluster.agent.process_identity import is_same_process, start_time_of
from cluster.runtime.clock import RandomIDs

_PARTS = 5


def process_name(role: str) -> str:
    """A new name for this process."""
    pid = os.getpid()
    chance = RandomIDs().next_id()[:8]
    return f"{role}@{socket.gethostname()}/{pid}/{start_time_of(pid)}/{_place()}/{chance}"


def is_known_dead(name: str) -> bool:
    """Whether the process of that name ran where this one runs, and has ended."""
    parts = name.split("/")
    if len(parts) != _PARTS or not _place() or parts[3] != _place():
        return False
    pid, start = parts[1], parts[2]
    return pid.isdecimal() and start.isdecimal() and not is_same_process(int(pid), int(start))


@functools.cache
def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        ids = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {ids}".encode()).hexdigest()[:8]
