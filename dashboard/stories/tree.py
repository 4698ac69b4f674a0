"""A story as a nested list: the view of a phone, and of who would rather read.

In: lanes as they are folded in the drawing. Out: the same in words, in its order.
"""

import msgspec
from django.utils.translation import gettext

from dashboard.graphs.story_lanes import FoldedLanes, LaneShape, StoryLane
from dashboard.wording import count_of, number


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation, several that are alike, or what is to come."""

    title: str
    sub: str
    state: str
    icon: str
    href: str = ""


class Bough(msgspec.Struct, frozen=True, kw_only=True):
    """A lane and what grows on it."""

    title: str
    sub: str
    state: str
    leaves: tuple[Leaf, ...]


def story_tree(folded: FoldedLanes) -> tuple[Bough, ...]:
    """The lanes and what they hold, folded as in the drawing."""
    return tuple(_bough(lane, folded.rows[lane.key]) for lane in folded.lanes)


def _bough(lane: StoryLane, rows: tuple[tuple[LaneShape, ...], ...]) -> Bough:
    leaves = [_leaf(shape) for row in rows for shape in row]
    if lane.event is not None:
        *titles, last = lane.event.lines
        leaves.insert(0, Leaf(title=" ".join(titles), sub=last, state="event", icon="event"))
    if lane.expects:
        leaves.append(
            Leaf(
                title=gettext("may come next"),
                sub=lane.expects,
                state="possible",
                icon="scheduling",
            )
        )
    return Bough(title=lane.title, sub=", ".join(lane.subs), state=lane.tone, leaves=tuple(leaves))


def _leaf(shape: LaneShape) -> Leaf:
    first = shape.first
    if not shape.is_folded:
        told = ", ".join(part for part in (first.trigger, first.outcome) if part)
        return Leaf(
            title=first.job, sub=told, state=first.state, icon=first.icon or first.state,
            href=first.href,
        )  # fmt: skip
    done: dict[str, int] = {}
    for member in shape.members:
        for word, count in member.work.items():
            done[word] = done.get(word, 0) + count
    told = ", ".join(f"{number(count)} {word}" for word, count in done.items()) or first.trigger
    title = count_of(len(shape.members), "{count} evaluation", "{count} evaluations")
    if shape.jobs > 1:
        title = gettext("{title} of {job}").format(
            title=title, job=count_of(shape.jobs, "{count} job", "{count} jobs")
        )
    return Leaf(title=title, sub=told, state=first.state, icon=first.icon or first.state)
