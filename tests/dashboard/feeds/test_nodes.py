"""What the list of nodes says of all of them follows the record."""

import pytest

from dashboard.feeds.nodes import NodesFeed
from dashboard.feeds.pieces import Facts
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.writes.nodes import write_node
from scheduler.structs.node import NodeEligibility
from tests.builders import SOME_MOMENT, make_node

ONE = make_node(1)


@pytest.fixture
def told(sqlite_store):
    """Write some nodes; what a feed that was loaded before says of all, where not empty."""
    feed = NodesFeed(Subscription("nodes", "", None))
    sqlite_store.read(feed.load)

    def told(work):
        seen = sqlite_store.index
        sqlite_store.write(WriteKind.NODE_REGISTRATION, work, now=SOME_MOMENT)
        for frame in sqlite_store.frames_since(seen):
            feed.observe(frame)
        (facts,) = (piece for piece in feed.flush(None, SOME_MOMENT) if isinstance(piece, Facts))
        assert feed.standing(SOME_MOMENT) == (facts,)
        return {name: text for name, text in facts.values.items() if text}

    return told


def test_nodes_are_counted_by_state_as_they_come_change_and_go(told):
    closed = make_node(2, scheduling_eligibility=NodeEligibility.INELIGIBLE)
    assert told(lambda change: write_node(change, ONE)) == {
        "nodes-told": "1 of 1 node ready.", "nodes-all": "1", "nodes-ready": "1",
    }  # fmt: skip
    assert told(lambda change: write_node(change, closed)) == {
        "nodes-told": "1 of 2 nodes ready; 1 ineligible.",
        "nodes-all": "2", "nodes-ready": "1", "nodes-ineligible": "1",
    }  # fmt: skip
    assert told(lambda change: change.delete_node(ONE.id)) == {
        "nodes-told": "0 of 1 node ready; 1 ineligible.",
        "nodes-all": "1", "nodes-ineligible": "1",
    }  # fmt: skip


def test_a_change_of_use_alone_says_nothing_of_all(sqlite_store):
    feed = NodesFeed(Subscription("nodes", "", None))
    sqlite_store.read(feed.load)
    assert feed.flush(None, SOME_MOMENT) == ()
