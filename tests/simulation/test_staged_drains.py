"""Staged drains in a whole control plane: k at a time, through new leaders, canceled, crossed."""

import pytest
from msgspec.structs import replace

from cluster.operations.errors import Conflict, NotFound, OperationRefused
from cluster.operations.nodes import DrainRequest, drain_node, purge_node
from cluster.operations.staged_drains import (
    MOST_KEPT,
    MOST_NODES,
    StagedDrainRequest,
    advance_staged_drain,
    cancel_staged_drain,
    start_staged_drain,
)
from cluster.rehearsal.clients import Clients
from scheduler.access.caller import CLUSTER
from scheduler.commands import AdvanceDrain
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.node import DrainStrategy, NodeEligibility
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus
from scheduler.structs.story import StoryKind
from tests.builders import make_node
from tests.callers import MANAGER
from tests.simulation.world import World

NODES = [make_node(number, name=f"n{number}") for number in range(1, 7)]
IDS = tuple(node.id for node in NODES)
#: So long a stage may take, seconds.
PATIENCE = 200


class Site:
    """Six nodes with a service, one more to move to, and clients that do what they are asked."""

    def __init__(self):
        self.world = World()
        self.clients = Clients(self.world.store, self.world.ids)
        self.seen = 0
        self.most = 0
        self.world.put_nodes(*NODES, make_node(7, name="stays"))
        task = {"Name": "main", "Driver": "mock_driver", "Resources": {"CPU": 400}}
        self.world.register({"Count": 6, "Tasks": [task]})
        self.settle(20)

    @property
    def means(self):
        return {"by": MANAGER, "now": self.world.clock.now(), "ids": self.world.ids}

    def start(self, node_ids=IDS, at_once=2, **more):
        request = StagedDrainRequest(node_ids=tuple(node_ids), at_once=at_once, **more)
        return start_staged_drain(self.world.store, request, **self.means).id

    def settle(self, seconds, until=lambda: False):
        for _ in range(seconds):
            self.world.tick(1)
            self.world.work_off()
            frames = self.world.store.frames_since(self.seen, 100_000)
            self.seen = self.world.store.index
            now = self.world.clock.now()
            self.clients.observe(frames, now)
            self.clients.act(now)
            self.world.follow()
            self.most = max(self.most, len(self.draining()))
            if until():
                return

    def draining(self):
        nodes = (self.world.store.node(key) for key in IDS)
        return {node.name for node in nodes if node is not None and node.drain_strategy}

    def drain(self, drain_id):
        return self.world.store.get(STAGED_DRAINS, drain_id)

    def has_ended(self, drain_id):
        return lambda: self.drain(drain_id).status is not StagedDrainStatus.RUNNING


@pytest.fixture
def site():
    return Site()


@pytest.mark.parametrize("at_once", [1, 2, 6])
def test_so_many_drain_at_once_until_all_are_empty(site, at_once):
    drain_id = site.start(at_once=at_once)
    assert len(site.draining()) == at_once
    site.settle(PATIENCE, site.has_ended(drain_id))
    assert site.drain(drain_id).status is StagedDrainStatus.COMPLETE
    assert site.most <= at_once
    nodes = [site.world.store.node(key) for key in IDS]
    assert {node.last_drain.status for node in nodes} == {"complete"}


def test_all_of_it_is_one_story_that_names_who_began_it(site):
    drain_id = site.start(meta={"message": "kernel", "by": "kim"})
    site.settle(PATIENCE, site.has_ended(drain_id))
    drains = [
        story for story in site.world.store.list_all(STORIES) if story.kind is StoryKind.DRAIN
    ]
    assert [(story.node_count, story.reason) for story in drains] == [(6, "kernel")]
    links = site.world.store.list_by(STORY_NODES, "story", drains[0].id)
    assert {link.node_id for link in links} == set(IDS)
    made = {
        each.story_id
        for each in site.world.store.evaluations()
        if each.triggered_by == "node-drain"
    }
    assert made == {drains[0].id}


def test_a_leader_that_changes_after_every_step_neither_loses_nor_repeats_one(site):
    drain_id = site.start()
    for _ in range(PATIENCE):
        site.world.new_leader()
        site.settle(3, site.has_ended(drain_id))
        if site.has_ended(drain_id)():
            break
    assert site.drain(drain_id).status is StagedDrainStatus.COMPLETE
    assert site.most == 2
    nodes = [site.world.store.node(key) for key in IDS]
    begun = [event.message for node in nodes for event in node.events].count(
        "Node drain strategy set"
    )
    assert begun == 6


def test_a_step_that_is_asked_for_twice_is_taken_once(site):
    drain_id = site.start()
    before = site.drain(drain_id)
    index = site.world.store.index
    for _ in range(2):
        found = advance_staged_drain(site.world.store, drain_id, by=CLUSTER, now=1)
        assert found is None
    assert (site.drain(drain_id), site.world.store.index) == (before, index)


def test_a_command_that_failed_comes_again(site):
    drain_id = site.start(at_once=1)
    real = site.world.commands.carry_out
    refused = []

    def fails(command):
        if isinstance(command, AdvanceDrain) and len(refused) < 3:
            refused.append(command)
            raise OperationRefused("the disk is full")
        real(command)

    site.world.commands.carry_out = fails
    site.settle(PATIENCE, site.has_ended(drain_id))
    assert (len(refused), site.drain(drain_id).status) == (3, StagedDrainStatus.COMPLETE)


@pytest.mark.parametrize("reopens", [True, False])
def test_canceled_in_the_middle_nothing_further_begins(site, reopens):
    drain_id = site.start(close_first=True)
    assert len(site.drain(drain_id).closed) == 6
    site.settle(PATIENCE, lambda: site.drain(drain_id).begun > 2)
    begun = site.drain(drain_id).begun
    canceled = cancel_staged_drain(site.world.store, drain_id, mark_eligible=reopens, **site.means)
    site.world.follow()
    site.settle(40)
    assert (canceled.status, canceled.begun) == (StagedDrainStatus.CANCELED, begun)
    assert site.draining() == set()
    waiting = [site.world.store.node(key) for key in IDS[begun:]]
    wanted = NodeEligibility.ELIGIBLE if reopens else NodeEligibility.INELIGIBLE
    assert {node.scheduling_eligibility for node in waiting} == {wanted}
    assert not any(node.last_drain for node in waiting)
    with pytest.raises(Conflict, match="canceled already"):
        cancel_staged_drain(site.world.store, drain_id, **site.means)


def test_nodes_that_others_drain_or_purge_meanwhile_are_no_obstacle(site):
    drain_id = site.start(at_once=1)
    alone = DrainRequest(strategy=DrainStrategy())
    drain_node(site.world.store, IDS[3], alone, **site.means)
    purge_node(site.world.store, IDS[2], **site.means)
    purge_node(site.world.store, IDS[0], **site.means)
    site.world.follow()
    site.settle(PATIENCE, site.has_ended(drain_id))
    assert site.drain(drain_id).status is StagedDrainStatus.COMPLETE
    assert site.world.store.node(IDS[5]).last_drain.status == "complete"


def test_every_problem_of_a_request_is_named_and_nothing_is_written(site):
    running = site.start(IDS[:1])
    drain_node(site.world.store, IDS[1], DrainRequest(strategy=DrainStrategy()), **site.means)
    index = site.world.store.index
    with pytest.raises(OperationRefused) as refusal:
        site.start(("gone", IDS[0], IDS[1], IDS[2], IDS[2]), at_once=0)
    assert str(refusal.value).split("; ") == [
        "AtOnce: must be from 1 to 1000",
        "NodeIDs[0]: there is no node gone",
        f"NodeIDs[1]: node n1 is in staged drain {running}, which runs",
        "NodeIDs[2]: node n2 drains already",
        f"NodeIDs[4]: node {IDS[2]} is named twice",
    ]
    for bad, words in (((), "names no node"), (["x"] * (MOST_NODES + 1), "at most 1000")):
        with pytest.raises(OperationRefused, match=words):
            site.start(tuple(bad))
    with pytest.raises(NotFound):
        cancel_staged_drain(site.world.store, "none", **site.means)
    assert site.world.store.index == index


def test_of_those_that_ended_the_newest_are_kept(site):
    old = StagedDrain(status=StagedDrainStatus.COMPLETE)

    def work(change):
        for number in range(MOST_KEPT + 5):
            change.put(STAGED_DRAINS, replace(old, id=f"s{number}", modify_index=number))

    site.world.store.write("made", work, now=1)
    site.world.follow()
    running = site.start()
    kept = {drain.id for drain in site.world.store.list_all(STAGED_DRAINS)}
    assert len(kept) == MOST_KEPT
    assert {running, f"s{MOST_KEPT + 4}"} <= kept
    assert "s0" not in kept
