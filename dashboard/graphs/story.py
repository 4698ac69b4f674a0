"""A story as a drawing: its phases as lanes, what happened in each from left to right.

In: lanes with their members, and what set all going. Out: geometry. Pure: the same members give
the same drawing, so that an open page and one that is loaded now are alike.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import msgspec

from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Graph,
    GraphEdge,
    GraphLane,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.graphs.story_lanes import (
    FoldedLanes,
    LaneEvent,
    LaneShape,
    StoryDrawing,
    StoryLane,
)
from dashboard.texts import gettext
from dashboard.wording import clipped, count_of, number, short_id
from dashboard.work_words import done_told

SIZE = WIDTH, HEIGHT = (196.0, 50.0)
GUTTER = 160.0
RADIUS = 46.0
#: Bold letters that a circle is wide enough for.
BOLD = 9
#: Left edges of the columns: beside the trunk of phases, or of a root from which all fans out.
TRUNK = (168.0, 446.0, 724.0, 1002.0)
FAN = (300.0, 580.0, 860.0, 1140.0)
STEP = 278.0
ROOT_X = 224.0
ROW, LONE_ROW, EVENT_ROW = 62.0, 76.0, 108.0
TOP = 8.0
TIMES = "\N{MULTIPLICATION SIGN}"


class _Place(msgspec.Struct, frozen=True):
    """A shape and its left upper corner."""

    shape: LaneShape
    x: float
    y: float

    @property
    def middle(self) -> float:
        """The height at which arrows meet it."""
        return self.y + HEIGHT / 2


class _Band(msgspec.Struct, frozen=True):
    """A lane with its height and what stands in it."""

    lane: StoryLane
    y: float
    height: float
    rows: tuple[tuple[_Place, ...], ...]

    @property
    def middle(self) -> float:
        """The height of its event."""
        return self.y + self.height / 2


def story_graph(drawing: StoryDrawing, folded: FoldedLanes | None = None) -> Graph:
    """The geometry of a story; `folded`: its lanes where they are folded already."""
    bands = _bands(drawing, folded or drawing.folded())
    sheet = _Sheet(drawing, bands)
    nodes, edges = sheet.nodes(), sheet.edges()
    right = max((node.x + node.width for node in nodes), default=FAN[0] + WIDTH)
    width = max(right + 24.0, 1176.0)
    bottom = bands[-1].y + bands[-1].height if bands else TOP
    if drawing.root:
        bottom = max(bottom, 2 * RADIUS + 16.0)
    return Graph(
        key=drawing.key,
        title=drawing.title,
        description=drawing.description,
        view=(0, 0, width, bottom + 6),
        nodes=tuple(nodes),
        edges=tuple(edges),
        lanes=tuple(_lane(band, width) for band in bands),
    )


def folded_in(graph: Graph) -> int:
    """How many of its shapes stand for several."""
    return sum(node.is_folded for node in graph.nodes)


def _bands(drawing: StoryDrawing, folded: FoldedLanes) -> list[_Band]:
    bands, y = [], TOP
    for lane in folded.lanes:
        rows = folded.rows[lane.key]
        # A root takes as much room as an event, though it belongs to no lane.
        tall = EVENT_ROW if lane.event or (drawing.root and len(folded.lanes) == 1) else LONE_ROW
        height = max(tall, ROW * len(rows) + 14.0)
        first = y + (height - ROW * max(len(rows), 1)) / 2 + (ROW - HEIGHT) / 2
        places = tuple(
            tuple(
                _Place(shape, _left(drawing, lane, column), first + ROW * at)
                for column, shape in enumerate(row)
            )
            for at, row in enumerate(rows)
        )
        bands.append(_Band(lane, y, height, places))
        y += height
    return bands


def _left(drawing: StoryDrawing, lane: StoryLane, column: int) -> float:
    first = FAN[0] if drawing.root else TRUNK[1 if lane.event else 0]
    return first + STEP * column


def _lane(band: _Band, width: float) -> GraphLane:
    lane = band.lane
    return GraphLane(
        key=f"lane:{lane.key}",
        title=clipped(lane.title, 20),
        subs=tuple(clipped(sub, 26) for sub in lane.subs[:2]),
        name=": ".join(part for part in (lane.title, ", ".join(lane.subs)) if part),
        state=lane.tone,
        y=band.y,
        width=width,
        height=band.height,
        gutter=GUTTER - 14.0,
        href=lane.href,
    )


class _Sheet:
    """The nodes and edges of placed bands."""

    def __init__(self, drawing: StoryDrawing, bands: Sequence[_Band]) -> None:
        self.drawing = drawing
        self.bands = bands
        members = [
            member
            for band in bands
            for row in band.rows
            for place in row
            for member in place.shape.members
        ]
        self._by_id = {member.id: member for member in members}
        # A root stands beside the middle of what comes from it.
        height = bands[-1].y + bands[-1].height if bands else TOP
        self._root_y = max((TOP + height) / 2, RADIUS + 8)

    def nodes(self) -> list[GraphNode]:
        """Events, shapes and what may come next, in reading order."""
        nodes = [self._circle("event:root", self.drawing.root, ROOT_X, self._root_y)]
        for band in self.bands:
            lane = band.lane
            centre = TRUNK[0] + WIDTH / 2
            nodes.append(self._circle(f"event:{lane.key}", lane.event, centre, band.middle))
            for row in band.rows:
                nodes += [self._shape(place) for place in row]
                nodes.append(_next_after(row))
            if lane.expects and not band.rows:
                x, y = _left(self.drawing, lane, 0), band.middle - HEIGHT / 2
                nodes.append(_possible(f"next:{lane.key}", x, y, lane.title, lane.expects))
        return [node for node in nodes if node is not None]

    def _circle(self, key: str, event: LaneEvent | None, x: float, y: float) -> GraphNode | None:
        if event is None:
            return None
        *titles, last = event.lines
        # A name too wide for a title's bold letters stands in the small ones below it.
        fit = 1 if any(len(line) > BOLD for line in titles[1:2]) else 2
        small = (*titles[fit:2], last)
        return GraphNode(
            key=key, state="event", shape=CIRCLE, name=event.name, x=x, y=y, width=2 * RADIUS,
            height=2 * RADIUS, href=event.href,
            lines=circle_lines(
                x, y, tuple(clipped(line, 10) for line in titles[:fit]),
                tuple(clipped(line, 14) for line in small),
            ),
        )  # fmt: skip

    def _shape(self, place: _Place) -> GraphNode:
        shape, first = place.shape, place.shape.first
        if shape.is_folded:
            return self._fold(place)
        told = ", ".join(part for part in (first.trigger, first.outcome) if part)
        # One that was rehearsed has no page, and an id that leads nowhere is not told.
        shown = short_id(first.id) if first.href or first.is_tombstone else ""
        said = gettext("evaluation {id}").format(id=shown).rstrip()
        return GraphNode(
            key=first.id, state=first.state,
            name=", ".join(part for part in (said, first.job, first.state, told) if part),
            x=place.x, y=place.y, width=WIDTH, height=HEIGHT, icon=first.icon or first.state,
            is_quasi=first.is_quasi, is_tombstone=first.is_tombstone,
            is_selected=first.id == self.drawing.selected,
            is_current=first.state in ("scheduling", "applying"), href=self._leads(first),
            lines=stadium_lines(
                (place.x, place.y), SIZE, clipped(first.job, 12), sub=clipped(told, 24),
                right=("id", shown),
            ),
        )  # fmt: skip

    def _fold(self, place: _Place) -> GraphNode:
        shape, first, worst = place.shape, place.shape.first, place.shape.worst
        told = _alike(shape.members)
        count = len(shape.members)
        counted = count_of(count, "{count} evaluation", "{count} evaluations")
        folded = gettext("folded")
        # A job that is alone in its row is named, and how many of its evaluations these are.
        if shape.jobs > 1:
            title, right = (
                count_of(shape.jobs, "{count} job", "{count} jobs"),
                f"{TIMES}{number(count)}",
            )
        else:
            title, right = counted, ""
        if shape.jobs == 1 and any(band.lane.is_by_job for band in self.bands):
            title, right = clipped(first.job, 12), f"{TIMES}{number(count)}"
        return GraphNode(
            key=shape.key, state=worst.state,
            name=", ".join(
                part
                for part in (counted, title, worst.state, told, folded)
                if part
            ),
            x=place.x, y=place.y, width=WIDTH, height=HEIGHT, icon=worst.icon or worst.state,
            is_quasi=worst.is_quasi, is_tombstone=worst.is_tombstone, is_folded=True,
            href="" if shape.key.startswith("rest:") else self._opens(shape.key),
            lines=stadium_lines(
                (place.x, place.y), SIZE, title, sub=clipped(told, 24), right=("id", right)
            ),
        )  # fmt: skip

    def _leads(self, member: ChainMember) -> str:
        """First to what is told of it beside the drawing; from there to its own page."""
        before, after = self.drawing.selects
        can_be_told = before and not member.is_tombstone
        if not member.href or not can_be_told or member.id == self.drawing.selected:
            return member.href
        return f"{before}{quote(member.id, safe='')}{after}"

    def _opens(self, key: str) -> str:
        return f"{self.drawing.address}{quote(key, safe='')}"

    def edges(self) -> list[GraphEdge]:
        """From events to rows, along rows, and down the trunk."""
        edges: list[GraphEdge] = []
        above: tuple[str, float] | None = None
        for band in self.bands:
            for row in band.rows:
                edges += self._along(band, row)
            if self.drawing.root:
                edges += self._fanned(band)
                continue
            head = self._head(band)
            if head and above:
                edges.append(_down(above, head, is_possible=not band.rows and not band.lane.event))
            if head:
                key, _, bottom = head
                above = (key, bottom)
        return edges

    def _head(self, band: _Band) -> tuple[str, float, float] | None:
        """What of a lane stands on the trunk: key, top and bottom."""
        if band.lane.event:
            return f"event:{band.lane.key}", band.middle - RADIUS, band.middle + RADIUS
        if band.rows:
            place = band.rows[0][0]
            return place.shape.key, place.y, place.y + HEIGHT
        if band.lane.expects:
            top = band.middle - HEIGHT / 2
            return f"next:{band.lane.key}", top, top + HEIGHT
        return None

    def _along(self, band: _Band, row: Sequence[_Place]) -> Iterator[GraphEdge]:
        if band.lane.event and not self.drawing.root:
            yield _event_edge(band, row[0])
        for left, right in itertools.pairwise(row):
            kind, text = self._link(left.shape, right.shape)
            yield _arrow(left, right.shape.key, right.x, kind, text)
        last = row[-1]
        if _expects(row):
            key = f"next:{last.shape.key}"
            yield _arrow(last, key, last.x + STEP, "next", "then", path="possible")

    def _link(self, left: LaneShape, right: LaneShape) -> tuple[str, str]:
        """How two neighbours hang together: by a stored link, else by their cause."""
        ids = {member.id for member in left.members}
        for member in left.members:
            for told, other in (
                ("NextEval", member.next_eval),
                ("BlockedEval", member.blocked_eval),
            ):
                if other and any(other == each.id for each in right.members):
                    return "link", told
        if any(member.previous_eval in ids for member in right.members):
            return "link", "PreviousEval"
        return "cause", right.first.cause_text or right.first.trigger

    def _fanned(self, band: _Band) -> Iterator[GraphEdge]:
        for row in band.rows:
            end, tip = row[0].middle, row[0].x - 6
            leave = self._root_y + max(-30.0, min(30.0, (end - self._root_y) / 6))
            start = ROOT_X + RADIUS - abs(leave - self._root_y) / 3
            middle = (start + tip) / 2
            bend = f"{middle:g} {leave:g} {middle:g} {end:g} {tip:g} {end:g}"
            yield GraphEdge(
                key=f"event:root>{row[0].shape.key}", source="event:root",
                target=row[0].shape.key,
                line=f"M{start:g} {leave:g}C{bend}",
            )  # fmt: skip


def _expects(row: Sequence[_Place]) -> str:
    last = row[-1].shape
    return "" if last.is_folded else last.first.expects


def _next_after(row: Sequence[_Place]) -> GraphNode | None:
    words = _expects(row)
    if not words:
        return None
    last = row[-1]
    return _possible(f"next:{last.shape.key}", last.x + STEP, last.y, last.shape.first.job, words)


def _possible(key: str, x: float, y: float, title: str, words: str) -> GraphNode:
    name = gettext("may come next: {title}, {words}").format(title=title, words=words)
    return GraphNode(
        key=key, state="possible", is_quasi=True, icon="scheduling",
        name=name, x=x, y=y, width=WIDTH, height=HEIGHT,
        lines=stadium_lines((x, y), SIZE, clipped(title, 18), sub=clipped(words, 24)),
    )  # fmt: skip


def _event_edge(band: _Band, place: _Place) -> GraphEdge:
    start, tip = TRUNK[0] + WIDTH / 2 + RADIUS + 2, place.x - 6
    key = f"event:{band.lane.key}"
    middle = band.middle
    line = f"M{start:g} {middle:g}H{tip:g}"
    if abs(place.middle - middle) > 1:
        bend = (start + tip) / 2
        end = place.middle
        line = f"M{start:g} {middle:g}C{bend:g} {middle:g} {bend:g} {end:g} {tip:g} {end:g}"
    return GraphEdge(key=f"{key}>{place.shape.key}", source=key, target=place.shape.key, line=line)


def _down(
    above: tuple[str, float], head: tuple[str, float, float], *, is_possible: bool
) -> GraphEdge:
    """The trunk: what followed without a stored link."""
    x = TRUNK[0] + WIDTH / 2
    (source, start), (target, end, _) = above, head
    return GraphEdge(
        key=f"{source}>{target}", source=source, target=target,
        kind="next" if is_possible else "cause", path="possible" if is_possible else "",
        line=f"M{x:g} {start + 3:g}V{end - 6:g}",
    )  # fmt: skip


def _arrow(left: _Place, key: str, x: float, kind: str, text: str, *, path: str = "") -> GraphEdge:
    start, tip = left.x + WIDTH + (6 if left.shape.is_folded else 2), x - 6
    label = ArrowLabel(x=round((start + tip) / 2, 1), y=left.middle - 7, text=clipped(text, 13))
    return GraphEdge(
        key=f"{left.shape.key}>{key}", source=left.shape.key, target=key, kind=kind, path=path,
        line=f"M{start:g} {left.middle:g}H{tip:g}", labels=(label,) if text else (), text=text,
    )  # fmt: skip


def _alike(members: Sequence[ChainMember]) -> str:
    """What all did together; where nothing is known of that, what made them."""
    done: Counter[str] = Counter()
    for member in members:
        if member.work:
            done.update(member.work)
    if done:
        return done_told(dict(done.most_common(2)))
    triggers = {member.trigger for member in members}
    outcomes = {member.outcome for member in members}
    parts = [next(iter(each)) for each in (triggers, outcomes) if len(each) == 1]
    return ", ".join(part for part in parts if part)
