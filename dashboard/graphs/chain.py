"""A chain of evaluations as a graph: links solid, causes dashed, what may come next dotted.

In: members (evaluations and stubs of collected ones). Out: geometry that is stable: what was drawn
once stays where it was while its `ChainLayout` lives.
"""

from dashboard.graphs.chain_places import ChainMember, ChainPlaces
from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Graph,
    GraphEdge,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.texts import gettext
from dashboard.wording import clipped, count_of, number, short_id

SIZE = WIDTH, HEIGHT = (196.0, 50.0)
COLUMN, LANE = 282.0, 68.0
LEFT, TOP = 140.0, 31.0
#: Between two columns; a label stands in it, clear of the ring around a selected node.
GAP = COLUMN - WIDTH
LABEL_LIMIT = 12
RADIUS = 50.0
BELOW = 12.0


def graph_key(eval_id: str, *, is_tidy: bool = False) -> str:
    """The name of a chain's graph: the tidied one is another, so that the grown one stays."""
    return f"chain-tidy-{eval_id}" if is_tidy else f"chain-{eval_id}"


class ChainLayout(ChainPlaces):
    """The places of one chain, drawn."""

    def graph(self) -> Graph:
        """The geometry of everything known so far."""
        self.place_folds()
        nodes = [self._node(member) for member in self.members.values() if member.id in self.spots]
        nodes += self._missing_nodes() + self._fold_nodes() + self._possible_nodes()
        events = self._event_nodes()
        edges = self._edges()
        right = max((node.x + node.width for node in nodes), default=LEFT + WIDTH)
        bottom = max((node.y + node.height for node in nodes), default=HEIGHT)
        bottom = max([bottom, *(node.y + RADIUS for node in events)])
        return Graph(
            key=self.key,
            title=gettext("Chain of evaluations"),
            description=self._described(),
            view=(0, 0, right + 24, bottom + BELOW),
            nodes=(*events, *sorted(nodes, key=lambda node: (node.x, node.y))),
            edges=tuple(edges),
        )

    def _described(self) -> str:
        stubs = sum(member.is_tombstone for member in self.members.values())
        folded = len(self.folded_into)
        told = gettext("{members} evaluations").format(members=number(len(self.members)))
        told += (
            gettext(", {folded} of them folded").format(folded=number(folded)) if folded else ""
        )
        return (
            told
            + (gettext(", {stubs} collected").format(stubs=number(stubs)) if stubs else "")
            + "."
        )

    def _corner(self, key: str) -> tuple[float, float]:
        spot = self.spots[key]
        return LEFT + COLUMN * (spot.column - 1), TOP + LANE * spot.lane

    def _node(self, member: ChainMember) -> GraphNode:
        x, y = self._corner(member.id)
        told = ", ".join(part for part in (member.trigger, member.outcome) if part)
        return GraphNode(
            key=member.id,
            state=member.state,
            name=", ".join(
                part
                for part in (
                    gettext("evaluation {member}").format(member=short_id(member.id)),
                    member.job,
                    member.state,
                    told,
                )
                if part
            ),
            x=x,
            y=y,
            width=WIDTH,
            height=HEIGHT,
            icon=member.icon or member.state,
            is_quasi=member.is_quasi,
            is_tombstone=member.is_tombstone,
            is_selected=member.id == self.selected,
            is_current=member.state in ("scheduling", "applying"),
            href=member.href,
            lines=stadium_lines(
                (x, y),
                SIZE,
                clipped(member.job, 12),
                sub=clipped(told, 24),
                right=("id", short_id(member.id)),
            ),
        )

    def _missing_nodes(self) -> list[GraphNode]:
        """Evaluations that a member names and nobody knows: shown, never skipped."""
        missing = [
            key for key in self.spots if key not in self.members and not key.startswith("fold:")
        ]
        nodes = []
        for key in missing:
            x, y = self._corner(key)
            nodes.append(
                GraphNode(
                    key=key, state="deleted",
                    name=gettext("evaluation {key}, not in the record").format(key=short_id(key)),
                    x=x, y=y, width=WIDTH, height=HEIGHT, icon="deleted", is_tombstone=True,
                    lines=stadium_lines(
                        (x, y), SIZE, "unknown", sub=gettext("not in the record"),
                        right=("id", short_id(key)),
                    ),
                )
            )  # fmt: skip
        return nodes

    def _fold_nodes(self) -> list[GraphNode]:
        nodes = []
        for key in dict.fromkeys(self.folded_into.values()):
            group = [self.members[item] for item, fold in self.folded_into.items() if fold == key]
            first = group[0]
            x, y = self._corner(key)
            jobs = len({item.job for item in group})
            title = (
                gettext("{jobs} more jobs").format(jobs=number(jobs))
                if jobs > 1
                else count_of(len(group), "{count} more", "{count} more")
            )
            told = ", ".join(part for part in (first.trigger, first.outcome) if part)
            nodes.append(
                GraphNode(
                    key=key, state=first.state, name=f"{title}, {first.state}, {told}", x=x, y=y,
                    width=WIDTH, height=HEIGHT, icon=first.icon or first.state, is_folded=True,
                    lines=stadium_lines((x, y), SIZE, title, sub=clipped(told, 24)),
                )
            )  # fmt: skip
        return nodes

    def _possible_nodes(self) -> list[GraphNode]:
        nodes = []
        for member in self._expecting():
            spot = self.spots[member.id]
            x, y = LEFT + COLUMN * spot.column, TOP + LANE * spot.lane
            nodes.append(
                GraphNode(
                    key=f"next:{member.id}",
                    state="possible",
                    is_quasi=True,
                    icon="scheduling",
                    name=gettext("may come next: {job} {expects}").format(
                        job=member.job, expects=member.expects
                    ),
                    x=x,
                    y=y,
                    width=WIDTH,
                    height=HEIGHT,
                    lines=stadium_lines(
                        (x, y), SIZE, clipped(member.job, 15), sub=clipped(member.expects, 24)
                    ),
                )
            )
        return nodes

    def _expecting(self) -> list[ChainMember]:
        """Open members whose next place is still free."""
        return [
            member
            for member in self.members.values()
            if member.expects
            and (spot := self.spots.get(member.id))
            and (spot.column + 1, spot.lane) not in self.taken
        ]

    def _rooted(self) -> dict[str, list[str]]:
        """Event keys to the keys of the nodes they made, in order of place."""
        rooted: dict[str, list[str]] = {}
        for member in self.members.values():
            if self.parent_of(member) or not member.event_key:
                continue
            key = self.folded_into.get(member.id, member.id)
            keys = rooted.setdefault(member.event_key, [])
            if key not in keys:
                keys.append(key)
        return rooted

    def _event_nodes(self) -> list[GraphNode]:
        nodes: list[GraphNode] = []
        floor = TOP + HEIGHT / 2
        for event, keys in self._rooted().items():
            lanes = [self.spots[key].lane for key in keys]
            middle = TOP + HEIGHT / 2 + LANE * (min(lanes) + max(lanes)) / 2
            y = max(middle, floor, RADIUS + 6)
            floor = y + 2 * RADIUS + 16
            lines = next(
                item.event_lines for item in self.members.values() if item.event_key == event
            ) or ("event",)
            nodes.append(
                GraphNode(
                    key=f"event:{event}", state="event", shape=CIRCLE,
                    name=gettext("Event: {lines}").format(lines=" ".join(lines)),
                    x=52, y=y, width=2 * RADIUS, height=2 * RADIUS,
                    lines=circle_lines(
                        52, y, tuple(clipped(line, 13) for line in lines[:2]),
                        tuple(clipped(line, 14) for line in lines[2:3]),
                    ),
                )
            )  # fmt: skip
        return nodes

    def _edges(self) -> list[GraphEdge]:
        edges = []
        centres = {node.key: node.y for node in self._event_nodes()}
        for event, keys in self._rooted().items():
            for key in keys:
                x, y = self._corner(key)
                start, end = centres[f"event:{event}"], y + HEIGHT / 2
                # Arrows leave the circle on its right side, spread a little towards where they go.
                leave = start + max(-24.0, min(24.0, (end - start) / 6))
                tip = x - self._space_before(key)
                bend = _curve(52 + RADIUS - abs(leave - start) / 6, leave, tip, end)
                edges.append(
                    GraphEdge(
                        key=f"event:{event}>{key}", source=f"event:{event}", target=key, line=bend
                    )
                )
        made = [self._edge_to(member) for member in self.members.values()]
        edges += [edge for edge in made if edge is not None]
        edges += [self._possible_edge(member) for member in self._expecting()]
        # Folded members share an arrow.
        return list({edge.key: edge for edge in edges}.values())

    def _edge_to(self, member: ChainMember) -> GraphEdge | None:
        parent = self.parent_of(member)
        if parent not in self.spots or parent == member.id:
            return None
        key = self.folded_into.get(member.id, member.id)
        kind, text = self._link(parent, member)
        (from_x, from_y), (x, y) = self._corner(parent), self._corner(key)
        middle = y + HEIGHT / 2
        straight = from_y == y
        label = ArrowLabel(
            x=round((from_x + WIDTH + x) / 2, 1) if straight else x - GAP / 2,
            y=middle - 7,
            text=clipped(text, LABEL_LIMIT),
        )
        return GraphEdge(
            key=f"{parent}>{key}",
            source=parent,
            target=key,
            kind=kind,
            line=_curve(from_x + WIDTH, from_y + HEIGHT / 2, x - self._space_before(key), middle),
            labels=(label,) if text else (),
            text=text,
        )

    def _space_before(self, key: str) -> float:
        """How far before a node its arrow ends: before its ring, where it has one."""
        return 8.0 if key == self.selected else 5.0

    def _link(self, parent: str, member: ChainMember) -> tuple[str, str]:
        above = self.members.get(parent)
        if above and above.next_eval == member.id:
            return "link", "NextEval"
        if above and above.blocked_eval == member.id:
            return "link", "BlockedEval"
        if member.previous_eval == parent:
            return "link", "PreviousEval"
        return "cause", member.cause_text or member.trigger

    def _possible_edge(self, member: ChainMember) -> GraphEdge:
        x, y = self._corner(member.id)
        middle = y + HEIGHT / 2
        return GraphEdge(
            key=f"{member.id}>next",
            source=member.id,
            target=f"next:{member.id}",
            kind="next",
            path="possible",
            line=_curve(x + WIDTH, middle, x + COLUMN - 5, middle),
            labels=(ArrowLabel(x=x + WIDTH + GAP / 2, y=middle - 7, text="then"),),
            text="then",
        )


def _curve(from_x: float, from_y: float, x: float, y: float) -> str:
    """A line that leaves and enters horizontally."""
    if abs(from_y - y) < 0.5:
        return f"M{from_x:g} {y:g}H{x:g}"
    middle = (from_x + x) / 2
    return f"M{from_x:g} {from_y:g}C{middle:g} {from_y:g} {middle:g} {y:g} {x:g} {y:g}"
