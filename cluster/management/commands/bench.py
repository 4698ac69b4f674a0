"""`manage.py bench`: measure Bivouac, each scenario on a cluster of its own."""

import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cluster.bench import (
    c100k,
    density,
    engine,
    fleet_cost,
    latency,
    memory,
    pixel,
    rehearse,
    soak,
    sockets,
    storm,
)
from cluster.bench.browser import BrowserMissing
from cluster.bench.connection import RequestFailed
from cluster.bench.report import json_line, summary, table
from cluster.bench.scenario import Options, WrongCount
from cluster.bench.soak import Grew
from cluster.bench.stack import StackFailed
from cluster.bench.target import NotSettled

SCENARIOS = {
    "latency": latency.run,
    "storm": storm.run,
    "c100k": c100k.run,
    "fleet": fleet_cost.run,
    "engine": engine.run,
    "density": density.run,
    "memory": memory.run,
    "pixel": pixel.run,
    "sockets": sockets.run,
    "soak": soak.run,
    "rehearse": rehearse.run,
}


class Command(BaseCommand):
    """Parses the options of `bench`."""

    requires_system_checks = ()
    help = (
        "Measure: latency (register to placed), storm (nodes flap), c100k (100,170 allocations),"
        " fleet (cost at rest), engine (120 cases of one evaluation), density (nodes used),"
        " memory (bytes per allocation), pixel (commit to drawn in a browser),"
        " sockets (200 open pages in a storm), soak (memory over 30 minutes of mixed use),"
        " rehearse (a drain of ten nodes, foretold)."
        " Prints one JSON line and a table."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("scenario", choices=[*SCENARIOS])
        parser.add_argument("--runs", type=int, default=1, help="figures are medians of these")
        parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
        parser.add_argument("--only", default="", help="engine: cases with this in their name")
        parser.add_argument("--workers", type=int, default=2, help="scheduler worker processes")
        parser.add_argument("--viewers", type=int, default=200, help="sockets: open pages")
        parser.add_argument(
            "--addr",
            default="",
            help="a running cluster, with BIVOUAC_TOKEN and BIVOUAC_JOIN_TOKEN; use a fresh one",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run and print."""
        # So that the stack goes down with us.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        chosen = Options(
            address=options["addr"],
            scale=options["scale"],
            workers=options["workers"],
            viewers=options["viewers"],
            only=options["only"],
        )
        if min(options["runs"], options["viewers"]) < 1 or not 0 < chosen.scale <= 10:
            raise CommandError(
                "--runs and --viewers must be at least 1, --scale above 0 and at most 10"
            )
        name = options["scenario"]
        try:
            runs = [SCENARIOS[name](chosen) for _ in range(options["runs"])]
        except (BrowserMissing, Grew, RequestFailed, StackFailed, NotSettled, WrongCount) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            if not chosen.address:
                raise
            raise CommandError(f"{chosen.address} does not answer: {error}") from None
        result = summary(name, runs)
        self.stdout.write(json_line(result))
        self.stdout.write(table(result))
