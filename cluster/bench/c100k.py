"""318 jobs of 315 allocations each, registered at once on 500 nodes (goals.md P3)."""

import itertools
from threading import Thread

from cluster.bench.job_forms import job_form
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, passive, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 500
JOBS = 318
COUNT = 315
_TENTHS = 10
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Register all, then wait until every allocation is placed and no evaluation is open."""
    nodes, jobs = options.scaled(NODES), options.scaled(JOBS)
    # Room for 400 on a node, of which about half is used.
    fleet = FleetOptions(nodes=nodes, cpu=(40_000,), memory=(81_920,))
    forms = [
        job_form(f"c100k-{number:03d}", count=COUNT, cpu=100, memory_mb=128)
        for number in range(jobs)
    ]
    with target(options) as aim, passive(aim, fleet):
        aim.until_quiet(60)
        meter = Meter(aim.pids)
        began = _CLOCK.monotonic()
        sender = Thread(target=aim.register, args=(forms,), daemon=True)
        sender.start()
        moments = _tenths(aim, jobs * COUNT)
        ended = aim.until_quiet()
        sender.join()
        cost = meter.cpu_s() | meter.memory_mb()
        require("allocations", aim.count_allocations(desired_status="run"), jobs * COUNT)
        require("complete evaluations", aim.count_evaluations(status="complete"), jobs)
    lengths = [after - before for before, after in itertools.pairwise([began, *moments])]
    total = ended - began
    return {
        "nodes": nodes,
        "allocations": jobs * COUNT,
        "seconds": total,
        "allocations_per_s": jobs * COUNT / total,
        "last_tenth_to_first": lengths[0] / lengths[-1],
        **cost,
    }


def _tenths(aim: Target, total: int) -> list[float]:
    """When each tenth of the allocations was in the record."""
    return [
        aim.until(
            lambda least=total * tenth // _TENTHS: aim.count_allocations() >= least,  # type: ignore[misc] # a default pins the value of this turn
            f"{tenth} tenths of the allocations",
            1800,
        )
        for tenth in range(1, _TENTHS + 1)
    ]
