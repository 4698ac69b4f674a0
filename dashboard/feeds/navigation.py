"""The counts of the navigation, live on every page that shows it.

In: frames. Out: one text per count, only when one of them has changed.
"""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.feeds.pieces import Facts, Piece
from dashboard.queries.navigation import (
    nav_fact,
    nav_texts,
    rollouts_to_promote,
    waits_for_a_person,
)
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import LOST, Node


class NavigationFeed(Feed):
    """Loaded once, then counted on; no flush asks the database."""

    #: The counts are told whole, whatever a page has missed.
    needs_frames = False

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._jobs: set[JobKey] = set()
        self._blocked: set[str] = set()
        #: The rollouts that wait for a person.
        self._to_promote: set[str] = set()
        #: Each node: whether it drains, and whether it is lost.
        self._nodes: dict[str, tuple[bool, bool]] = {}
        self._sees_nodes = NODE_READ in subscription.may
        self._told: dict[str, str] = {}

    def load(self, reader: RecordReader) -> None:
        """Read what is counted: ids, and the rollouts with canaries."""
        namespaces = self.subscription.namespaces
        self._jobs = reader.job_keys(namespaces)
        self._blocked = reader.blocked_ids(namespaces)
        self._to_promote = {each.id for each in rollouts_to_promote(reader, namespaces)}
        if self._sees_nodes:
            self._nodes = {
                face.id: (face.is_draining, face.status in LOST) for face in reader.node_faces()
            }
        self._told = self._texts()

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        value = event.value
        if event.topic is Topic.JOB:
            key = JobKey(event.namespace, event.key)
            (self._jobs.discard if event.deleted else self._jobs.add)(key)
        elif isinstance(value, Evaluation):
            waits = value.status is EvalStatus.BLOCKED and not event.deleted
            (self._blocked.add if waits else self._blocked.discard)(event.key)
        elif isinstance(value, Deployment):
            waits = not event.deleted and waits_for_a_person(value)
            (self._to_promote.add if waits else self._to_promote.discard)(event.key)
        elif event.topic is Topic.NODE and self._sees_nodes:
            self._nodes.pop(event.key, None)
            if isinstance(value, Node) and not event.deleted:
                is_lost = value.status in LOST
                self._nodes[event.key] = (value.drain_strategy is not None, is_lost)

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """The counts, when one of them changed."""
        pieces = super().flush(reader, now)
        before, self._told = self._told, self._texts()
        return pieces if before == self._told else (*pieces, *self.standing(now))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """All counts as they are."""
        del now
        return (Facts(values={nav_fact(word): text for word, text in self._texts().items()}),)

    def _texts(self) -> dict[str, str]:
        return nav_texts(
            jobs=len(self._jobs),
            blocked=len(self._blocked),
            to_promote=len(self._to_promote),
            nodes=len(self._nodes) if self._sees_nodes else None,
            draining=sum(drains for drains, _ in self._nodes.values()),
            lost=sum(is_lost for _, is_lost in self._nodes.values()),
        )
