"""What every scenario is given, and what it hands back.

In: options of the command. Out: a fresh cluster with a fleet around a block, and plain figures.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.bench.own_database import own_database
from cluster.bench.passive_fleet import PassiveFleet
from cluster.bench.stack import Stack
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions

Figures = dict[str, float]


class WrongCount(Exception):
    """A scenario ended with other counts than it must; the message says which."""


@dataclass(frozen=True)
class Options:
    """What the command was asked for."""

    #: Of a running cluster; "" starts one per run.
    address: str = ""
    #: Share of the full size.
    scale: float = 1.0
    workers: int = 2
    #: Open pages, where a scenario has an audience.
    viewers: int = 200
    #: Of a scenario with many cases, those whose name contains this.
    only: str = ""
    #: Of the fleet; 0: as the scenario says.
    nodes: int = 0
    #: From so many connections small jobs are registered.
    connections: int = 16
    #: Allocations of each small job.
    count: int = 1
    #: Jobs a second that are registered beside what is measured.
    beside_per_s: float = 0.0
    #: Count by what `/v1` says, never by the record's own file.
    by_requests: bool = False
    #: The server at `address` has nodes of its own: none are brought, jobs are purged again.
    has_nodes: bool = False
    #: Where the record is kept and gone on with; None: a directory for the occasion.
    data_dir: Path | None = None
    #: Of the PostgreSQL server that shall hold the record, in a database of its own; "": SQLite.
    database: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def scaled(self, full: int) -> int:
        """This many, at this scale; at least one."""
        return max(1, round(full * self.scale))


@contextmanager
def target(options: Options) -> Iterator[Target]:
    """The cluster to measure, of its own or named by the options."""
    if options.address:
        if options.has_nodes:
            yield Target(options.address, os.environ.get("BESIDE_TOKEN", ""), "")
            return
        token, join = os.environ.get("BIVOUAC_TOKEN", ""), os.environ.get("BIVOUAC_JOIN_TOKEN", "")
        yield Target(options.address, token, join)
        return
    with ExitStack() as entered:
        environment = dict(options.environment)
        if options.database:
            environment["DATABASE_URL"] = entered.enter_context(own_database(options.database))
        stack = entered.enter_context(
            Stack(workers=options.workers, environment=environment, data_dir=options.data_dir)
        )
        join = (stack.data_dir / "join-token").read_text().strip()
        aim = Target(stack.address, stack.token, join, stack, by_requests=options.by_requests)
        if aim.record is not None:
            entered.callback(aim.record.close)
        yield aim


@contextmanager
def nodes_for(options: Options, aim: Target, fleet: FleetOptions) -> Iterator[None]:
    """Passive nodes around a block; of a server that has its own, as many must be ready.

    Raises WrongCount.
    """
    if not options.has_nodes:
        with passive(aim, fleet):
            yield
        return
    with closing(aim.connect()) as connection:
        ready = [node for node in connection.get("/v1/nodes") if node["Status"] == "ready"]
    if len(ready) < fleet.nodes:
        raise WrongCount(f"{aim.address} has {len(ready)} ready nodes, not {fleet.nodes}")
    yield


def passive(aim: Target, fleet: FleetOptions) -> PassiveFleet:
    """A fleet of nodes that only register and beat."""
    return PassiveFleet(aim.address, aim.join_token, fleet)


def require(figure: str, found: int, wanted: int) -> None:
    """Raises WrongCount unless the two are the same."""
    if found != wanted:
        raise WrongCount(f"{figure}: {found}, not {wanted}")


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
