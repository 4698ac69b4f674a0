"""`manage.py rundemo`: the fleet of a demo, and the process that lets scenarios happen in it."""

import asyncio
import os
import signal

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from cluster.agent.means import Means
from cluster.demo.director import Director
from cluster.fleet.blueprint import FleetOptions, members_of
from cluster.fleet.fleet import Faults, Fleet
from cluster.installation import typed, typed_start
from cluster.management.commands.runfleet import new_join_token
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from cluster.store.access import the_store

NODES, RACKS = 60, ("r1", "r2", "r3")


class Command(BaseCommand):
    """Started by `up --demo`."""

    help = (
        "Join the demo's 60 simulated nodes of three racks, and carry out scenarios that the page"
        f" Now or `{typed('demo NAME')}` ask for; `{typed_start('demo')}` starts everything."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Where the cluster is."""
        parser.add_argument(
            "--addr", default=os.environ.get("BIVOUAC_ADDR", "http://127.0.0.1:4646")
        )
        parser.add_argument(
            "--join-token",
            default=os.environ.get("BIVOUAC_JOIN_TOKEN", ""),
            help="default: make one in this machine's record",
        )

    def handle(self, *_args: object, **options: object) -> None:
        """Run until SIGTERM or Ctrl-C."""
        blueprint = FleetOptions(nodes=NODES, meta={"rack": RACKS}, name_prefix="demo")
        means = Means(SystemClock(), RandomIDs(), chance)
        token = str(options["join_token"]) or new_join_token(means)
        members = members_of(blueprint, settings.SECRET_KEY)
        fleet = Fleet(members, str(options["addr"]), token, means, Faults())
        asyncio.run(_serve(fleet, means))


async def _serve(fleet: Fleet, means: Means) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    director = Director(the_store(), fleet, means, settings.BIVOUAC_REDIS_URL)
    async with asyncio.TaskGroup() as group:
        group.create_task(fleet.run(stopping))
        group.create_task(director.run(stopping))
