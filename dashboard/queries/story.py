"""A story's page: what happened, told whole, as it is or as it was at an index.

In: a reader, a story's id, how it is to be shown. Out: the context of `story.html` and of its
panels, in a number of reads that does not grow with the story.
"""

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.operations.story_rights import hidden_kinds, levels_of
from cluster.store.ports import Namespaces, RecordReader
from dashboard.chains import Chain
from dashboard.outcomes import short_outcome, waiting_for
from dashboard.queries.progress import took
from dashboard.queries.replay import replayed
from dashboard.queries.story_chosen import chosen_context
from dashboard.queries.story_facts import rollout_context
from dashboard.queries.story_losses import losses_context
from dashboard.queries.timeline import timeline_context
from dashboard.queries.topology import shown_map
from dashboard.rights import NODE_READ
from dashboard.stories.cells import cells_of
from dashboard.stories.heat import fleet_then, forgotten_told
from dashboard.stories.lane_choice import BY_PLACE, WORST, LaneChoice
from dashboard.stories.lane_links import linked_rows
from dashboard.stories.names import KINDS, cause_of, file_name, nodes_told, title_of
from dashboard.stories.places import OF_NODES
from dashboard.stories.rehearsed import Compared, compared
from dashboard.stories.told import outcome_of, standing_of
from dashboard.stories.tree import story_tree
from dashboard.stories.whole import Whole, counted, later_told, past_told, whole_of
from dashboard.subscription import topic_text
from dashboard.topology_view import TopologyView
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.why_waiting import why_it_waits
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.story import Story

#: Rows of the table; the graph folds, and the files tell every one.
MAX_ROWS = 300
#: Of what waits, so many are told one by one.
MAX_WAITING = 12
#: Heading of the rows of lanes, and of their first column.
_LANES_ARE = {
    "rack": (gettext_noop("Racks, worst off first"), "Rack"),
    "class": (gettext_noop("Classes, worst off first"), "Class"),
    "datacenter": (gettext_noop("Datacenters, worst off first"), "Datacenter"),
}
_BY_HARM = (gettext_noop("Jobs, worst off first"), gettext_noop("How they are"))
#: What lanes may stand for.
LANES = ("", BY_PLACE)
VIEWS = {"lanes": "Lanes", "timeline": "Timeline", "list": "List", "table": "Table"}


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """How a story is looked at."""

    view: str = "lanes"
    #: An index of the past; None: now.
    at: int | None = None
    #: The fold whose members are drawn each.
    opened: str = ""
    #: `place`: lanes by where nodes stand.
    by: str = ""
    #: The lane whose evaluations alone the table has.
    lane: str = ""
    #: The evaluation of which more is told; "": the worst one.
    chosen: str = ""

    @property
    def lanes(self) -> LaneChoice:
        """Which lanes, and which fold is open."""
        return LaneChoice(self.opened, self.by, self.chosen or WORST)

    def address(self, **changes: str) -> str:
        """The same page with these fields changed."""
        fields = {
            "view": "" if self.view == "lanes" else self.view,
            "by": self.by,
            "lane": self.lane if self.view == "table" else "",
            "open": self.opened,
            "eval": self.chosen,
            "at": "" if self.at is None else str(self.at),
        }
        return "?" + urlencode({key: text for key, text in (fields | changes).items() if text})


def story_page(
    reader: RecordReader, viewer: Viewer, *, story_id: str, shown: Shown
) -> dict[str, Any]:
    """The context of the page; raises Absent for a story that may not be seen."""
    story, namespaces = story_for(reader, viewer, story_id)
    whole = whole_of(
        reader, story, viewer.now, namespaces=namespaces, at=shown.at, how=shown.lanes
    )
    may = viewer.may_in(story.namespace) | viewer.may_with_nodes & {NODE_READ}
    key = f"{story.id}/{shown.lanes.text}" if shown.lanes.text else story.id
    return {
        **story_panel(reader, whole, shown, may),
        "views": [
            {
                "word": word,
                "url": shown.address(view="" if name == "lanes" else name, lane=""),
                "is_current": name == shown.view,
            }
            for name, word in VIEWS.items()
        ],
        "crumbs": crumbs(
            ("Evaluations", "/evaluations/"),
            ("Stories", "/stories/"),
            (title_of(story, whole.names).plain, ""),
        ),
        # The past does not change: nothing is followed.
        "live_topics": topic_text("story", key) if shown.at is None else "",
        "file": f"/stories/{story.id}",
        "file_name": file_name(story, whole.names),
        "file_query": "" if shown.at is None else f"?at={shown.at}",
        "close_url": shown.address(open=""),
        "lane_choices": _lane_choices(whole, shown),
        "timeline_now_url": shown.address(at=""),
        "heat": _heat(reader, whole) if viewer.access.reads("node") else None,
        **_viewed(reader, whole, shown),
    }


def _heat(reader: RecordReader, whole: Whole) -> dict[str, Any] | None:
    """All nodes as they were, at a moment of the past."""
    past = whole.gathered.past
    if past is None:
        return None
    then = fleet_then(reader, past.index, past.at)
    drawn = shown_map(then.nodes, TopologyView())
    totals = drawn["map"].totals
    lost = totals.lost == totals.nodes
    return {
        "nodes": totals.nodes,
        "told": ", ".join(
            [
                *(
                    []
                    if lost
                    else [
                        gettext("memory {memory_share} % allocated").format(
                            memory_share=totals.memory_share
                        )
                    ]
                ),
                *totals.apart,
            ]
        ),
        "forgotten": forgotten_told(then),
        "measure_word": drawn["measure_word"],
        "place_racks": drawn["place_racks"],
    }


def _lane_choices(whole: Whole, shown: Shown) -> list[dict[str, Any]]:
    """By job or by place, of stories of nodes."""
    if whole.story.kind not in OF_NODES or shown.view not in ("lanes", "list"):
        return []
    word = whole.places.word if whole.places is not None else "place"
    return [
        {"word": told, "url": shown.address(by=by, open=""), "is_current": shown.by == by}
        for by, told in (
            ("", gettext("By job")),
            (BY_PLACE, gettext("By {word}").format(word=word)),
        )
    ]


def story_for(reader: RecordReader, viewer: Viewer, story_id: str) -> tuple[Story, Namespaces]:
    """The story and the namespaces whose evaluations it may show; raises Absent."""
    story = reader.story(story_id)
    if story is None or not may_see(story, viewer.namespaces, levels_of(viewer.access)):
        raise Absent
    return story, viewer.namespaces


def story_panel(
    reader: RecordReader, whole: Whole, shown: Shown, may: Collection[str] = ()
) -> dict[str, Any]:
    """What page and frames tell of a story, and offer to whoever `may` do it."""
    story, facts, track = whole.story, whole.facts, whole.track
    names = whole.names
    until = facts.ended or whole.gathered.at
    return {
        "story": story,
        "title": title_of(story, names),
        "kind": KINDS[story.kind],
        "cause": cause_of(story, names),
        "facts": facts,
        "standing": standing_of(facts),
        "outcome": outcome_of(facts),
        "lasted": max(until - story.create_time, 0),
        "graph": whole.graph,
        "counted": counted(facts, whole.graph),
        "tree": story_tree(whole.folded),
        "lanes": linked_rows(whole, _tables(whole, shown)),
        "lanes_are": tuple(
            map(gettext, _LANES_ARE.get(whole.places.word if whole.places else "", _BY_HARM))
        ),
        "past": whole.gathered.past,
        "later": whole.gathered.later,
        "past_told": past_told(whole),
        "later_told": later_told(whole),
        "waits": _waits(whole, shown),
        "more_waits": max(facts.blocked - MAX_WAITING, 0),
        "compared": _beside_rehearsal(reader, whole, may),
        "deployment": whole.rollout.deployment if whole.rollout is not None else None,
        "at_once": whole.rollout.at_once if whole.rollout is not None else 0,
        "cells": cells_of(whole),
        "nodes": [{"id": key, "name": name} for key, name in names.items()],
        "more_nodes": nodes_told(story),
        "page_index": reader.index,
        "shown": shown,
        "track": track,
        "now_url": shown.address(at="") or "?",
        **(replayed(track, lambda at: shown.address(at=str(at))) if track is not None else {}),
        "may": may,
        **rollout_context(reader, whole),
        **losses_context(reader, whole),
        **chosen_context(
            reader, whole, may, lambda key: f"{shown.address(eval=key)}#story-chosen"
        ),
    }


def _tables(whole: Whole, shown: Shown) -> dict[str, str]:
    """By lane, the address of its evaluations as a table."""
    return {
        lane.key: shown.address(view="table", lane=lane.key, open="") for lane in whole.lanes.lanes
    }


def _beside_rehearsal(reader: RecordReader, whole: Whole, may: Collection[str]) -> Compared | None:
    """Where each allocation went beside where it was rehearsed to go; of the past nothing."""
    if whole.gathered.past is not None or NODE_READ not in may:
        return None
    namespaces = whole.gathered.namespaces
    return compared(reader, whole.story, namespaces, is_over=not whole.facts.is_open)


def _waits(whole: Whole, shown: Shown) -> list[dict[str, Any]]:
    """What waits for room, oldest first, and why."""
    rows = []
    for item in whole.blocked[:MAX_WAITING]:
        count, lacking = waiting_for(item)
        rows.append(
            {
                "evaluation": item,
                "is_chosen": whole.chosen is not None and whole.chosen.id == item.id,
                "url": f"{shown.address(eval=item.id)}#story-chosen",
                "count": count,
                "lacking": lacking or "room",
                "why": why_it_waits(item),
            }
        )
    return rows


def _viewed(reader: RecordReader, whole: Whole, how: Shown) -> dict[str, Any]:
    """What only one way of looking needs."""
    if how.view == "table":
        return _rows(reader, whole, how)
    if how.view == "timeline" and whole.gathered.past is None:
        shown = _newest(reader, whole)
        chain = Chain({item.id: item for item in shown}, {})
        return timeline_context(reader, chain, eval_id="", now=whole.gathered.at)
    return {}


def _newest(reader: RecordReader, whole: Whole) -> list[Evaluation]:
    ids = [face.id for face in whole.gathered.faces if not face.is_stub][-MAX_ROWS:]
    return reader.evaluations_among(ids)


def _rows(reader: RecordReader, whole: Whole, how: Shown) -> dict[str, Any]:
    lane = next((each for each in whole.lanes.lanes if each.key == how.lane), None)
    faces = whole.gathered.faces
    if lane is not None:
        inside = {member.id for member in lane.members}
        faces = tuple(face for face in faces if face.id in inside)
    shown = [face for face in faces if not face.is_stub][-MAX_ROWS:]
    known = whole.gathered.evaluations
    missing = [face.id for face in shown if face.id not in known]
    bodies = known | {item.id: item for item in reader.evaluations_among(missing)}
    newest = reader.newest_steps_of([face.id for face in shown])
    members = {face.id: whole.gathered.member(face) for face in shown}
    return {
        "rows": [
            {
                "evaluation": bodies[face.id],
                "state": members[face.id].state,
                "is_selected": False,
                "made_by": bodies[face.id].previous_eval or members[face.id].cause_eval,
                "event": " ".join(members[face.id].event_lines[:2]),
                "told": short_outcome(bodies[face.id]),
                "took": took(bodies[face.id], newest.get(face.id)),
            }
            for face in shown
            if face.id in bodies
        ],
        "hidden": len(faces) - len(shown),
        "lane_shown": lane,
        "lane_count": len(faces),
        "all_lanes_url": how.address(lane=""),
    }


def may_see(story: Story, namespaces: Namespaces, levels: Collection[str]) -> bool:
    """Whether a story exists for somebody: by its namespace, or as one of the cluster's."""
    if not story.namespace:
        return story.kind not in hidden_kinds(levels)
    return namespaces is None or story.namespace in namespaces
