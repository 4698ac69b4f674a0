"""What a node keeps of tasks once all of them were taken away: nothing.

In: a rig whose jobs may still run. Out: all of them purged and their files collected; WrongCount
names each process, control group, mount, network, directory that is left (node-agent.md 13).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cluster.agent.drivers.driver import RUNS
from cluster.agent.networks.namespaces import DIRECTORY
from cluster.agent.secret_mounts import mounts_below
from cluster.bench.agent_rig import Rig
from cluster.bench.scenario import WrongCount


def require_nothing_left(rig: Rig, limit_s: float = 60, seen: Iterable[str] = ()) -> None:
    """Purge every job, have the node collect, and look what is there. Raises WrongCount.

    `seen`: allocations that the record may have forgotten by now.
    """
    known = set(seen)

    def is_empty() -> bool:
        known.update(each["ID"] for each in rig.get("/v1/allocations"))
        rig.agent.know(known)
        rig.purge_all()
        return not remains(rig, known)

    try:
        rig.until(is_empty, "nothing is left", limit_s)
    except WrongCount:
        if left := remains(rig, known):
            raise WrongCount(f"left behind after {limit_s:g} s: {left}") from None


def remains(rig: Rig, known: set[str]) -> dict[str, Any]:
    """By kind, of these allocations or below the agent's directory; kinds without any left out."""
    census = rig.agent.census()
    found = {
        "beside tasks": sorted(census.keepers),
        "orphans": census.orphans,
        "control groups": sorted(census.groups),
        "mounts": [str(place) for place in mounts_below(rig.agent.directory / "alloc")],
        "directories": _directories(rig.agent.directory / "alloc"),
        "networks": [name for name in _namespaces() if any(each in name for each in known)],
    }
    return {kind: left for kind, left in found.items() if left}


def _directories(alloc_dir: Path) -> list[str]:
    kept = [path for path in alloc_dir.glob("*") if path.name != RUNS]
    return [str(path.relative_to(alloc_dir)) for path in (*kept, *alloc_dir.glob(f"{RUNS}/*"))]


def _namespaces() -> list[str]:
    return [path.name for path in DIRECTORY.glob("*")]
