"""Where a lane of a story leads: its evaluations, jobs, nodes, what was tried again in it.

In: a Whole. Out: for each row of its table the links that name what is in it. Only what the story
shows anyway is named.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from cluster.page_addresses import job_url
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.story_lanes import lane_anchor
from dashboard.stories.lanes import LaneRow
from dashboard.stories.whole import Whole
from dashboard.wording import natural, short_id
from scheduler.structs.identity import JobKey

#: Evaluations, jobs and nodes that a row names; the rest is counted.
NAMED = 3


class LaneLink(NamedTuple):
    """A name, where it leads, and its whole id where the name is cut."""

    word: str
    url: str
    title: str = ""


class Retried(msgspec.Struct, frozen=True, kw_only=True):
    """An allocation that took several tries."""

    name: str
    url: str
    tries: int
    node: LaneLink | None = None


class LinkedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row with what it names."""

    row: LaneRow
    #: The id that its lane in the drawing leads to.
    anchor: str
    #: Its evaluations as a table; empty where it has none.
    table_url: str = ""
    #: All of them where they are few, else none.
    evaluations: tuple[LaneLink, ...] = ()
    jobs: tuple[LaneLink, ...] = ()
    more_jobs: int = 0
    nodes: tuple[LaneLink, ...] = ()
    more_nodes: int = 0
    again: tuple[Retried, ...] = ()
    more_again: int = 0


def plain_rows(rows: Sequence[LaneRow]) -> list[LinkedRow]:
    """Rows of what never was in the record: they lead nowhere."""
    return [LinkedRow(row=row, anchor=lane_anchor(row.key)) for row in rows]


def linked_rows(whole: Whole, tables: Mapping[str, str]) -> list[LinkedRow]:
    """Every row; `tables`: by the key of a lane, where its evaluations are a table."""
    spaces = _Spaces(whole)
    members = {lane.key: lane.members for lane in whole.lanes.lanes}
    places = whole.places.of_node if whole.places is not None else {}
    linked = []
    for row in whole.lanes.rows:
        inside = members.get(row.key, ())
        keys = spaces.jobs_of(inside)
        named = sorted(
            (whole.names[node_id], node_id)
            for node_id, place in places.items()
            if place == row.title and node_id in whole.names
        )
        nodes = [
            LaneLink(name, f"/nodes/{node_id}/")
            for name, node_id in sorted(named, key=lambda pair: natural(pair[0]))
        ]
        count = sum(place == row.title for place in places.values())
        # One more than are named: then none is.
        first = list(islice((each for each in inside if each.href), NAMED + 1))
        made = [LaneLink(short_id(each.id), each.href, each.id) for each in first]
        linked.append(
            LinkedRow(
                row=row,
                anchor=lane_anchor(row.key),
                table_url=tables.get(row.key, "") if inside else "",
                evaluations=tuple(made) if len(made) <= NAMED else (),
                jobs=tuple(LaneLink(key.job_id, job_url(key)) for key in keys[:NAMED]),
                more_jobs=max(len(keys) - NAMED, 0),
                nodes=tuple(nodes[:NAMED]),
                more_nodes=max(count - min(len(nodes), NAMED), 0),
                again=tuple(_retried(row)),
                more_again=max(len(row.again) - NAMED, 0),
            )
        )
    return linked


class _Spaces:
    """In which namespaces the jobs of a story are; mostly it is one."""

    def __init__(self, whole: Whole) -> None:
        faces = whole.gathered.faces
        self._all = {face.namespace for face in faces}
        self._of = {face.id: face.namespace for face in faces} if len(self._all) > 1 else {}

    def jobs_of(self, members: Sequence[ChainMember]) -> list[JobKey]:
        """Each job of these once, in their order."""
        if len(self._all) == 1:
            (space,) = self._all
            return [JobKey(space, job) for job in {each.job: None for each in members}]
        named = {(self._of.get(each.id, ""), each.job): None for each in members}
        return [JobKey(*key) for key in named if key[0]]


def _retried(row: LaneRow) -> list[Retried]:
    worst = sorted(row.again, key=lambda pair: (-pair[1], natural(pair[0].name)))
    return [
        Retried(
            name=alloc.name,
            url=f"/allocations/{alloc.id}/",
            tries=tries,
            node=LaneLink(alloc.node_name, f"/nodes/{alloc.node_id}/")
            if alloc.node_name
            else None,
        )
        for alloc, tries in worst[:NAMED]
    ]
