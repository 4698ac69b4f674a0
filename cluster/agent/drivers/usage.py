"""What a process and everything it started use of the machine."""

import contextlib

import psutil

from cluster.agent.drivers.driver import ProcessUsage, TaskUsage

#: Processes that were asked before, by id: the share of the CPU is that since the last question,
#: which psutil keeps with the object. The first answer is 0.
_asked: dict[int, psutil.Process] = {}
#: Entries above which those of processes that are gone are forgotten.
_MOST_KEPT = 4096


def usage_of(pid: int) -> TaskUsage:
    """Resident memory and CPU of the whole tree; zero for a process that is gone."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return TaskUsage()
    used = {}
    for process in map(_as_asked, processes):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info().rss
            used[process.pid] = ProcessUsage(memory, process.cpu_percent())
    return TaskUsage(
        memory_bytes=sum(each.memory_bytes for each in used.values()),
        cpu_percent=sum(each.cpu_percent for each in used.values()),
        processes=used,
    )


def _as_asked(process: psutil.Process) -> psutil.Process:
    # Equal is only the same process: an id that is used anew belongs to another.
    if _asked.get(process.pid) != process:
        if len(_asked) >= _MOST_KEPT:
            for gone in [pid for pid, each in _asked.items() if not each.is_running()]:
                del _asked[gone]
        _asked[process.pid] = process
    return _asked[process.pid]
