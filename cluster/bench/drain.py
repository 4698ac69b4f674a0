"""Nodes that run what is placed on them: how fast it starts, and how fast a node is emptied.

50 simulated nodes and 50 jobs of 100 allocations, until all run; then a node with 500 of them is
drained, with what else it runs, until all of it runs elsewhere and nothing is left.
"""

from contextlib import closing
from typing import Any

from cluster.bench.fleet_cost import count_ready, simulated_fleet
from cluster.bench.job_forms import job_form
from cluster.bench.placements import check_placements
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, WrongCount, require, target
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

NODES = 50
JOBS = 50
COUNT = 100
#: On the node that is drained.
ON_ONE = 500
_CPU, _MEMORY_MB = 10, 10
_LIMIT_S = 900
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Fill the fleet, fill one node by itself, drain it."""
    nodes, jobs = options.nodes or options.scaled(NODES), options.scaled(JOBS)
    crowd = max(2, options.scaled(ON_ONE))
    room = 2 * (jobs * COUNT // nodes + crowd)
    size = ("--cpu", str(room * _CPU), "--memory", str(room * _MEMORY_MB))
    with target(options) as aim, simulated_fleet(aim, nodes, *size) as fleet:
        aim.until(lambda: count_ready(aim) == nodes, f"{nodes} ready nodes", 300)
        meter = Meter({**aim.pids, "fleet": fleet.pid})
        started = _start(aim, jobs)
        node = _crowd(aim, crowd)
        drained_s = _drain(aim, node, crowd)
        cost = meter.cpu_s()
        wanted = {f"start-{number}": COUNT for number in range(jobs)}
        check_placements(aim, {**wanted, "crowd": crowd})
    return {
        "nodes": nodes,
        "started": jobs * COUNT,
        "started_s": started,
        "started_per_s": jobs * COUNT / started,
        "drained": crowd,
        "drained_s": drained_s,
        **cost,
    }


def _start(aim: Target, jobs: int) -> float:
    began = _CLOCK.monotonic()
    aim.register([_form(f"start-{number}", COUNT) for number in range(jobs)])
    return _until_running(aim, jobs * COUNT) - began


def _crowd(aim: Target, count: int) -> str:
    """Have one node run a job of so many, all by itself; its id."""
    with closing(aim.connect()) as connection:
        node = str(connection.get("/v1/nodes")[0]["ID"])
    there = aim.count_allocations(desired_status="run")
    _set_eligible(aim, node, others=False)
    aim.register([_form("crowd", count)])
    _until_running(aim, there + count)
    _set_eligible(aim, node, others=True)
    found = [each["NodeID"] for each in _of_crowd(aim)]
    require("allocations on the node to be drained", found.count(node), count)
    return node


def _drain(aim: Target, node: str, count: int) -> float:
    """Seconds from the request until all run elsewhere and the drain is over."""
    with closing(aim.connect()) as connection:
        on_it = connection.get(f"/v1/node/{node}/allocations")
        # System jobs aside, everything on it must leave.
        leaves = [each["ID"] for each in on_it if each["ClientStatus"] == "running"]
        running = aim.count_allocations(client_status="running", desired_status="run")
        began = _CLOCK.monotonic()
        spec = {"DrainSpec": {"Deadline": 600_000_000_000, "IgnoreSystemJobs": False}}
        connection.put(f"/v1/node/{node}/drain", spec)
        aim.until(lambda: not connection.get(f"/v1/node/{node}")["DrainStrategy"], "drained", 600)
        _until_running(aim, running)
        ended = _CLOCK.monotonic()
    left = [each for each in _of_crowd(aim) if each["NodeID"] == node]
    running_there = [each for each in left if each["DesiredStatus"] == "run"]
    if running_there or len(leaves) < count:
        raise WrongCount(f"{len(running_there)} of {len(leaves)} are left on the drained node")
    return ended - began


def _form(name: str, count: int) -> dict[str, Any]:
    """All of them may move at once: what is measured is the cluster, not the job's caution."""
    form = job_form(name, count=count, cpu=_CPU, memory_mb=_MEMORY_MB)
    form["TaskGroups"][0]["Migrate"] = {
        "MaxParallel": count, "HealthCheck": "task_states", "MinHealthyTime": 0,
        "HealthyDeadline": 300_000_000_000,
    }  # fmt: skip
    return form


def _until_running(aim: Target, wanted: int) -> float:
    return aim.until(
        lambda: aim.count_allocations(client_status="running", desired_status="run") >= wanted,
        f"{wanted} running allocations",
        _LIMIT_S,
    )


def _set_eligible(aim: Target, node: str, *, others: bool) -> None:
    """Open or close every node but one."""
    word = "eligible" if others else "ineligible"
    with closing(aim.connect()) as connection:
        for each in connection.get("/v1/nodes"):
            if each["ID"] != node:
                connection.put(f"/v1/node/{each['ID']}/eligibility", {"Eligibility": word})


def _of_crowd(aim: Target) -> list[dict[str, Any]]:
    with closing(aim.connect()) as connection:
        found: list[dict[str, Any]] = connection.get("/v1/job/crowd/allocations")
        return [each for each in found if each["DesiredStatus"] == "run"]
