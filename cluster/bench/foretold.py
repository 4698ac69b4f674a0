"""Scenario foretold: of the places that rehearsals name, how many are those then really taken.

In: options. Out: a cluster of real processes with simulated agents, and a hundred changes by
chance: drains of one node and of several, updates, scalings, stops. Each is rehearsed and then
done; compared are, of each group, the nodes that were named and those that were taken. First on
a cluster at rest, then right after jobs were started, when nobody knows yet whether they are well.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cluster.bench.connection import Connection
from cluster.bench.fleet_cost import count_ready, simulated_fleet
from cluster.bench.foretold_changes import NODES, Changes, DrawnChange
from cluster.bench.scenario import Figures, Options, WrongCount, target
from cluster.bench.target import NotSettled, Target
from cluster.runtime.clock import SystemClock

_CHANGES = 100
#: Of those right after a start: they take longer.
_UNSETTLED = 25
#: At rest: nothing was to be done for so long; and waited for at most so long, seconds.
_STILL_S, _LIMIT_S = 2.5, 180.0
_LOOK_S = 0.25
#: Percent of the places.
_FORETOLD = 99.0
_CLOCK = SystemClock()

Place = tuple[str, str]


@dataclass
class NamedAndTaken:
    """One change: what was named, and what came."""

    deed: DrawnChange
    named: Counter[Place]
    taken: Counter[Place]
    #: The rehearsal's result, and the index before the change.
    result: dict[str, Any] = field(default_factory=dict)
    index: int = 0

    @property
    def right(self) -> int:
        """Places that are the same."""
        return (self.named & self.taken).total()

    @property
    def places(self) -> int:
        """Places of which there is something to compare."""
        return max(self.named.total(), self.taken.total())


def run(options: Options) -> Figures:
    """Rehearse and do; raises WrongCount where a rehearsal fails or nothing moved at all."""
    with target(options) as aim, simulated_fleet(aim, NODES):
        aim.until(lambda: count_ready(aim) == NODES, f"{NODES} ready nodes", 120)
        figures: Figures = {"workers": float(options.workers)}
        for name, many in (("rest", _CHANGES), ("start", _UNSETTLED)):
            if options.only in name:
                found = list(compared(aim, name, options.scaled(many)))
                figures |= _figures(name, found)
    return figures


def over(figures: dict[str, float]) -> list[str]:
    """Where fewer places were named than must be."""
    return [
        f"{name}: {value:.1f}, at least {_FORETOLD:g}"
        for name, value in figures.items()
        if name.endswith("_percent") and value < _FORETOLD
    ]


def compared(aim: Target, kind: str, many: int, seed: int = 1) -> Iterator[NamedAndTaken]:
    """So many changes, one after another, at rest or right after a start."""
    with closing(aim.connect()) as connection:
        changes = Changes(connection, np.random.default_rng(seed))
        changes.start(kind)
        until_still(connection)
        for _ in range(many):
            if kind == "start":
                changes.start_some()
            else:
                until_still(connection)
            yield _one(connection, changes.draw())
            until_still(connection)
            changes.tidy_up()


def _one(connection: Connection, deed: DrawnChange) -> NamedAndTaken:
    before = {alloc["ID"] for alloc in _live(connection)}
    result = _rehearsed(connection, deed.change)
    named = Counter(
        (each["JobID"], each["ToNodeName"]) for each in result["Allocations"] if each["ToNodeName"]
    )
    index = connection.index
    deed.do(connection)
    until_still(connection)
    new = [alloc for alloc in _live(connection) if alloc["ID"] not in before]
    taken = Counter((alloc["JobID"], alloc["NodeName"]) for alloc in new)
    return NamedAndTaken(deed, named, taken, result, index)


def _figures(kind: str, found: list[NamedAndTaken]) -> Figures:
    places, right = sum(each.places for each in found), sum(each.right for each in found)
    if not places:
        raise WrongCount("nothing was placed")
    figures: Figures = {
        f"{kind}_changes": float(len(found)),
        f"{kind}_places": float(places),
        f"{kind}_as_named": float(right),
        f"{kind}_percent": 100.0 * right / places,
    }
    for name in sorted({each.deed.name for each in found}):
        some = [each for each in found if each.deed.name == name]
        figures[f"{kind}_{name}_places"] = float(sum(each.places for each in some))
        figures[f"{kind}_{name}_as_named"] = float(sum(each.right for each in some))
    return figures


def _live(connection: Connection) -> list[dict[str, Any]]:
    found = connection.get("/v1/allocations?namespace=*")
    return [
        alloc
        for alloc in found
        if alloc["DesiredStatus"] == "run" and alloc["ClientStatus"] in ("pending", "running")
    ]


def _rehearsed(connection: Connection, change: dict[str, Any]) -> dict[str, Any]:
    asked, index = connection.put("/v1/rehearsals", {"Changes": [change]}), 0
    while True:
        found = connection.get(f"/v1/rehearsal/{asked['ID']}?index={index}&wait=30s")
        if found["Status"] not in ("waiting", "running"):
            break
        index = connection.index
    if found["Status"] != "complete":
        raise WrongCount(f"a rehearsal ended as {found['Status']}: {found}")
    result: dict[str, Any] = found["Result"]
    return result


def until_still(connection: Connection) -> None:
    """Wait until nothing moves, and nothing has for a while. Raises NotSettled."""
    began = still_since = _CLOCK.monotonic()
    while True:
        moving = _moving(connection)
        now = _CLOCK.monotonic()
        if moving:
            still_since = now
        elif now - still_since >= _STILL_S:
            return
        if now - began > _LIMIT_S:
            raise NotSettled(f"not within {_LIMIT_S:g} s: {moving}")
        time.sleep(_LOOK_S)


def _moving(connection: Connection) -> str:
    """What is on its way, in words; empty: nothing."""
    if connection.get('/v1/evaluations/count?filter=Status+==+"pending"')["Count"]:
        return "pending evaluations"
    if any(node["Drain"] for node in connection.get("/v1/nodes")):
        return "a drain"
    if any(each["Status"] == "running" for each in connection.get("/v1/deployments")):
        return "a rollout"
    for alloc in connection.get("/v1/allocations?namespace=*"):
        ended = alloc["ClientStatus"] not in ("pending", "running")
        if alloc["DesiredStatus"] != "run":
            if not ended:
                return f"{alloc['Name']} stops"
        elif not ended and (alloc.get("DeploymentStatus") or {}).get("Healthy") is None:
            return f"{alloc['Name']} is not judged"
    return ""
