"""How long one job takes from its registration to its placement, on an idle cluster (P0a)."""

from contextlib import closing
from time import sleep
from typing import Any

from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.scenario import Figures, Options, passive, percentile, require, target
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
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Register one job after another, each once the one before is placed; then with pauses."""
    nodes, jobs = NODES, options.scaled(JOBS)
    with (
        target(options) as aim,
        passive(aim, FleetOptions(nodes=nodes, cpu=(16_000,), memory=(32_768,))),
        closing(aim.connect()) as connection,
    ):
        aim.until_quiet(60)
        prefix = f"latency-{_CLOCK.now()}"
        taken = [_one(connection, f"{prefix}-{number}") for number in range(_WARM_UP + jobs)]
        spaced = []
        for number, pause in enumerate(PAUSES * options.scaled(ROUNDS)):
            sleep(pause)
            spaced.append(_one(connection, f"{prefix}-spaced-{number}")[1])
    figures: Figures = {"nodes": nodes, "jobs": jobs}
    steps = ("registered", "complete", "visible")
    for name, values in zip(steps, zip(*taken[_WARM_UP:], strict=True), strict=True):
        of_step = [*values]
        figures[f"{name}_p50_ms"] = percentile(of_step, 0.50)
        figures[f"{name}_p99_ms"] = percentile(of_step, 0.99)
    figures["spaced_complete_p50_ms"] = percentile(spaced, 0.50)
    figures["spaced_complete_most_ms"] = max(spaced)
    return figures


def _one(connection: Connection, name: str) -> tuple[float, float, float]:
    """Milliseconds until registered, until the evaluation is complete, until placement shows."""
    began = _CLOCK.monotonic()
    answer = connection.put("/v1/jobs", {"Job": job_form(name)})
    registered = _CLOCK.monotonic()
    evaluation = _ended(connection, answer["EvalID"], answer["EvalCreateIndex"])
    complete = _CLOCK.monotonic()
    allocations = connection.get(f"/v1/evaluation/{evaluation['ID']}/allocations")
    visible = _CLOCK.monotonic()
    require(f"allocations of {name}", len(allocations), 1)
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
