"""A pile of evaluations that are nearly all in vain: 49,730 of ten system jobs (goals.md P2).

5,000 nodes with ten system jobs; the broker is paused, 4,973 nodes go down, and the broker
resumes. Each job's newest evaluation does the work of all, the others are canceled: what is
measured is how long until every one has its final status in the record.
"""

from cluster.bench.job_forms import job_form
from cluster.bench.placements import check_placements
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, passive, require, target
from cluster.bench.storm import pause_broker
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 5_000
#: Of the nodes so many stay, so that the jobs have somewhere to be.
STAY = 27
SYSTEMS = 10
_CPU = 100
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Fill the nodes, pile the evaluations up, let them go."""
    nodes = options.nodes or options.scaled(NODES)
    stay = max(1, min(STAY, nodes // 2))
    fleet = FleetOptions(nodes=nodes, cpu=(SYSTEMS * _CPU,))
    names = [f"system-{number}" for number in range(SYSTEMS)]
    with target(options) as aim, passive(aim, fleet) as there:
        aim.until_quiet(120)
        began = _CLOCK.monotonic()
        aim.register([job_form(name, kind="system", cpu=_CPU) for name in names])
        filled = aim.until_quiet()
        check_placements(aim, dict.fromkeys(names, nodes), one_per_node=True)
        pile = SYSTEMS * (nodes - stay)
        pause_broker(aim, paused=True)
        piling = _CLOCK.monotonic()
        there.say("down", there.members[stay:])
        written = _CLOCK.monotonic()
        require("pending evaluations", aim.count_evaluations(status="pending"), pile)
        figures = _let_go(aim, pile)
        check_placements(aim, dict.fromkeys(names, stay), one_per_node=True)
    return {
        "nodes": nodes,
        "evaluations": pile,
        "filled_s": filled - began,
        "written_s": written - piling,
        **figures,
    }


def _let_go(aim: Target, pile: int) -> Figures:
    ended = ("complete", "canceled")
    before = sum(aim.count_evaluations(status=status) for status in ended)
    meter = Meter(aim.pids)
    resumed = _CLOCK.monotonic()
    pause_broker(aim, paused=False)
    quiet = aim.until_quiet()
    cost = meter.cpu_s() | meter.memory_mb()
    after = sum(aim.count_evaluations(status=status) for status in ended)
    require("evaluations that were complete or canceled", after - before, pile)
    seconds = quiet - resumed
    return {"seconds": seconds, "evaluations_per_s": pile / seconds, **cost}
