"""`manage.py runfleet`: join a simulated fleet to a cluster."""

import asyncio
import os
import secrets
import signal
import sys
from typing import TextIO

import psutil
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from cluster.agent.means import Means
from cluster.fleet.blueprint import FleetOptions, members_of
from cluster.fleet.fleet import Faults, Fleet
from cluster.management.terminal import CommandWithExamples
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from cluster.store.join_tokens import add_join_token

_TERMINAL_PERIOD_S = 1.0
_PLAIN_PERIOD_S = 10.0


_EXAMPLES = """\
  manage.py runfleet --nodes 200
  manage.py runfleet --nodes 60 --meta rack=r1,r2,r3 --cpu 4000,8000 --prefix lab
  manage.py runfleet --nodes 20 --flap-rate 2 --failure-rate 0.5     nodes and tasks that fail
  manage.py runfleet --addr https://bivouac.example --join-token TOKEN
"""


class Command(CommandWithExamples):
    """Many nodes in one process, over the same protocol as real ones."""

    epilog = _EXAMPLES

    help = (
        "Join simulated nodes to a cluster. They run tasks of mock_driver without any process."
        " The same --seed makes the same nodes again. Options that take a list give each node one"
        " item in turn."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The make-up of the fleet, and what goes wrong in it."""
        add = parser.add_argument
        add("--nodes", type=int, default=10, help="how many (default: 10)")
        add("--addr", default=os.environ.get("BIVOUAC_ADDR", "http://127.0.0.1:4646"))
        add(
            "--join-token",
            default=os.environ.get("BIVOUAC_JOIN_TOKEN", ""),
            help="default: make one in this machine's record",
        )
        add("--datacenters", default="dc1", help="list, such as dc1,dc2")
        add("--pools", default="default", help="list of node pools")
        add("--classes", default="", help="list of node classes")
        add("--cpu", default="4000", help="MHz; list")
        add("--memory", default="8192", help="MB; list")
        add("--disk", default="100000", help="MB; list")
        for name in ("attribute", "meta"):
            add(f"--{name}", action="append", default=[], metavar="KEY=V1,V2", help="repeatable")
        add("--drivers", default="", help="further drivers to pretend, such as docker,exec")
        add("--failure-rate", type=float, default=0.0, help="failures per running task and hour")
        add("--flap-rate", type=float, default=0.0, help="disconnections per node and hour")
        add("--flap-seconds", type=float, default=40.0, help="how long a node stays silent")
        add("--seed", type=int, default=1, help="same seed, same nodes (default: 1)")
        add("--prefix", default="sim", help="first part of the names (default: sim)")

    def handle(self, *_args: object, **options: object) -> None:
        """Run until SIGTERM or Ctrl-C."""
        blueprint = blueprint_from(options)
        faults = Faults(
            task_failures=_not_negative(options, "failure_rate"),
            flaps=_not_negative(options, "flap_rate"),
            flap_s=_not_negative(options, "flap_seconds"),
            seed=blueprint.seed,
        )
        means = Means(SystemClock(), RandomIDs(), chance)
        token = str(options["join_token"]) or new_join_token(means)
        members = members_of(blueprint, settings.SECRET_KEY)
        fleet = Fleet(members, str(options["addr"]), token, means, faults)
        asyncio.run(serve(fleet, sys.stdout))


async def serve(fleet: Fleet, out: TextIO) -> None:
    """Run the fleet until a signal, saying how it goes."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    talk = asyncio.create_task(_talk(fleet, out))
    try:
        await fleet.run(stopping)
    finally:
        talk.cancel()
        await asyncio.gather(talk, return_exceptions=True)
    out.write("\n" if out.isatty() else "fleet stopped\n")


def blueprint_from(options: dict[str, object]) -> FleetOptions:
    """The fleet that the options describe. Raises CommandError for one that makes none."""

    def texts(name: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in str(options[name]).split(","))

    def numbers(name: str) -> tuple[int, ...]:
        found = texts(name)
        if not all(text.isdecimal() and int(text) > 0 for text in found):
            raise CommandError(f"--{name} must be a list of numbers, not {options[name]!r}")
        return tuple(int(text) for text in found)

    nodes = int(str(options["nodes"]))
    if not 1 <= nodes <= 20_000:
        raise CommandError(f"--nodes must be from 1 to 20000, not {nodes}")
    return FleetOptions(
        nodes=nodes,
        datacenters=texts("datacenters"),
        pools=texts("pools"),
        classes=texts("classes"),
        cpu=numbers("cpu"),
        memory=numbers("memory"),
        disk=numbers("disk"),
        attributes=_choices(options["attribute"]),
        meta=_choices(options["meta"]),
        drivers=tuple(text for text in texts("drivers") if text),
        seed=int(str(options["seed"])),
        name_prefix=str(options["prefix"]),
    )


def new_join_token(means: Means) -> str:
    """A join token for a server that shares this machine's record."""
    token = secrets.token_urlsafe(24)
    now = means.clock.now()
    try:
        add_join_token(token, name="runfleet", now=now, expires=now + 24 * 3600 * 1_000_000_000)
    except DatabaseError as error:
        raise CommandError(
            f"No join token can be made here, as the record cannot be used ({error})."
            " Give one of the cluster that the nodes shall join, by --join-token or in"
            " BIVOUAC_JOIN_TOKEN, or set BIVOUAC_DATA_DIR to its data directory."
        ) from None
    return token


def _choices(pairs: object) -> dict[str, tuple[str, ...]]:
    choices = {}
    for pair in pairs if isinstance(pairs, list) else []:
        key, sign, values = str(pair).partition("=")
        if not key or not sign:
            raise CommandError(f"expected KEY=V1,V2, not {pair!r}")
        choices[key] = tuple(values.split(","))
    return choices


def _not_negative(options: dict[str, object], name: str) -> float:
    value = float(str(options[name]))
    if not 0 <= value < 1e9:
        raise CommandError(f"--{name.replace('_', '-')} must not be negative")
    return value


async def _talk(fleet: Fleet, out: TextIO) -> None:
    process = psutil.Process()
    process.cpu_percent()
    period = _TERMINAL_PERIOD_S if out.isatty() else _PLAIN_PERIOD_S
    while True:
        await asyncio.sleep(period)
        counts = fleet.summary()
        ready, silent = counts.pop("ready", 0), counts.pop("silent", 0)
        states = "  ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        memory = process.memory_info().rss // (1024 * 1024)
        line = (
            f"nodes {len(fleet.nodes)}  ready {ready}  silent {silent}  |  {states or 'idle'}"
            f"  |  cpu {process.cpu_percent():.0f} %  memory {memory} MB"
        )
        out.write(f"\r\x1b[K{line}" if out.isatty() else f"{line}\n")
        out.flush()
