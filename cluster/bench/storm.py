"""A storm: 100 nodes with 40 service and 10 system jobs go down and come up (goals.md P1).

Twice. Live: every evaluation of the way down is worked on before the nodes come back, which makes
4,000 service and 2,000 system evaluations. Shed: the broker is paused until both have happened,
which makes 8,000 and 2,000, of which all but one per job are canceled (control-plane.md 15.4).
"""

from contextlib import closing
from dataclasses import replace

from cluster.bench.job_forms import job_form
from cluster.bench.passive_fleet import PassiveFleet
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, passive, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 100
SERVICES = 40
SYSTEMS = 10
_CPU = 100
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Fill the nodes of one datacenter, bring spare ones in another, and let the storm pass."""
    nodes = options.scaled(NODES)
    home, spare = fleets(nodes)
    with target(options) as aim, passive(aim, home) as at_home:
        fill(aim, nodes)
        with passive(aim, spare) as elsewhere:
            aim.until_quiet()
            live = _live(aim, at_home, nodes)
            shed = _shed(aim, at_home, elsewhere, nodes)
    return {"nodes": nodes, **live, **shed}


def fleets(nodes: int) -> tuple[FleetOptions, FleetOptions]:
    """The nodes that flap, and as many elsewhere; each just large enough."""
    size = (SERVICES + SYSTEMS) * _CPU
    home = FleetOptions(nodes=nodes, cpu=(size,), datacenters=("home",), name_prefix="home")
    return home, replace(home, datacenters=("spare",), name_prefix="spare")


def fill(aim: Target, nodes: int) -> None:
    """Fill the nodes of `home`, whose services may run on those of `spare` as well."""
    aim.until_quiet()
    for number in range(SYSTEMS):
        form = job_form(f"system-{number}", kind="system", cpu=_CPU, datacenters=("home",))
        aim.register([form])
    aim.until_quiet()
    places = ("home", "spare")
    aim.register(
        [
            job_form(f"service-{number:04d}", cpu=_CPU, datacenters=places)
            for number in range(nodes * SERVICES)
        ]
    )
    aim.until_quiet()
    wanted = nodes * (SERVICES + SYSTEMS)
    require("allocations at first", aim.count_allocations(desired_status="run"), wanted)


def _live(aim: Target, at_home: PassiveFleet, nodes: int) -> Figures:
    meter = Meter(aim.pids)
    began = _CLOCK.monotonic()
    at_home.say("down")
    down = aim.until_quiet()
    _require_evaluations(aim, service=nodes * SERVICES, system=nodes * SYSTEMS)
    wanted = nodes * SERVICES
    require("allocations without the nodes", aim.count_allocations(desired_status="run"), wanted)
    back = _CLOCK.monotonic()
    at_home.say("ready")
    up = aim.until_quiet()
    _require_evaluations(aim, service=nodes * SERVICES, system=nodes * SYSTEMS * 2)
    wanted = nodes * (SERVICES + SYSTEMS)
    require("allocations with them", aim.count_allocations(desired_status="run"), wanted)
    total = (down - began) + (up - back)
    count = nodes * (SERVICES + 2 * SYSTEMS)
    return {
        "live_evaluations": count,
        "live_down_s": down - began,
        "live_up_s": up - back,
        "live_evaluations_per_s": count / total,
        **{f"live_{name}": used for name, used in meter.cpu_s().items()},
    }


def _shed(aim: Target, at_home: PassiveFleet, elsewhere: PassiveFleet, nodes: int) -> Figures:
    """By now the services are on the spare nodes, so both datacenters flap."""
    before_service = aim.count_evaluations(triggered_by="node-update", type="service")
    before_system = aim.count_evaluations(triggered_by="node-update", type="system")
    pause_broker(aim, paused=True)
    began = _CLOCK.monotonic()
    for status in ("down", "ready"):
        at_home.say(status)
        elsewhere.say(status)
    written = _CLOCK.monotonic()
    _require_evaluations(
        aim,
        service=before_service + 2 * nodes * SERVICES,
        system=before_system + 2 * nodes * SYSTEMS,
    )
    count = 2 * nodes * (SERVICES + SYSTEMS)
    require("pending evaluations", aim.count_evaluations(status="pending"), count)
    meter = Meter(aim.pids)
    resumed = _CLOCK.monotonic()
    pause_broker(aim, paused=False)
    ended = aim.until_quiet()
    wanted = nodes * (SERVICES + SYSTEMS)
    require("allocations at last", aim.count_allocations(desired_status="run"), wanted)
    return {
        "shed_evaluations": count,
        "shed_written_s": written - began,
        "shed_s": ended - resumed,
        "shed_evaluations_per_s": count / (ended - resumed),
        **{f"shed_{name}": used for name, used in meter.cpu_s().items()},
    }


def _require_evaluations(aim: Target, *, service: int, system: int) -> None:
    for kind, wanted in (("service", service), ("system", system)):
        found = aim.count_evaluations(triggered_by="node-update", type=kind)
        require(f"node-update evaluations of {kind} jobs", found, wanted)


def pause_broker(aim: Target, *, paused: bool) -> None:
    """Have the leader hand out nothing, or go on."""
    path = "/v1/operator/scheduler/configuration"
    with closing(aim.connect()) as connection:
        settings = connection.get(path)["SchedulerConfig"]
        connection.put(path, settings | {"PauseEvalBroker": paused})
