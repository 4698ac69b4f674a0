"""What a process and everything it started use of the machine."""

import contextlib

import psutil

from cluster.agent.drivers.driver import TaskUsage


def usage_of(pid: int) -> TaskUsage:
    """Resident memory and CPU of the whole tree; zero for a process that is gone."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return TaskUsage()
    memory = 0
    percent = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            memory += process.memory_info().rss
            percent += process.cpu_percent()
    return TaskUsage(
        memory_bytes=memory,
        cpu_percent=percent,
        pids=tuple(process.pid for process in processes),
    )
