"""A story's evaluations as shapes in lanes: equal ones folded, what needs a person never first.

In: lanes with their members. Out: per lane rows of shapes, at most `MOST_SHAPES` of them in all
until one fold is opened. Knows nothing of lines or places.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from dashboard.graphs.chain_places import ChainMember
from dashboard.texts import gettext

#: With an event or two and what may come next a drawing stays below 60.
MOST_SHAPES = 52
#: More lanes than this are joined into one.
MOST_LANES = 12
#: As many members of an opened fold are drawn each.
MOST_OPENED = 200
#: Equal ones fold from here on.
FOLD_FROM = 3
#: Rows of jobs that a lane keeps when rows are joined.
ROWS_KEPT = 4
#: What keeps a shape of its own as long as there is room for it, worst first.
_OPEN = ("failed", "blocked", "applying", "scheduling", "delayed", "pending")
_LEVELS = 5
_ONE_ROW = 3
#: Told of ten thousand members several times: a function of our own would take twice as long.
_age = attrgetter("created_at", "id")
_alike = attrgetter("state", "trigger")


class LaneEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What opened a lane: a person's act, a loss."""

    lines: tuple[str, ...]
    name: str
    href: str = ""


class StoryLane(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of a story, or a degree of harm, with what belongs to it."""

    key: str
    title: str
    #: Two short lines under the title.
    subs: tuple[str, ...] = ()
    #: A tone of labels.py; "" for a lane that needs nobody.
    tone: str = ""
    members: tuple[ChainMember, ...] = ()
    event: LaneEvent | None = None
    #: What is to come in it, where nothing is there yet.
    expects: str = ""
    #: A row for each job; else one row.
    is_by_job: bool = False

    @property
    def href(self) -> str:
        """Its row in the table below the drawing."""
        return f"#{lane_anchor(self.key)}"


class LaneShape(msgspec.Struct, frozen=True, kw_only=True):
    """One drawn node: an evaluation, or several that are alike."""

    key: str
    members: tuple[ChainMember, ...]
    #: How many jobs a row of it stands for.
    jobs: int = 1

    @property
    def first(self) -> ChainMember:
        """The one that was made first."""
        return self.members[0]

    @property
    def worst(self) -> ChainMember:
        """The one whose state it is drawn with."""
        first: dict[str, ChainMember] = {}
        for member in self.members:
            first.setdefault(member.state, member)
        return first[min(first, key=worst_first)]

    @property
    def is_folded(self) -> bool:
        """It stands for several."""
        return len(self.members) > 1


Rows = tuple[tuple[LaneShape, ...], ...]


class FoldedLanes(NamedTuple):
    """The lanes that are drawn, and by the key of each its rows."""

    lanes: tuple[StoryLane, ...]
    rows: Mapping[str, Rows]


def folded_lanes(
    lanes: Sequence[StoryLane], *, selected: str = "", opened: str = ""
) -> FoldedLanes:
    """At most `MOST_LANES`, their rows as `shapes_in` folds them."""
    drawn = joined(lanes)
    return FoldedLanes(tuple(drawn), shapes_in(drawn, selected=selected, opened=opened))


class StoryDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """What a story's graph is drawn from."""

    key: str
    title: str
    description: str
    lanes: tuple[StoryLane, ...]
    #: What all lanes come from; None where the lanes' own events say so.
    root: LaneEvent | None = None
    selected: str = ""
    #: The fold whose members are shown each.
    opened: str = ""
    #: Where a fold opens: its key follows.
    address: str = "?open="
    #: Where an evaluation is selected: its id stands between; empty where none can be.
    selects: tuple[str, str] = ("", "")

    def folded(self) -> FoldedLanes:
        """Its lanes as they are drawn."""
        return folded_lanes(self.lanes, selected=self.selected, opened=self.opened)


def worst_first(state: str) -> int:
    """The place of a state among the others, worst first; those that have ended well come last."""
    return _OPEN.index(state) if state in _OPEN else len(_OPEN)


def shapes_in(
    lanes: Sequence[StoryLane], *, selected: str = "", opened: str = ""
) -> dict[str, Rows]:
    """By lane, its rows: as fine as the number of shapes allows."""
    rows: dict[str, Rows] = {}
    for level in range(_LEVELS):
        rows = {lane.key: _rows(lane, level, selected) for lane in lanes}
        if sum(_drawn(row) for each in rows.values() for row in each) <= MOST_SHAPES:
            break
    return {key: tuple(_opened(row, opened) for row in each) for key, each in rows.items()}


def _drawn(row: tuple[LaneShape, ...]) -> int:
    """How many nodes a row takes, with what may come next after it."""
    return len(row) + (not row[-1].is_folded and bool(row[-1].first.expects))


def lane_anchor(key: str) -> str:
    """The id of a lane's row in the table below the drawing."""
    return "phase-" + "".join(char if char.isalnum() else "-" for char in key)


def joined(lanes: Sequence[StoryLane]) -> list[StoryLane]:
    """At most `MOST_LANES`: the later ones, less bad or further away, become one."""
    if len(lanes) <= MOST_LANES:
        return list(lanes)
    kept, rest = lanes[: MOST_LANES - 1], lanes[MOST_LANES - 1 :]
    members = tuple(member for lane in rest for member in lane.members)
    return [
        *kept,
        StoryLane(
            key="more",
            title=gettext("{rest} more").format(rest=len(rest)),
            subs=tuple(dict.fromkeys(lane.title for lane in rest))[:2],
            members=tuple(sorted(members, key=_age)),
            is_by_job=rest[0].is_by_job,
        ),
    ]


def _rows(lane: StoryLane, level: int, selected: str) -> Rows:
    if level >= _ONE_ROW or not lane.is_by_job:
        shapes = _shapes(lane, "", lane.members, level, selected)
        return (tuple(shapes),) if shapes else ()
    by_job: dict[str, list[ChainMember]] = {}
    for member in lane.members:
        by_job.setdefault(member.job, []).append(member)
    if level < 2 and len(by_job) < FOLD_FROM:
        return tuple(
            tuple(_shapes(lane, job, members, level, selected)) for job, members in by_job.items()
        )
    return tuple(_joined_rows(lane, by_job, level, selected))


def _joined_rows(
    lane: StoryLane, by_job: dict[str, list[ChainMember]], level: int, selected: str
) -> Iterator[tuple[LaneShape, ...]]:
    """A row for each job that needs somebody, and one for all that are alike."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for job, members in by_job.items():
        alike.setdefault(_signature(members), []).append(job)
    order = sorted(alike, key=lambda signature: min(worst_first(state) for state, _ in signature))
    kept = 0
    for signature in order:
        jobs = alike[signature]
        needs = any(state in ("failed", "blocked") for state, _ in signature)
        alone = jobs
        if len(jobs) >= FOLD_FROM and not (needs and level == 0):
            alone = jobs[: max(ROWS_KEPT - kept, 0)] if needs and level == 1 else []
        kept += len(alone)
        for job in alone:
            yield tuple(_shapes(lane, job, by_job[job], level, selected))
        rest = jobs[len(alone) :]
        if rest:
            members = [member for job in rest for member in by_job[job]]
            # As many other jobs may be alike in another way.
            likeness = " ".join(f"{state}.{trigger}" for state, trigger in signature)
            yield tuple(
                _shapes(
                    lane,
                    gettext("{rest} jobs {likeness}").format(rest=len(rest), likeness=likeness),
                    members,
                    2,
                    selected,
                )
            )


def _signature(members: Iterable[ChainMember]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(set(map(_alike, members))))


def _shapes(
    lane: StoryLane,
    row: str,
    members: Sequence[ChainMember],
    level: int,
    selected: str,
) -> list[LaneShape]:
    """The shapes of one row, oldest first: alike is what has one state, trigger and outcome."""
    groups: dict[tuple[str, ...], list[ChainMember]] = {}
    for member in sorted(members, key=_age):
        groups.setdefault(_likeness(member, level, selected), []).append(member)
    shapes = []
    for signature, group in groups.items():
        if len(group) >= FOLD_FROM or (level > 0 and len(group) > 1):
            key = ":".join(("fold", lane.key, row, *signature))
            shapes.append(
                LaneShape(key=key, members=tuple(group), jobs=len({item.job for item in group}))
            )
        else:
            shapes += [LaneShape(key=member.id, members=(member,)) for member in group]
    return sorted(shapes, key=lambda shape: _age(shape.first))


def _likeness(member: ChainMember, level: int, selected: str) -> tuple[str, ...]:
    if member.id == selected or (level == 0 and member.state in _OPEN):
        return (member.id,)
    if level >= 2:
        return (member.state,) if level < _LEVELS - 1 else ("all",)
    if level == 0 and not member.work:
        return (member.state, member.trigger, member.outcome)
    return (member.state, member.trigger, "")


def _opened(row: tuple[LaneShape, ...], opened: str) -> tuple[LaneShape, ...]:
    """The same row with the members of the opened fold each for itself."""
    shapes: list[LaneShape] = []
    for shape in row:
        if shape.key != opened or not shape.is_folded:
            shapes.append(shape)
            continue
        each, rest = shape.members[:MOST_OPENED], shape.members[MOST_OPENED:]
        shapes += [LaneShape(key=member.id, members=(member,)) for member in each]
        if rest:
            jobs = len({member.job for member in rest})
            shapes.append(LaneShape(key=f"rest:{shape.key}", members=rest, jobs=jobs))
    return tuple(shapes)
