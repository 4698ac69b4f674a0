"""A million allocations on 5,000 nodes: whether it gets slower on the way, and what it holds.

2,500 jobs of 400 allocations. With `--data-dir` the record is kept, and a run that was broken off,
or was smaller, is gone on with: only what is missing is registered.
"""

import itertools
from contextlib import closing
from threading import Thread

from cluster.bench.job_forms import job_form
from cluster.bench.memory_watch import MemoryWatch
from cluster.bench.placements import check_placements
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, passive, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 5_000
JOBS = 2_500
COUNT = 400
_TENTHS = 10
_LIMIT_S = 7_200
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Register what is missing, and wait until all is placed and no evaluation is open."""
    nodes, jobs = options.nodes or options.scaled(NODES), options.scaled(JOBS)
    # Room for 400 on a node, of which about half is used.
    fleet = FleetOptions(nodes=nodes, cpu=(40_000,), memory=(81_920,))
    names = [f"million-{number:04d}" for number in range(jobs)]
    with target(options) as aim, passive(aim, fleet), MemoryWatch(lambda: aim.pids) as memory:
        aim.until_quiet(_LIMIT_S)
        there = _registered(aim)
        figures = _measure(aim, [name for name in names if name not in there])
        cost = memory.figures()
        size = {"record_mb": aim.record.size_mb()} if aim.record is not None else {}
        placed = check_placements(aim, dict.fromkeys(names, COUNT))
    return {"nodes": nodes, "allocations": placed, **figures, **cost, **size}


def _measure(aim: Target, names: list[str]) -> Figures:
    before, new = aim.count_allocations(), len(names) * COUNT
    complete = aim.count_evaluations(status="complete")
    forms = [job_form(name, count=COUNT, cpu=100, memory_mb=128) for name in names]
    meter = Meter(aim.pids)
    began = _CLOCK.monotonic()
    sender = Thread(target=aim.register, args=(forms,), daemon=True)
    sender.start()
    moments = _tenths(aim, before, new)
    ended = aim.until_quiet(_LIMIT_S)
    sender.join()
    cost = meter.cpu_s()
    require(
        "complete evaluations", aim.count_evaluations(status="complete"), complete + len(names)
    )
    lengths = [after - earlier for earlier, after in itertools.pairwise([began, *moments])]
    seconds = ended - began
    rates = {
        f"tenth_{number}_per_s": new / _TENTHS / max(length, 1e-9)
        for number, length in enumerate(lengths, 1)
    }
    return {
        "placed_now": new,
        "seconds": seconds,
        "allocations_per_s": new / seconds,
        "last_tenth_to_first": lengths[0] / max(lengths[-1], 1e-9),
        **rates,
        **cost,
    }


def _tenths(aim: Target, before: int, new: int) -> list[float]:
    """When each tenth of the new allocations was in the record."""
    return [
        aim.until(
            lambda least=before + new * tenth // _TENTHS: aim.count_allocations() >= least,  # type: ignore[misc] # a default pins the value of this turn
            f"{tenth} tenths of the allocations",
            _LIMIT_S,
        )
        for tenth in range(1, _TENTHS + 1)
    ]


def _registered(aim: Target) -> set[str]:
    with closing(aim.connect()) as connection:
        return {job["ID"] for job in connection.get("/v1/jobs?prefix=million-")}
