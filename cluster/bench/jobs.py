"""Many small jobs from several connections at once: what a busy cluster does per job.

In: options. Out: evaluations a second from the first registration to the last outcome, seconds of
the registrations, how long one took, and what each process spent on a job.
"""

from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.placements import check_placements
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, nodes_for, percentile, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

JOBS = 2_000
NODES = 50
#: Registered before, to wake processes and warm what they keep.
_WARM_UP = 20
_SLICE_MHZ, _SLICE_MB = 10, 10
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Register all, wait until every evaluation has ended, check what was placed."""
    nodes, jobs = options.nodes or NODES, options.scaled(JOBS)
    wanted = jobs * options.count
    # Twice the room that is asked for, however few the nodes.
    slices = 2 * -(-(wanted + _WARM_UP * options.count) // nodes)
    fleet = FleetOptions(
        nodes=nodes,
        cpu=(max(16_000, slices * _SLICE_MHZ),),
        memory=(max(32_768, slices * _SLICE_MB),),
    )
    with target(options) as aim, nodes_for(options, aim, fleet):
        aim.until_quiet(60)
        prefix = f"jobs-{_CLOCK.now()}"
        warm = [f"{prefix}-warm-{number}" for number in range(_WARM_UP)]
        names = [f"{prefix}-{number}" for number in range(jobs)]
        aim.register([_form(name, options.count) for name in warm], options.connections)
        aim.until_quiet(60)
        figures = _measure(options, aim, names)
        check_placements(aim, dict.fromkeys((*warm, *names), options.count))
        if options.has_nodes:
            aim.purge([*warm, *names])
    return {"nodes": nodes, "jobs": jobs, **figures}


def _measure(options: Options, aim: Target, names: list[str]) -> Figures:
    def one(connection: Connection, name: str) -> tuple[str, float]:
        began = _CLOCK.monotonic()
        answer = connection.put("/v1/jobs", {"Job": _form(name, options.count)})
        return str(answer["EvalID"]), (_CLOCK.monotonic() - began) * 1000

    meter = Meter(aim.pids)
    began = _CLOCK.monotonic()
    taken = aim.each(one, names, options.connections)
    registered = _CLOCK.monotonic()
    ended = aim.until_quiet()
    spent = meter.cpu_s()
    require("evaluations, each of its own", len({eval_id for eval_id, _ in taken}), len(names))
    require("complete evaluations", _complete(aim, [eval_id for eval_id, _ in taken]), len(names))
    total = ended - began
    times = [took for _, took in taken]
    return {
        "evaluations_per_s": len(names) / total,
        "seconds": total,
        "registering_s": registered - began,
        "registered_p50_ms": percentile(times, 0.50),
        "registered_p99_ms": percentile(times, 0.99),
        **{f"{name[:-2]}_ms_per_job": 1000 * used / len(names) for name, used in spent.items()},
    }


def _complete(aim: Target, eval_ids: list[str]) -> int:
    """How many of these have been carried out whole, as `/v1` tells."""

    def is_complete(connection: Connection, eval_id: str) -> bool:
        found = connection.get(f"/v1/evaluation/{eval_id}")
        return bool(found["Status"] == "complete" and not found.get("FailedTGAllocs"))

    return sum(aim.each(is_complete, eval_ids))


def _form(name: str, count: int) -> dict[str, object]:
    return job_form(name, count=count, cpu=_SLICE_MHZ, memory_mb=_SLICE_MB)
