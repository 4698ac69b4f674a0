"""What every scenario is given, and what it hands back.

In: options of the command. Out: a fresh cluster with a fleet around a block, and plain figures.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

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
    environment: Mapping[str, str] = field(default_factory=dict)

    def scaled(self, full: int) -> int:
        """This many, at this scale; at least one."""
        return max(1, round(full * self.scale))


@contextmanager
def target(options: Options) -> Iterator[Target]:
    """The cluster to measure, of its own or named by the options."""
    if options.address:
        token, join = os.environ.get("BIVOUAC_TOKEN", ""), os.environ.get("BIVOUAC_JOIN_TOKEN", "")
        yield Target(options.address, token, join)
        return
    with Stack(workers=options.workers, environment=options.environment) as stack:
        join = (stack.data_dir / "join-token").read_text().strip()
        yield Target(stack.address, stack.token, join, stack)


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
