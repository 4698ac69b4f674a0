"""How long one job takes from its registration to its placement (P0a), and after pauses.

On an idle cluster, or with `--submissions` beside jobs that others register (P7).
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import sleep
from typing import Any

from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.placements import check_placements
from cluster.bench.scenario import Figures, Options, nodes_for, percentile, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 50
JOBS = 200
#: Not counted: the first ones warm caches and wake processes.
_WARM_UP = 10
#: Seconds of quiet before a job: processes go to sleep after 0.1 s, and what wakes them must do so
#: whenever they fell asleep.
PAUSES = (0.05, 0.09, 0.12, 0.2, 0.3, 0.5, 0.8, 1.1)
ROUNDS = 5
_CPU, _MEMORY_MB = 20, 10
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Register one job after another, each once the one before is placed; then with pauses."""
    nodes, jobs = options.nodes or NODES, options.scaled(JOBS)
    fleet = FleetOptions(nodes=nodes, cpu=(16_000,), memory=(32_768,))
    prefix = f"latency-{_CLOCK.now()}"
    names = [f"{prefix}-{number}" for number in range(_WARM_UP + jobs)]
    pauses = PAUSES * options.scaled(ROUNDS)
    spaced_names = [f"{prefix}-spaced-{number}" for number in range(len(pauses))]
    with (
        target(options) as aim,
        nodes_for(options, aim, fleet),
        closing(aim.connect()) as connection,
    ):
        aim.until_quiet(60)
        with _others(aim, prefix, options.beside_per_s) as others:
            taken = [_one(connection, name, options.count) for name in names]
            spaced = []
            for name, pause in zip(spaced_names, pauses, strict=True):
                sleep(pause)
                spaced.append(_one(connection, name, options.count))
        aim.until_quiet(60)
        ours = dict.fromkeys((*names, *spaced_names), options.count)
        check_placements(aim, {**ours, **dict.fromkeys(others, 1)})
        if options.has_nodes:
            aim.purge([*ours, *others])
    figures: Figures = {"nodes": nodes, "jobs": jobs}
    if others:
        figures["jobs_beside"] = len(others)
    return figures | _told("", taken[_WARM_UP:]) | _told("spaced_", spaced)


def _told(prefix: str, taken: list[tuple[float, float, float]]) -> Figures:
    figures: Figures = {}
    steps = ("registered", "complete", "visible")
    for name, values in zip(steps, zip(*taken, strict=True), strict=True):
        of_step = [*values]
        figures[f"{prefix}{name}_p50_ms"] = percentile(of_step, 0.50)
        figures[f"{prefix}{name}_p99_ms"] = percentile(of_step, 0.99)
    return figures


@contextmanager
def _others(aim: Target, prefix: str, per_s: float) -> Iterator[list[str]]:
    """Small jobs at this pace while the block runs; their names."""
    names: list[str] = []
    ended = threading.Event()

    def register() -> None:
        began = _CLOCK.monotonic()
        with closing(aim.connect()) as connection:
            while not ended.wait(max(0.0, began + len(names) / per_s - _CLOCK.monotonic())):
                name = f"{prefix}-beside-{len(names)}"
                connection.put("/v1/jobs", {"Job": _form(name, 1)})
                names.append(name)

    thread = threading.Thread(target=register, daemon=True)
    if per_s > 0:
        thread.start()
    try:
        yield names
    finally:
        ended.set()
        if per_s > 0:
            thread.join()


def _one(connection: Connection, name: str, count: int) -> tuple[float, float, float]:
    """Milliseconds until registered, until the evaluation is complete, until placement shows."""
    began = _CLOCK.monotonic()
    answer = connection.put("/v1/jobs", {"Job": _form(name, count)})
    registered = _CLOCK.monotonic()
    evaluation = _ended(connection, answer["EvalID"], answer["EvalCreateIndex"])
    complete = _CLOCK.monotonic()
    allocations = connection.get(f"/v1/evaluation/{evaluation['ID']}/allocations")
    visible = _CLOCK.monotonic()
    require(f"allocations of {name}", len(allocations), count)
    return (
        (registered - began) * 1000,
        (complete - began) * 1000,
        (visible - began) * 1000,
    )


def _ended(connection: Connection, eval_id: str, index: int) -> dict[str, Any]:
    while True:
        found: dict[str, Any] = connection.get(f"/v1/evaluation/{eval_id}?index={index}&wait=60s")
        if found["Status"] != "pending":
            return found
        index = connection.index


def _form(name: str, count: int) -> dict[str, Any]:
    return job_form(name, count=count, cpu=_CPU, memory_mb=_MEMORY_MB)
