"""One scenario by turns on two servers or two databases, and the figures side by side.

In: a scenario that asks nothing but `/v1`, and the address of another server that speaks it; or a
PostgreSQL, beside SQLite. Out: runs of both by turns, so that what else happens on the machine
befalls both.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from cluster.bench.scenario import Figures, Options

Scenario = Callable[[Options], Figures]


def run_beside(
    scenario: Scenario, options: Options, address: str, runs: int
) -> tuple[list[Figures], list[Figures]]:
    """Ours, then the other, so many times. Nodes must be there already at `address`."""
    mine = replace(options, by_requests=True)
    return _by_turns(scenario, mine, replace(mine, address=address, has_nodes=True), runs)


def run_on_both(
    scenario: Scenario, options: Options, runs: int
) -> tuple[list[Figures], list[Figures]]:
    """On PostgreSQL as the options name it, then on SQLite, so many times."""
    file = replace(options, database="", environment={**options.environment, "DATABASE_URL": ""})
    return _by_turns(scenario, options, file, runs)


def _by_turns(
    scenario: Scenario, first: Options, second: Options, runs: int
) -> tuple[list[Figures], list[Figures]]:
    pairs = [(scenario(first), scenario(second)) for _ in range(runs)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def ratios(mine: Sequence[Figures], other: Sequence[Figures]) -> Figures:
    """Medians of ours over medians of the other's, of every figure that both have."""
    found: Figures = {}
    for name in mine[0]:
        if name in other[0] and (below := median(run[name] for run in other)):
            found[name] = median(run[name] for run in mine) / below
    return found


def side_by_side(
    mine: Sequence[Figures],
    other: Sequence[Figures],
    address: str,
    names: tuple[str, str] = ("ours", "other"),
) -> str:
    """A table for people: medians of both, and how many times ours is the other's."""
    shares = ratios(mine, other)
    rows = [("figure", names[0], address, " / ".join(names))]
    for name, share in shares.items():
        first, second = (median(run[name] for run in runs) for runs in (mine, other))
        rows.append((name.replace("_", " "), f"{first:,.4g}", f"{second:,.4g}", f"{share:.3g}"))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(row[n].rjust(widths[n]) for n in range(1, 4))])
        for row in rows
    )
