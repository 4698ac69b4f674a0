"""What the processes of a stack cost: CPU time and memory, by name, children included.

In: process ids by name. Out: figures. Processes that end meanwhile count no more.
"""

import time
from collections.abc import Mapping
from contextlib import suppress

import psutil

from cluster.bench.scenario import Figures
from cluster.runtime.clock import SystemClock

_MEGABYTE = 1024 * 1024
_CLOCK = SystemClock()


class Meter:
    """CPU time since it was made."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._groups = {name: _group(pid) for name, pid in pids.items()}
        self._before = {name: _cpu_s(group) for name, group in self._groups.items()}

    def cpu_s(self) -> Figures:
        """Seconds of CPU that each one used."""
        return {
            f"{name}_cpu_s": _cpu_s(group) - self._before[name]
            for name, group in self._groups.items()
        }

    def memory_mb(self) -> Figures:
        """Memory of each one, its share of shared pages included."""
        return {f"{name}_memory_mb": _memory_mb(group) for name, group in self._groups.items()}


def cost_at_rest(pids: Mapping[str, int], seconds: float) -> Figures:
    """CPU in percent of one core over the next seconds, and memory after them."""
    meter = Meter(pids)
    began = _CLOCK.monotonic()
    time.sleep(seconds)
    took = _CLOCK.monotonic() - began
    shares = {
        key.replace("_cpu_s", "_cpu_percent"): 100 * used / took
        for key, used in meter.cpu_s().items()
    }
    return shares | meter.memory_mb()


def _group(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _cpu_s(group: list[psutil.Process]) -> float:
    total = 0.0
    for process in group:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _memory_mb(group: list[psutil.Process]) -> float:
    total = 0.0
    for process in group:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss / _MEGABYTE
    return total
