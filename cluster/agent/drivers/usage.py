"""What a process and everything it started use of the machine."""

import contextlib

import psutil

from cluster.agent.drivers.driver import ProcessUsage, TaskUsage


def usage_of(pid: int) -> TaskUsage:
    """Resident memory and CPU of the whole tree; zero for a process that is gone."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return TaskUsage()
    used = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info().rss
            used[process.pid] = ProcessUsage(memory, process.cpu_percent())
    return TaskUsage(
        memory_bytes=sum(each.memory_bytes for each in used.values()),
        cpu_percent=sum(each.cpu_percent for each in used.values()),
        processes=used,
    )
