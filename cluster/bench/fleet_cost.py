"""What a simulated fleet and the servers cost: 500 nodes with 20,000 running allocations."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
from django.conf import settings

from cluster.bench.job_forms import job_form
from cluster.bench.scenario import Figures, Options, require, target
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

NODES = 500
JOBS = 20
COUNT = 1000
WATCH_S = 30
_MEGABYTE = 1024 * 1024
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Run the fleet as its users do, start everything, then watch it at rest."""
    nodes, count = options.scaled(NODES), options.scaled(COUNT)
    with target(options) as aim, _fleet(aim, nodes) as fleet:
        aim.until(lambda: _ready(aim) == nodes, f"{nodes} ready nodes", 300)
        began = _CLOCK.monotonic()
        aim.register(
            [job_form(f"fleet-{n}", count=count, cpu=10, memory_mb=10) for n in range(JOBS)]
        )
        wanted = JOBS * count
        running = aim.until(
            lambda: aim.count_allocations(client_status="running") >= wanted,
            f"{wanted} running allocations",
            900,
        )
        require("running allocations", aim.count_allocations(client_status="running"), wanted)
        named = dict(aim.stack.pids) if aim.stack else {}
        cost = _watch({**named, "fleet": fleet.pid})
    figures: Figures = {"nodes": nodes, "running": wanted, "all_running_s": running - began}
    return figures | cost


def _ready(aim: Target) -> int:
    connection = aim.connect()
    found = connection.get("/v1/nodes")
    connection.close()
    return sum(node["Status"] == "ready" for node in found)


@contextmanager
def _fleet(aim: Target, nodes: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = [
        sys.executable, str(settings.BASE_DIR / "manage.py"), "runfleet",
        "--nodes", str(nodes), "--addr", aim.address, "--join-token", aim.join_token,
    ]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ}, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _watch(pids: dict[str, int]) -> Figures:
    """CPU in percent of one core, and memory that is not shared, by process with its children."""
    groups = {name: _group(pid) for name, pid in pids.items()}
    before = {name: _cpu_s(group) for name, group in groups.items()}
    began = _CLOCK.monotonic()
    time.sleep(WATCH_S)
    seconds = _CLOCK.monotonic() - began
    figures: Figures = {}
    for name, group in groups.items():
        figures[f"{name}_cpu_percent"] = 100 * (_cpu_s(group) - before[name]) / seconds
        figures[f"{name}_memory_mb"] = _memory_mb(group)
    return figures


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
