"""What a fleet costs that only beats: 5,000 passive nodes, nothing to do.

Out: CPU of each process in percent of one core while every node beats at least once, and their
sum. Passive nodes beat twice as often as they are asked to.
"""

from time import sleep

from cluster.bench.fleet_cost import count_ready
from cluster.bench.processes import cost_at_rest
from cluster.bench.scenario import Figures, Options, passive, require, target
from cluster.fleet.blueprint import FleetOptions

NODES = 5_000
#: A node beats once within so many seconds, and for each of so many nodes a second later.
_ROUND_S, _NODES_PER_S = 10.0, 50


def run(options: Options) -> Figures:
    """Bring the nodes, let all settle, watch; none may have gone down meanwhile."""
    nodes = options.nodes or options.scaled(NODES)
    watch_s = max(_ROUND_S, nodes / _NODES_PER_S)
    with target(options) as aim, passive(aim, FleetOptions(nodes=nodes)):
        aim.until_quiet(120)
        # The first beats come a round after the registrations; only then is it steady.
        sleep(watch_s)
        cost = cost_at_rest(aim.pids, watch_s)
        require("ready nodes", count_ready(aim), nodes)
    together = sum(value for key, value in cost.items() if key.endswith("_cpu_percent"))
    return {"nodes": nodes, "cpu_percent": together, **cost}
