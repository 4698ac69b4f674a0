"""The lanes of a loss or a drain by where its nodes stand: racks, else classes, else datacenters.

In: the nodes of a story, its evaluations. Out: a lane and a row for each place, worst off first.
An evaluation stands where the node stands that its cause names, or that of the one before it; one
of a drain may be about several nodes of its job, and names one of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import NodePlace, RecordReader
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.story_lanes import StoryLane
from dashboard.stories.lanes import LaneRow, Told, degree_of, done_told, work_of
from dashboard.topology import rack_keys, rack_label
from dashboard.wording import count_of, natural
from dashboard.work_words import done_sentence
from scheduler.state.story_nouns import STORY_NODES
from scheduler.structs.evaluation import CauseKind
from scheduler.structs.story import Story, StoryKind

#: Stories that are told by place as well.
OF_NODES = frozenset({StoryKind.LOSS, StoryKind.DRAIN, StoryKind.RETURN})
#: What a lane stands for, and where a node without it stands.
_WITHOUT = {
    "rack": gettext_noop("no rack"),
    "class": gettext_noop("no class"),
    "datacenter": gettext_noop("no datacenter"),
}
_GONE = gettext_noop("nodes that are gone")
_NAMES_NODE = (CauseKind.NODE.value, CauseKind.DRAIN.value)
#: Worst first; whatever else there is has settled.
_DEGREES = ("failed", "blocked", "moving", "done")
_STATES = {"failed": "failed", "blocked": "held-up", "moving": "running"}
_TONES = {"failed": "failed", "blocked": "blocked"}


class StoryPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where the nodes of a story stand."""

    #: `rack`, `class` or `datacenter`: the first of them that any of the nodes has.
    word: str
    of_node: Mapping[str, str]

    def nodes_in(self) -> Counter[str]:
        """How many of the nodes stand in each."""
        return Counter(self.of_node.values())


def places_of(reader: RecordReader, story: Story) -> StoryPlaces:
    """In two reads, whatever their number."""
    links = [link.node_id for link in reader.list_by(STORY_NODES, "story", story.id)]
    return placed(links, reader.node_places(rack_keys(), story.id))


def placed(node_ids: Iterable[str], known: Sequence[NodePlace]) -> StoryPlaces:
    """The same of nodes that were read."""
    label = rack_label(known)
    if label >= 0:
        word, told = "rack", {node.id: node.labels[label] for node in known}
    elif any(node.node_class for node in known):
        word, told = "class", {node.id: node.node_class for node in known}
    else:
        word, told = "datacenter", {node.id: node.datacenter for node in known}
    return StoryPlaces(
        word=word,
        of_node={
            node_id: (told[node_id] or gettext(_WITHOUT[word]))
            if node_id in told
            else gettext(_GONE)
            for node_id in node_ids
        },
    )


def nodes_behind(faces: Iterable[EvaluationFace]) -> dict[str, str]:
    """By evaluation, the node that its cause names, or that of the one it follows."""
    found: dict[str, str] = {}
    for face in faces:
        named = face.cause_id if face.cause_kind in _NAMES_NODE else ""
        node_id = named or found.get(face.previous_eval, "")
        if node_id:
            found[face.id] = node_id
    return found


def place_lanes(
    places: StoryPlaces, faces: Sequence[EvaluationFace], members: Sequence[ChainMember]
) -> Told:
    """A lane for each place with evaluations; a row for every place."""
    behind = nodes_behind(faces)
    inside: dict[str, list[ChainMember]] = {name: [] for name in places.nodes_in()}
    for member in members:
        node_id = behind.get(member.id, "")
        # What names no node that is known is told, and not put anywhere.
        inside.setdefault(places.of_node.get(node_id, gettext(_GONE)), []).append(member)
    counts = places.nodes_in()
    order = sorted(inside, key=lambda name: (_DEGREES.index(_degree(inside[name])), natural(name)))
    lanes = [_lane(name, inside[name], counts[name]) for name in order if inside[name]]
    return Told(
        lanes=tuple(lanes), rows=tuple(_row(name, inside[name], counts[name]) for name in order)
    )


def _degree(members: Sequence[ChainMember]) -> str:
    """How badly the worst job of a place is off."""
    by_job: dict[str, list[ChainMember]] = {}
    for member in members:
        by_job.setdefault(member.job, []).append(member)
    degrees = {degree_of(own) for own in by_job.values()}
    return next((each for each in _DEGREES if each in degrees), "done")


def _jobs(members: Sequence[ChainMember]) -> int:
    return len({member.job for member in members})


def _lane(name: str, members: Sequence[ChainMember], nodes: int) -> StoryLane:
    nodes_told = f"{count_of(nodes, '{count} node', '{count} nodes')}, " if nodes else ""
    subs = [
        f"{nodes_told}{count_of(_jobs(members), '{count} job', '{count} jobs')}",
        done_told(members),
    ]
    return StoryLane(
        key=_key(name), title=name, subs=tuple(sub for sub in subs if sub),
        tone=_TONES.get(_degree(members), ""), members=tuple(members),
    )  # fmt: skip


def _key(name: str) -> str:
    return f"place {name}"


def _row(name: str, members: Sequence[ChainMember], nodes: int) -> LaneRow:
    degree = _degree(members)
    done = done_sentence(work_of(members))
    told = [count_of(nodes, "{count} node.", "{count} nodes.")] if nodes else []
    told += [done] if done else []
    told += [] if members else [gettext("No evaluation was needed.")]
    return LaneRow(
        key=_key(name), title=name, state=_STATES.get(degree, "done"), evaluations=len(members),
        jobs=_jobs(members), is_running=degree in ("blocked", "moving"), told=" ".join(told),
    )  # fmt: skip
