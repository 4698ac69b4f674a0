"""What a simulated fleet and the servers cost: 500 nodes with 20,000 running allocations."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from cluster.bench.job_forms import job_form
from cluster.bench.processes import cost_at_rest
from cluster.bench.scenario import Figures, Options, require, target
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

NODES = 500
JOBS = 20
COUNT = 1000
WATCH_S = 30
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Run the fleet as its users do, start everything, then watch it at rest."""
    nodes, count = options.scaled(NODES), options.scaled(COUNT)
    with target(options) as aim, simulated_fleet(aim, nodes) as fleet:
        aim.until(lambda: count_ready(aim) == nodes, f"{nodes} ready nodes", 300)
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
        cost = cost_at_rest({**aim.pids, "fleet": fleet.pid}, WATCH_S)
    figures: Figures = {"nodes": nodes, "running": wanted, "all_running_s": running - began}
    return figures | cost


def count_ready(aim: Target) -> int:
    """Nodes that are ready."""
    connection = aim.connect()
    found = connection.get("/v1/nodes")
    connection.close()
    return sum(node["Status"] == "ready" for node in found)


@contextmanager
def simulated_fleet(aim: Target, nodes: int, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process with nodes that run what is placed on them; `options` as of `runfleet`."""
    command = [
        sys.executable, str(settings.BASE_DIR / "manage.py"), "runfleet",
        "--nodes", str(nodes), "--addr", aim.address, "--join-token", aim.join_token, *options,
    ]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ}, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
