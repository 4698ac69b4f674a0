"""Notice nodes that fell silent.

In: the newest beat of each node as it was written down, signs of life of those who write beats,
node rows from the log, time that never jumps. Out: `MarkNodeUnresponsive` per overdue node. What
such a node becomes is not decided here.
"""

from collections.abc import Mapping, Sequence

import msgspec

from scheduler.broker.delay_heap import DelayHeap
from scheduler.commands import Command, MarkNodeUnresponsive
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, WriteKind
from scheduler.structs.moment import Moment
from scheduler.structs.node import LOST, Node, NodeStatus
from scheduler.watchers.listeners import Listeners

SECOND = 1_000_000_000
#: All nodes together beat at most this often a second.
MAX_BEATS_PER_SECOND = 50
#: How often the beats are looked at.
LOOK_INTERVAL = 1.0
#: An overdue node that is not written down as such is reported again after this long.
REPORT_AGAIN = 5.0
#: When nobody looked for so long, it was the leader that slept, not the nodes.
STALL = 5.0
#: Losses and returns that follow each other so closely are told as one; for an hour at most.
TOGETHER = 60.0
LONGEST_LOSS = 3600.0


class HeartbeatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long nodes may be silent, in seconds."""

    min_ttl: float = 10.0
    grace: float = 10.0
    #: What every node is given when a new leader begins.
    failover_ttl: float = 300.0


class Heartbeats:
    """One timer per node that is not down (control-plane.md 8). Call `hear` before `tick`.

    A time in which no listener was there is nobody's fault: no node is reported in it, and
    afterwards each has at least its TTL and the grace.
    """

    def __init__(self, settings: HeartbeatSettings | None = None) -> None:
        self._settings = settings or HeartbeatSettings()
        self._timers = DelayHeap()
        self._listeners = Listeners()
        #: Node to the newest beat seen and the TTL told; only a change is a sign of life, whatever
        #: the clocks say.
        self._beats: dict[str, tuple[int, int]] = {}
        self._known: dict[str, tuple[NodeStatus, int]] = {}
        self._looked_at = 0.0
        self._restoring = True
        #: The loss that is told now: its name, when it began, and when it last moved.
        self._loss = ("", 0.0, 0.0)

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Give every node that is not down the long time of a failover."""
        self._timers.clear()
        self._known.clear()
        self._looked_at = moment.monotonic
        self._listeners.restore(moment.monotonic)
        # Beats written before are no sign of life.
        self._restoring = True
        for node in reader.nodes():
            self._known[node.id] = _version(node)
            if node.status is not NodeStatus.DOWN:
                self._timers.push(node.id, moment.monotonic + self._settings.failover_ttl)

    def hear(
        self,
        beats: Mapping[str, tuple[int, int]],
        signs: Mapping[str, int] | None = None,
        *,
        monotonic: float,
    ) -> None:
        """Take in beats: by node, when it was written down and the TTL it was told, both in ns.

        A TTL of 0 stands for an unknown one. Beats seen before may be left out or repeated. The
        signs are counts by listener; without any it is taken that nodes can be heard all the time.
        """
        fresh = {
            node_id: beat for node_id, beat in beats.items() if self._beats.get(node_id) != beat
        }
        self._beats.update(fresh)
        silence_ended = self._listeners.hear(
            signs or {}, has_beats=bool(fresh), monotonic=monotonic
        )
        if self._restoring:
            self._restoring = False
            return
        if silence_ended:
            self._forgive(monotonic)
        for node_id in fresh:
            if node_id in self._timers:
                self._timers.push(node_id, monotonic + self._patience(node_id))

    def _forgive(self, monotonic: float) -> None:
        """Nobody could be heard until now: each node has its whole time from here."""
        for node_id in self._known:
            due, until = self._timers.due_at(node_id), monotonic + self._patience(node_id)
            if due is not None and due < until:
                self._timers.push(node_id, until)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """A registration or a written status starts the timer, unless the node is down."""
        for event in frame.events:
            if not isinstance(event.value, Node):
                continue
            node = event.value
            if event.deleted:
                self._forget(node.id)
                continue
            version, before = _version(node), self._known.get(node.id)
            self._known[node.id] = version
            if before is not None and before[0] in LOST and node.status not in LOST:
                self._loss = (*self._loss[:2], moment.monotonic)
            if node.status is NodeStatus.DOWN:
                self._timers.remove(node.id)
            elif frame.kind == WriteKind.NODE_REGISTRATION or version != before:
                self._timers.push(node.id, moment.monotonic + self._longest_patience())

    def is_due(self, moment: Moment) -> bool:
        """Whether `tick` would look: what was written is to be told to `hear` before."""
        due = self.next_deadline(moment)
        return due is not None and due <= moment.monotonic

    def next_deadline(self, moment: Moment) -> float | None:
        """While there are timers, the beats are looked at each second, and when one is due."""
        due, look = self._timers.next_due(), self._looked_at + LOOK_INTERVAL
        if due is None:
            return None
        # What was due at the last look already waits for a listener.
        return min(due, look) if due > self._looked_at else look

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Report overdue nodes; before a look is due there is nothing to be seen."""
        if not self.is_due(moment):
            return ()
        slept = moment.monotonic - self._looked_at > STALL
        self._looked_at = moment.monotonic
        if self._listeners.are_silent(moment.monotonic):
            return ()
        due = self._timers.pop_due(moment.monotonic)
        again = self._settings.grace if slept else REPORT_AGAIN
        for node_id in due:
            self._timers.push(node_id, moment.monotonic + again)
        if slept or not due:
            return ()
        look = self._look(moment)
        return tuple(MarkNodeUnresponsive(node_id=node_id, look=look) for node_id in due)

    def _look(self, moment: Moment) -> str:
        """The name of this look: that of the loss which still goes on, or a new one."""
        name, began, moved = self._loss
        now = moment.monotonic
        if not name or now - moved > TOGETHER or now - began > LONGEST_LOSS:
            name, began = str(moment.now), now
        self._loss = (name, began, now)
        return name

    def _patience(self, node_id: str) -> float:
        """How long a node may be silent from now on."""
        _, ttl = self._beats.get(node_id, (0, 0))
        return ttl / SECOND + self._settings.grace if ttl else self._longest_patience()

    def _longest_patience(self) -> float:
        """Nodes are told a TTL between the base and twice the base."""
        base = max(self._settings.min_ttl, len(self._timers) / MAX_BEATS_PER_SECOND)
        return 2 * base + self._settings.grace

    def _forget(self, node_id: str) -> None:
        self._timers.remove(node_id)
        self._known.pop(node_id, None)
        self._beats.pop(node_id, None)


def _version(node: Node) -> tuple[NodeStatus, int]:
    return node.status, node.status_updated_at
