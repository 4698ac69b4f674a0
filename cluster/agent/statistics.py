"""What allocations and the machine use now, in the shapes of the public API (http-api.md 5.5)."""

from collections.abc import Mapping
from pathlib import Path

import psutil

from cluster.agent.alloc_host import HostedAlloc
from cluster.agent.drivers.driver import Driver, TaskUsage

Wire = dict[str, object]


def allocation_usage(
    entry: HostedAlloc, drivers: Mapping[str, Driver], now: int, only_task: str = ""
) -> Wire:
    """AllocResourceUsage: the running tasks, one by one and added up."""
    usages = {
        name: drivers[handle.driver].usage(handle)
        for name, handle in entry.handles.items()
        if entry.runner.tasks[name].state.state == "running" and only_task in ("", name)
    }
    memory = sum(usage.memory_bytes for usage in usages.values())
    percent = sum(usage.cpu_percent for usage in usages.values())
    return {
        "ResourceUsage": _usage(memory, percent) | {"DeviceStats": []},
        "Tasks": {name: _task(usage, now) for name, usage in usages.items()},
        "Timestamp": now,
    }


def host_statistics(now: int, alloc_dir: Path | None) -> Wire:
    """HostStats of the machine, and of the disk that its allocations lie on."""
    memory = psutil.virtual_memory()
    return {
        "Memory": {
            "Total": memory.total,
            "Available": memory.available,
            "Used": memory.used,
            "Free": memory.free,
        },
        "CPU": [
            {
                "CPU": f"cpu{number}",
                "User": times.user,
                "System": times.system,
                "Idle": times.idle,
                "TotalPercent": 100.0 - times.idle,
                "TotalTicks": 0.0,
            }
            for number, times in enumerate(psutil.cpu_times_percent(percpu=True))
        ],
        "DiskStats": [_disk("/") | {"Mountpoint": "/"}],
        "AllocDirStats": None if alloc_dir is None else _disk(str(alloc_dir)),
        "DeviceStats": None,
        "Uptime": int(now / 1_000_000_000 - psutil.boot_time()),
        "Timestamp": now,
        "CPUTicksConsumed": 0.0,
    }


def _task(usage: TaskUsage, now: int) -> Wire:
    return {
        "ResourceUsage": _usage(usage.memory_bytes, usage.cpu_percent),
        "Timestamp": now,
        "Pids": {
            str(pid): _usage(process.memory_bytes, process.cpu_percent)
            for pid, process in usage.processes.items()
        },
    }


def _usage(memory: int, percent: float) -> Wire:
    return {
        "MemoryStats": {
            "RSS": memory,
            "Cache": 0,
            "Swap": 0,
            "MappedFile": 0,
            "Usage": memory,
            "MaxUsage": 0,
            "KernelUsage": 0,
            "KernelMaxUsage": 0,
            "Measured": ["RSS", "Usage"],
        },
        "CpuStats": {
            "SystemMode": 0.0,
            "UserMode": 0.0,
            "TotalTicks": 0.0,
            "ThrottledPeriods": 0,
            "ThrottledTime": 0,
            "Percent": percent,
            "Measured": ["Percent"],
        },
        "DeviceStats": None,
    }


def _disk(path: str) -> Wire:
    """The file system a path lies on, without its name."""
    usage = psutil.disk_usage(path)
    return {
        "Device": "",
        "Mountpoint": "",
        "Size": usage.total,
        "Used": usage.used,
        "Available": usage.free,
        "UsedPercent": usage.percent,
        "InodesUsedPercent": 0.0,
    }
