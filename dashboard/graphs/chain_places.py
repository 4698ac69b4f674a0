"""Where evaluations of a chain stand: column = generation, lane = first row free by the parent.

In: members as they come to be known. A placed node never moves; equal leaves fold into one.
Knows nothing of lines or texts.
"""

from collections.abc import Iterable, Sequence

import msgspec

from dashboard.texts import gettext

#: Leaf siblings with one trigger and outcome beyond this many are drawn as one folded node.
FOLD_ABOVE = 6
KEEP_WHEN_FOLDED = 3


class ChainMember(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One evaluation of a chain, or the stub of one."""

    id: str
    job: str
    #: A tone of labels.py.
    state: str
    icon: str = ""
    is_quasi: bool = False
    trigger: str = ""
    #: What it achieved, or what it waits for: `4 of 5`, `16 min`.
    outcome: str = ""
    previous_eval: str = ""
    next_eval: str = ""
    blocked_eval: str = ""
    #: The evaluation behind its cause where that is known (the one that placed the failed
    #: allocation, made the deployment, preempted). Draws a dashed arrow where no link is stored.
    cause_eval: str = ""
    #: What made it when no evaluation did: `node n1 7`. Members that share it share one event
    #: circle.
    event_key: str = ""
    event_lines: tuple[str, ...] = ()
    #: Words on the arrow from its cause: `preempts`, `next step`.
    cause_text: str = ""
    created_at: int = 0
    is_tombstone: bool = False
    #: What its plan did, by its word and in numbers, so that folded ones can be summed up.
    work: dict[str, int] = {}
    #: What may come next, in words; "" when nothing is waited for.
    expects: str = ""
    href: str = ""


class Spot(msgspec.Struct, frozen=True):
    """A column and a lane."""

    column: int
    lane: float


class ChainPlaces:
    """Remembers where each node of one chain stands; feed it the members as they become known."""

    def __init__(self, key: str, *, selected: str = "") -> None:
        """`key` names the graph in the page; `selected` is the member it is about."""
        self.key = key
        self.selected = selected
        self.members: dict[str, ChainMember] = {}
        self._made_by: dict[str, str] = {}
        self.spots: dict[str, Spot] = {}
        self.taken: set[tuple[int, int]] = set()
        self.folded_into: dict[str, str] = {}

    def update(self, members: Iterable[ChainMember]) -> None:
        """Add or replace members, then place those that have no place yet, oldest first."""
        for member in members:
            self.members[member.id] = member
            self._made_by |= dict.fromkeys((member.next_eval, member.blocked_eval), member.id)
        for member in sorted(self.members.values(), key=lambda item: (item.created_at, item.id)):
            self._unfold_parent(member)
        for member in self._unplaced():
            self._place(member)

    def _unplaced(self) -> list[ChainMember]:
        """Parents before children, then by age."""
        waiting = [item for item in self.members.values() if item.id not in self.spots]
        waiting = [item for item in waiting if item.id not in self.folded_into]
        waiting.sort(key=lambda item: (item.created_at, item.id))
        depth = self._depths(waiting)
        self._fold(waiting)
        return sorted(
            (item for item in waiting if item.id not in self.folded_into),
            key=lambda item: depth[item.id],
        )

    def _depths(self, members: Iterable[ChainMember]) -> dict[str, int]:
        """How many came before each, and before those on the way: every link is followed once."""
        known: dict[str, int] = {}
        for member in members:
            path: dict[str, None] = {}
            key = member.id
            while key and key not in known and key not in path:
                path[key] = None
                above = self.members.get(key)
                key = self.parent_of(above) if above else ""
            depth = known.get(key, -1)
            for each in reversed(path):
                depth += 1
                known[each] = depth
        return known

    def parent_of(self, member: ChainMember) -> str:
        """The evaluation that made it: by link, else by cause; unknown ones count when named."""
        return member.previous_eval or self._made_by.get(member.id) or member.cause_eval

    def _unfold_parent(self, member: ChainMember) -> None:
        self.folded_into.pop(self.parent_of(member), None)

    def _fold(self, waiting: Sequence[ChainMember]) -> None:
        parents = {self.parent_of(item) for item in self.members.values()}
        groups: dict[tuple[str, str, str, str], list[ChainMember]] = {}
        for item in waiting:
            if item.id not in parents and item.id != self.selected and not item.expects:
                origin = self.parent_of(item) or gettext("event {event_key}").format(
                    event_key=item.event_key
                )
                groups.setdefault((origin, item.trigger, item.state, item.outcome), []).append(
                    item
                )
        for signature, group in groups.items():
            key = "fold:" + ":".join(signature)
            exists = key in self.folded_into.values()
            if exists or len(group) > FOLD_ABOVE:
                for item in group if exists else group[KEEP_WHEN_FOLDED:]:
                    self.folded_into[item.id] = key

    def _place(self, member: ChainMember) -> None:
        parent = self.parent_of(member)
        if parent and parent not in self.spots and parent in self.members:
            # A loop of links in damaged data: the newer one starts a row of its own.
            parent = ""
        if parent and parent not in self.spots:
            self._claim(parent, 1, self._free_lane(1, 0))
        if parent:
            beside = self.spots[parent]
            column = beside.column + 1
            self._claim(member.id, column, self._free_lane(column, int(beside.lane)))
        else:
            self._claim(member.id, 1, self._free_lane(1, 0))

    def _claim(self, key: str, column: int, lane: int) -> None:
        self.spots[key] = Spot(column, lane)
        self.taken.add((column, lane))

    def _free_lane(self, column: int, start: int) -> int:
        lane = start
        while (column, lane) in self.taken:
            lane += 1
        return lane

    def tidy(self) -> None:
        """Place all anew, once: a branch keeps its lanes together, no arrow crosses another.

        What comes later is placed beside it as ever.
        """
        self.place_folds()
        children = self._children()
        self.spots.clear()
        self.taken.clear()
        free = 0
        waiting = [(root, 1, -1) for root in reversed(children.pop("", []))]
        # A loop of links in damaged data hangs on no root: its oldest member becomes one.
        loops = list(reversed(children))
        while waiting or loops:
            key, column, lane = waiting.pop() if waiting else (loops.pop(), 1, -1)
            if key in self.spots:
                continue
            lane = free if lane < 0 else lane
            free = max(free, lane + 1)
            self._claim(key, column, lane)
            below = [child for child in children.get(key, []) if child not in self.spots]
            # The first stands in the lane of its parent, the others under all that hangs on it.
            waiting += [(child, column + 1, -1) for child in reversed(below[1:])]
            waiting += [(child, column + 1, lane) for child in below[:1]]

    def _children(self) -> dict[str, list[str]]:
        """What hangs on each drawn node, oldest first; the roots, by event, under ""."""
        events: dict[str, dict[str, None]] = {}
        told: dict[str, dict[str, None]] = {}
        for member in sorted(self.members.values(), key=lambda item: (item.created_at, item.id)):
            key, parent = self.folded_into.get(member.id, member.id), self.parent_of(member)
            if parent:
                told.setdefault(parent, {})[key] = None
            if parent and parent not in self.members:
                key = parent
            if key == parent or not parent:
                events.setdefault(member.event_key or key, {})[key] = None
        roots = [key for keys in events.values() for key in keys]
        return {"": roots} | {parent: list(keys) for parent, keys in told.items()}

    def place_folds(self) -> None:
        """Give each folded node its place, once."""
        for member_id, key in self.folded_into.items():
            if key in self.spots:
                continue
            parent = self.spots.get(self.parent_of(self.members[member_id]))
            column = parent.column + 1 if parent else 1
            self._claim(key, column, self._free_lane(column, int(parent.lane) if parent else 0))
