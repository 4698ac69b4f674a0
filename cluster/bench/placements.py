"""Whether what was placed is right: as many as asked, none twice, no node given more than it has.

In: sums of a record, or of what `/v1` lists. Out: how many are placed, or WrongCount with the
first of what is wrong.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from cluster.bench.record_beside import RecordBeside
from cluster.bench.scenario import WrongCount
from cluster.bench.target import Target

#: Of what is wrong, so many are named.
_NAMED = 3
#: What the scheduler counts as taken: all that its node has not ended.
_ENDED = ("complete", "failed", "lost")

_JOBS = (
    "SELECT job_id, count(*), count(DISTINCT name), count(DISTINCT node_id)"
    " FROM allocation WHERE desired_status = 'run'"
    " AND client_status NOT IN ('complete', 'failed', 'lost') GROUP BY job_id"
)
_USE = (
    "SELECT node_id, sum(cpu_mhz), sum(memory_mb) FROM allocation"
    " WHERE client_status NOT IN ('complete', 'failed', 'lost') GROUP BY node_id"
)
_ROOM = "SELECT id, cpu_mhz, memory_mb FROM node"


@dataclass(frozen=True, slots=True)
class Size:
    """What a node has, or what is taken of it."""

    mhz: int
    mb: int

    def is_within(self, room: "Size") -> bool:
        """Neither is more."""
        return self.mhz <= room.mhz and self.mb <= room.mb


@dataclass(frozen=True)
class Placements:
    """All that is to run and has not ended."""

    #: By job, how many, how many names they have, on how many nodes they are.
    jobs: Mapping[str, tuple[int, int, int]]
    #: By node.
    taken: Mapping[str, Size]
    room: Mapping[str, Size]


def check_placements(aim: Target, wanted: Mapping[str, int], *, one_per_node: bool = False) -> int:
    """Check the jobs in `wanted`, which says how many each must have, and all nodes; how many.

    Those of a system job share a name, and there is one on a node. Raises WrongCount.
    """
    found = _of_record(aim.record) if aim.record is not None else _of_answers(aim)
    return check(found, wanted, one_per_node=one_per_node)


def check(found: Placements, wanted: Mapping[str, int], *, one_per_node: bool = False) -> int:
    """As `check_placements`, of what was found."""
    have = {job: found.jobs.get(job, (0, 0, 0)) for job in wanted}
    unlike = 2 if one_per_node else 1
    _refuse("placed twice", [job for job, counts in have.items() if counts[unlike] < counts[0]])
    _refuse(
        "jobs with another number of allocations than asked",
        [f"{job}: {have[job][0]}, not {count}" for job, count in wanted.items()
         if have[job][0] != count],
    )  # fmt: skip
    _refuse("used, but not there", sorted(found.taken.keys() - found.room.keys()))
    over = [node for node, taken in found.taken.items() if not taken.is_within(found.room[node])]
    _refuse("given more than they have", over)
    return sum(counts[0] for counts in have.values())


def _refuse(what: str, found: list[str]) -> None:
    if found:
        some = ", ".join(found[:_NAMED])
        raise WrongCount(f"{what}: {some}{' and others' if len(found) > _NAMED else ''}")


def _of_record(record: RecordBeside) -> Placements:
    jobs = {str(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in record.rows(_JOBS)}
    return Placements(jobs, _amounts(record.rows(_USE)), _amounts(record.rows(_ROOM)))


def _of_answers(aim: Target) -> Placements:
    with closing(aim.connect()) as connection:
        allocs = connection.get("/v1/allocations?resources=true&namespace=*")
        nodes = connection.get("/v1/nodes?resources=true")
    return of_answers(allocs, nodes)


def of_answers(allocs: Iterable[Any], nodes: Iterable[Any]) -> Placements:
    """What lists of `/v1`, asked for with resources, say."""
    counts: Counter[str] = Counter()
    names: dict[str, set[str]] = {}
    nodes_of: dict[str, set[str]] = {}
    mhz: Counter[str] = Counter()
    mb: Counter[str] = Counter()
    for alloc in allocs:
        if alloc["ClientStatus"] in _ENDED:
            continue
        if alloc["DesiredStatus"] == "run":
            counts[alloc["JobID"]] += 1
            names.setdefault(alloc["JobID"], set()).add(alloc["Name"])
            nodes_of.setdefault(alloc["JobID"], set()).add(alloc["NodeID"])
        for task in alloc["AllocatedResources"]["Tasks"].values():
            mhz[alloc["NodeID"]] += task["Cpu"]["CpuShares"]
            mb[alloc["NodeID"]] += task["Memory"]["MemoryMB"]
    return Placements(
        {job: (count, len(names[job]), len(nodes_of[job])) for job, count in counts.items()},
        {node: Size(mhz[node], mb[node]) for node in mhz},
        {node["ID"]: _usable(node) for node in nodes},
    )


def _usable(node: Any) -> Size:
    has, kept = node["NodeResources"], node["ReservedResources"]
    return Size(
        has["Cpu"]["CpuShares"] - kept["Cpu"]["CpuShares"],
        has["Memory"]["MemoryMB"] - kept["Memory"]["MemoryMB"],
    )


def _amounts(rows: Iterable[tuple[Any, ...]]) -> dict[str, Size]:
    return {str(node): Size(int(mhz), int(mb)) for node, mhz, mb in rows}
