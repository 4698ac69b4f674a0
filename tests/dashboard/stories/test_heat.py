"""The cluster of an earlier index, told from the rows of now, is the one that was."""

from random import Random  # noqa: TID251 - the same histories every time

import pytest

from cluster.operations.nodes import (
    DrainRequest,
    complete_drain,
    drain_node,
    mark_node_unresponsive,
    set_node_eligibility,
    update_status,
)
from cluster.store.past_nodes import NodeThen
from cluster.store.ports import NodePlace
from dashboard.stories.heat import fleet_then, forgotten_told, place_then
from dashboard.topology import rack_keys
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.writes.nodes import write_node
from scheduler.structs.allocation import ClientStatus, TaskState
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeEvent, NodeStatus
from tests.builders import SECOND, SOME_MOMENT, CountingIDs, make_allocation, make_job, make_node

NODES = [make_node(number) for number in range(1, 5)]


class Fleet:
    """Nodes to which things happen by chance, one each ten seconds."""

    def __init__(self, store, seed):
        self.store = store
        self.chance = Random(seed)  # noqa: S311 - the same histories every time
        self.ids = CountingIDs(prefix="f")
        self.now = SOME_MOMENT
        self.allocs = []
        self.job = make_job()
        for node in NODES[:3]:
            self._write(lambda change, node=node: write_node(change, node))

    def _write(self, work):
        self.store.write(WriteKind.PLAN_RESULT, work, now=self.now)

    def go_on(self):
        self.now += 10 * SECOND
        node = self.store.read(lambda reader: reader.node(self.chance.choice(NODES[:3]).id))
        self.chance.choice((self._place, self._place, self._end, self._status, self._close))(node)

    def join(self):
        self._write(lambda change: write_node(change, NODES[3]))

    def _place(self, node):
        alloc = make_allocation(self.job, len(self.allocs), node_id=node.id, create_index=0)
        self.allocs.append(alloc.id)
        self._write(lambda change: change.put_allocation(
            alloc.changed(create_index=change.index, modify_index=change.index)
        ))  # fmt: skip

    def _end(self, _node):
        live = self.store.read(lambda reader: [
            alloc for alloc in map(reader.allocation, self.allocs) if not alloc.is_client_terminal
        ])  # fmt: skip
        if live:
            ended = self.chance.choice(live).changed(
                client_status=ClientStatus.COMPLETE,
                task_states={"main": TaskState(state="dead", finished_at=self.now)},
                modify_time=self.now,
            )
            self._write(lambda change: change.put_allocation(
                ended.changed(modify_index=change.index)
            ))  # fmt: skip

    def _status(self, node):
        how = {"by": CLUSTER, "now": self.now, "ids": self.ids}
        if node.status is NodeStatus.READY:
            mark_node_unresponsive(self.store, node.id, **how)
        else:
            update_status(self.store, node.id, NodeStatus.READY, **how)

    def _close(self, node):
        how = {"by": CLUSTER, "now": self.now, "ids": self.ids}
        if node.drain_strategy is not None:
            complete_drain(self.store, (node.id,), by=CLUSTER, now=self.now)
        elif self.chance.random() < 0.5:
            request = DrainRequest(strategy=DrainStrategy(deadline=60 * SECOND))
            drain_node(self.store, node.id, request, **how)
        else:
            is_open = node.scheduling_eligibility is NodeEligibility.ELIGIBLE
            set_node_eligibility(
                self.store, node.id, "ineligible" if is_open else "eligible", **how
            )

    def seen(self):
        """Index, instant, and how everything stands."""
        return self.store.read(lambda reader: (
            reader.index,
            self.now,
            {place.id: place for place in reader.node_places(rack_keys())},
            {key: held for key, held in reader.node_sums().items() if held.allocations},
        ))  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_every_moment_is_told_as_it_was(sqlite_store, seed):
    fleet = Fleet(sqlite_store, seed)
    moments = []
    for _ in range(24):
        fleet.go_on()
        moments.append(fleet.seen())
    fleet.now += 10 * SECOND
    fleet.join()
    forgotten = told = 0
    for index, at, places, sums in moments:
        then = sqlite_store.read(lambda reader, i=index, a=at: fleet_then(reader, i, a))
        assert then.later == 1
        assert set(then.nodes.places) == set(places)
        assert {k: held for k, held in then.nodes.sums.items() if held.allocations} == sums
        forgotten += then.unknown
        # A node whose lines were dropped is drawn as it stands now, and counted.
        differ = sum(then.nodes.places[key] != places[key] for key in places)
        assert differ <= then.unknown
        told += len(places) - then.unknown
    assert told > 3 * forgotten


def place(**fields):

    base = NodePlace("n", "n", "dc1", "default", "", "ready", "eligible", False, 100, 100)
    return base._replace(**fields)


def memory(*lines):
    events = tuple(NodeEvent(message=message, create_index=index) for index, message in lines)
    return NodeThen(1, 10**18, events)


def test_a_node_that_was_only_silent_is_not_told_as_lost():
    silent = memory((1, "Node registered"), (5, "Node heartbeat missed"))
    assert place_then(place(), silent, 7, 0).status == NodeStatus.DISCONNECTED
    back = memory((5, "Node heartbeat missed"), (9, "Node reregistered by heartbeat"))
    assert place_then(place(), back, 7, 0).status == NodeStatus.DOWN
    assert place_then(place(), back, 4, 0).status == NodeStatus.READY
    assert place_then(place(), back, 9, 0).status == NodeStatus.READY


def test_what_nobody_knows_any_more_is_said(sqlite_store):
    fleet = Fleet(sqlite_store, 0)
    index, at, *_ = fleet.seen()
    for _ in range(12):
        for node in NODES[:1]:
            fleet.now += 10 * SECOND
            fleet._status(sqlite_store.read(lambda reader, node=node: reader.node(node.id)))
    then = sqlite_store.read(lambda reader: fleet_then(reader, index, at))
    assert "How 1 node stood then is not known any more" in forgotten_told(then)
