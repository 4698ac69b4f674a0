"""`manage.py bench`: measure Bivouac, each scenario on a cluster of its own."""

import signal
import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from cluster.bench import (
    agents,
    c100k,
    density,
    drain,
    engine,
    fleet_cost,
    foretold,
    idle,
    jobs,
    latency,
    memory,
    million,
    page_budgets,
    pages,
    pixel,
    rehearse,
    rush_load,
    shed,
    soak,
    sockets,
    storm,
)
from cluster.bench.beside import ratios, run_beside, run_on_both, side_by_side
from cluster.bench.browser import BrowserMissing
from cluster.bench.connection import RequestFailed
from cluster.bench.own_database import DatabaseRefused
from cluster.bench.report import json_line, summary, table
from cluster.bench.scenario import Options, WrongCount
from cluster.bench.soak import Grew
from cluster.bench.stack import StackFailed
from cluster.bench.target import NotSettled
from cluster.environment import database_from

SCENARIOS = {
    "latency": latency.run,
    "jobs": jobs.run,
    "storm": storm.run,
    "shed": shed.run,
    "c100k": c100k.run,
    "million": million.run,
    "drain": drain.run,
    "fleet": fleet_cost.run,
    "idle": idle.run,
    "engine": engine.run,
    "density": density.run,
    "rush": rush_load.run,
    "memory": memory.run,
    "pixel": pixel.run,
    "sockets": sockets.run,
    "soak": soak.run,
    "rehearse": rehearse.run,
    "foretold": foretold.run,
    "pages": pages.run,
    "agents": agents.run,
}
#: Those with a table of their own, and with budgets that fail the command.
TABLES = {"pages": page_budgets.grid}
BUDGETS = {"pages": page_budgets.over, "rehearse": rehearse.over, "foretold": foretold.over}
#: Those that ask a server nothing but `/v1`.
BESIDE = ("latency", "jobs")
#: Those whose record may be at a PostgreSQL server.
RECORDED = ("latency", "jobs", "storm", "shed", "c100k", "million", "drain")
#: Those that know a fleet of another size.
SIZED = ("latency", "jobs", "shed", "million", "drain", "idle")

#: What ends a run, in words for whoever started it.
_TOLD = (
    BrowserMissing, DatabaseRefused, Grew, NotSettled, RequestFailed, StackFailed, WrongCount
)  # fmt: skip

_ABOUT = """\
Measure Bivouac. Each scenario starts a cluster of its own, checks what it counts (all complete,
none placed twice, no node given more than it has) and fails if that is wrong. Prints one JSON line
and a table of medians.

  latency   one job after another: registered, complete, visible; then after pauses
  jobs      2,000 small jobs from 16 connections: evaluations a second, CPU per job and process
  storm     100 nodes with 50 jobs flap: 6,000 evaluations live, 10,000 with the broker paused
  shed      49,730 pending evaluations of ten system jobs over 5,000 nodes, to their final status
  c100k     318 jobs of 315 allocations on 500 nodes at once
  million   2,500 jobs of 400 allocations on 5,000 nodes: each tenth's rate, the most memory
  drain     50 simulated nodes start 5,000 allocations; a node that runs 500 is drained
  fleet     what 500 simulated nodes with 20,000 allocations cost at rest
  idle      what 5,000 nodes cost that only beat
  engine    120 cases of one evaluation          density   nodes used by a mixed load
  rush      placements refused with 2 and 4 workers, in virtual time
  memory    bytes per allocation in a mirror     pixel     from commit to drawn in a browser
  sockets   200 open pages in a storm            soak      memory over half an hour of mixed use
  rehearse  a drain of ten nodes, foretold       pages     every page against its budgets
  foretold  changes by chance, rehearsed then done on real processes: places that were named
  agents    faults of a real node: kill, reboot, partition, disk, clock, away, many, runaway, bomb
"""


class Command(BaseCommand):
    """Parses the options of `bench`."""

    requires_system_checks = ()
    help = _ABOUT

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Keep the lines of the help as they are."""
        kwargs["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        add = parser.add_argument
        add("scenario", choices=[*SCENARIOS], metavar="scenario")
        add("--runs", type=int, default=1, help="figures are medians of these")
        add("--scale", type=float, default=1.0, help="share of the full size")
        add("--nodes", type=int, default=0, help=f"of the fleet ({', '.join(SIZED)})")
        add("--connections", type=int, default=16, help="jobs: register from so many")
        add("--count", type=int, default=1, help="latency, jobs: allocations of each job")
        add(
            "--submissions", type=float, default=0.0, metavar="PER_S",
            help="latency: jobs a second that are registered beside",
        )  # fmt: skip
        add("--only", default="", help="engine, agents, foretold: cases with this in their name")
        add("--workers", type=int, default=2, help="scheduler worker processes")
        add("--viewers", type=int, default=200, help="sockets: open pages")
        add("--data-dir", type=Path, help="million: keep the record there, and go on with it")
        add(
            "--addr",
            default="",
            help="a running cluster, with BIVOUAC_TOKEN and BIVOUAC_JOIN_TOKEN; use a fresh one",
        )
        add(
            "--beside",
            default="",
            metavar="ADDRESS",
            help=f"{', '.join(BESIDE)}: the same requests to another server of /v1 as well, by"
            " turns, and both side by side; it must have the nodes; its token in BESIDE_TOKEN",
        )
        add(
            "--database",
            default="",
            metavar="URL",
            help=f"{', '.join(RECORDED)}: on PostgreSQL and on SQLite by turns, and both side by"
            " side; postgresql://user:password@host/name, a database of a role that may make"
            " others: each run has one of its own",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run and print."""
        # So that the stack goes down with us.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        name, runs, beside = options["scenario"], options["runs"], options["beside"]
        chosen = _chosen(options)
        try:
            if beside:
                self._beside(name, chosen, beside, runs)
                return
            if chosen.database:
                self._on_both(name, chosen, runs)
                return
            figures = [SCENARIOS[name](chosen) for _ in range(runs)]
        except _TOLD as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            if not (chosen.address or beside):
                raise
            raise CommandError(f"{chosen.address or beside} does not answer: {error}") from None
        result = summary(name, figures)
        self.stdout.write(json_line(result))
        own = TABLES.get(name)
        self.stdout.write(own(result["median"]) if own is not None else table(result))
        if problems := BUDGETS.get(name, lambda _: [])(result["median"]):
            raise CommandError("\n".join(["over budget:", *problems]))

    def _beside(self, name: str, chosen: Options, address: str, runs: int) -> None:
        mine, other = run_beside(SCENARIOS[name], chosen, address, runs)
        result = summary(name, mine) | {
            "beside": {"address": address, "median": summary(name, other)["median"]},
            "ratio": ratios(mine, other),
        }
        self.stdout.write(json_line(result))
        self.stdout.write(side_by_side(mine, other, address))

    def _on_both(self, name: str, chosen: Options, runs: int) -> None:
        there, file = run_on_both(SCENARIOS[name], chosen, runs)
        result = summary(name, there) | {
            "sqlite": {"median": summary(name, file)["median"]},
            "ratio": ratios(there, file),
        }
        self.stdout.write(json_line(result))
        self.stdout.write(side_by_side(there, file, "SQLite", ("PostgreSQL", "SQLite")))


def _chosen(options: dict[str, Any]) -> Options:
    """Raises CommandError for what cannot be measured."""
    name = options["scenario"]
    if min(options[key] for key in ("runs", "viewers", "connections", "count")) < 1:
        raise CommandError("--runs, --viewers, --connections and --count must be at least 1")
    if not 0 < options["scale"] <= 10:
        raise CommandError("--scale must be above 0 and at most 10")
    if min(options["nodes"], options["submissions"]) < 0:
        raise CommandError("--nodes and --submissions cannot be negative")
    if options["nodes"] and name not in SIZED:
        raise CommandError(f"--nodes is for {', '.join(SIZED)}")
    if options["beside"] and name not in BESIDE:
        raise CommandError(f"--beside is for {', '.join(BESIDE)}: they ask nothing but /v1")
    if options["data_dir"] and (name != "million" or options["runs"] > 1):
        raise CommandError("--data-dir is for one run of million")
    if options["database"]:
        _check_database(name, options)
    return Options(
        database=options["database"],
        address=options["addr"],
        scale=options["scale"],
        nodes=options["nodes"],
        connections=options["connections"],
        count=options["count"],
        beside_per_s=options["submissions"],
        workers=options["workers"],
        viewers=options["viewers"],
        only=options["only"],
        data_dir=options["data_dir"],
    )


def _check_database(name: str, options: dict[str, Any]) -> None:
    """Raises CommandError for a scenario or an address that no database can serve."""
    if name not in RECORDED:
        raise CommandError(f"--database is for {', '.join(RECORDED)}")
    if options["addr"] or options["beside"] or options["data_dir"]:
        raise CommandError("--database goes without --addr, --beside and --data-dir")
    try:
        database_from(options["database"], Path())
    except ImproperlyConfigured as error:
        raise CommandError(f"--database: {error}") from None
