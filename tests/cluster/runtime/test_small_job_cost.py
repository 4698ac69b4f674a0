"""What one small job costs, counted: statements, commits, commands of Redis, bytes of the log.

The real parts, on one thread and in the order in which processes would do it: a job is registered
on a cluster of ten nodes, delivered, decided about, judged, committed and acked.
"""

from pathlib import Path

import pytest
import redis
from django.db import connections

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.jobs import JobRegistration, register_job
from cluster.redis_line import RedisLine
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from cluster.runtime.drainer import TYPES
from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_build import build_leader
from cluster.runtime.leader_channel import LeaderChannel
from cluster.runtime.leader_desk import LeaderDesk
from cluster.runtime.leader_protocol import (
    DEQUEUE,
    NEXT_PLANS,
    PLAN,
    PLANS_DONE,
    DequeueBody,
    NextPlansBody,
    PlanBody,
    PlansDoneBody,
    encoded_body,
)
from cluster.store.node_mirror import NodeMirror
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.writer import DjangoStateStore
from scheduler.messages import SCHEDULER_VERSION
from scheduler.plan_applier import PlanApplier
from scheduler.state.events import WriteKind
from scheduler.worker import Batch, WorkerTools
from tests.builders import make_job, make_node
from tests.callers import MANAGER
from tests.patience import PATIENCE_S

#: What the counts may be at most; where one is lower for good, write the lower one here. Questions
#: of Redis are asked again after a second, so that a slow machine asks more of them.
MOST_STATEMENTS = {"register": 23, "leader": 8, "worker": 8, "applier": 30}
MOST_COMMANDS = {"rpush": 7, "blpop": 8, "lpop": 8}
#: Writes to sockets of Redis, of which each wakes it: the leader's, the worker's, the applier's.
MOST_PIECES = 12
MOST_LOG_BYTES = 4500
#: What the two commits write to SQLite's log; it grows a little with the record.
MOST_WRITTEN_BYTES = 200_000
TRANSACTIONS = ("BEGIN", "COMMIT", "PRAGMA")
CLOCK = SystemClock()


class Lease:
    name = "leader"
    epoch = 7


class Cluster:
    """A leader at its desk, a worker and an applier, on one record."""

    def __init__(self, store, redis_url):
        self.store = store
        self.judging = DjangoStateStore(store.alias, mirror=NodeMirror())
        self.leader, _ = build_leader(RandomIDs(), chance)
        store.read(lambda reader: self.leader.restore(reader, CLOCK.moment()))
        self.inbox = Inbox(redis_url, Lease.epoch)
        self.inbox.start()
        self.desk = LeaderDesk(self.leader, self.inbox, store, Lease())
        self.worker = LeaderChannel(redis_url, "worker@here")
        self.applier = LeaderChannel(redis_url, "applier@here")
        self.snapshots = SnapshotCache(store.alias)
        self.judge = PlanApplier(RandomIDs())

    def close(self):
        for each in (self.worker, self.applier, self.snapshots):
            each.close()
        self.inbox.stop()

    def lead(self, requests=0):
        """One round of the leader, once so many requests are there."""
        found = []
        while len(found) < requests:
            found += self.inbox.drain(PATIENCE_S)
        moment = CLOCK.moment()
        for frame in self.store.frames_since(self.leader.index):
            self.leader.observe(frame, moment)
        with self.inbox.in_one_piece():
            self.desk.serve(found)
            self.desk.serve_parked()
        self.desk.commit()
        assert self.leader.tick(moment) == []

    def ask_for_work(self):
        body = DequeueBody("worker@here", TYPES, 16, 60, SCHEDULER_VERSION)
        self.asked = self.worker.send(DEQUEUE, body)
        self.worker.flush()

    def ask_for_plans(self):
        self.wanted = self.applier.send(NEXT_PLANS, NextPlansBody("applier@here", 64, 60))
        self.applier.flush()

    def answer(self, channel, asked):
        for _ in range(100):
            for answer in channel.collect(PATIENCE_S):
                assert not answer.error, answer.error
                if answer.id == asked:
                    return answer
        pytest.fail("no answer came")

    def decide(self):
        """The worker: from a delivery to a plan that is out."""
        deliveries = DEQUEUE.read_answer(self.answer(self.worker, self.asked))
        tools = WorkerTools(
            snapshot=self.snapshots.snapshot_at, ids=RandomIDs(), matcher=Re2Matcher()
        )
        self.batch = Batch(tools, deliveries)
        with self.snapshots.batch():
            (plan,) = self.batch.begin_all(now=CLOCK.now()).plans
        claim = self.batch.claim(plan.id)
        body = PlanBody("worker@here", plan.outline, plan.size, encoded_body(plan), claim)
        self.asked = self.worker.send(PLAN, body)
        self.worker.flush()

    def apply(self, committed=lambda: None):
        """The applier: from plans to what it tells of them, and its next question."""
        queued = NEXT_PLANS.read_answer(self.answer(self.applier, self.wanted))
        outcomes = self.judge.apply(self.judging, queued, CLOCK.moment())
        committed()
        plans = {item.plan.id: item.plan for item in queued}
        told = tuple(outcome.without(plans[outcome.plan_id]) for outcome in outcomes)
        self.applier.send(PLANS_DONE, PlansDoneBody("applier@here", told))
        self.ask_for_plans()

    def finish(self):
        """The worker hears of it, and asks for more."""
        outcome = PLAN.read_answer(self.answer(self.worker, self.asked))
        assert self.batch.answer(outcome, now=CLOCK.now()).finishes == ()
        assert self.batch.is_done


@pytest.fixture
def cluster(sqlite_store, redis_url):
    def join(change):
        for number in range(10):
            change.put_node(make_node(number))

    sqlite_store.write(WriteKind.NODE_REGISTRATION, join, now=CLOCK.now())
    opened = Cluster(sqlite_store, redis_url)
    yield opened
    opened.close()


class Counted:
    """The statements of every connection of the thread, by who is at work."""

    def __init__(self, monkeypatch, cluster):
        self.by = {}
        self.who = ""
        self.transactions = 0
        self._listen(connections[cluster.store.alias])
        made = SnapshotCache._begin_at

        def begin_at(cache, index):
            connection, reached = made(cache, index)
            self._listen(connection)
            return connection, reached

        monkeypatch.setattr(SnapshotCache, "_begin_at", begin_at)

    def _listen(self, connection):
        connection.ensure_connection()
        connection.connection.set_trace_callback(self._note)

    def _note(self, statement):
        self.transactions += statement == "BEGIN IMMEDIATE"
        if not statement.startswith(TRANSACTIONS):
            self.by.setdefault(self.who, []).append(statement)

    def during(self, who, work, *args):
        self.who = who
        return work(*args)


def one_job(cluster, counted, number):
    """A job on its way, from its registration to the leader's ack."""
    request = JobRegistration(job=make_job(id=f"job-{number}"))
    means = {"by": MANAGER, "now": CLOCK.now(), "ids": RandomIDs()}
    counted.during("register", lambda: register_job(cluster.store, request, **means))
    counted.during("leader", cluster.lead)
    counted.during("worker", cluster.decide)
    counted.during("leader", cluster.lead, 1)
    counted.during("applier", cluster.apply)
    counted.during("applier", cluster.applier.flush)
    counted.during("leader", cluster.lead, 2)
    counted.during("worker", cluster.finish)
    assert cluster.leader.stats().broker.total_unacked == 0
    cluster.ask_for_work()
    counted.during("leader", cluster.lead, 1)


def test_one_small_job_costs_what_it_did(cluster, redis_url, monkeypatch):
    counted = Counted(monkeypatch, cluster)
    cluster.ask_for_work()
    cluster.ask_for_plans()
    cluster.lead(2)
    # The first one fills caches.
    one_job(cluster, counted, 1)
    client = redis.Redis.from_url(redis_url)
    before, index = client.info("commandstats"), cluster.store.index
    log = Path(f"{connections[cluster.store.alias].settings_dict['NAME']}-wal")
    written = log.stat().st_size
    counted.by.clear()
    counted.transactions = 0
    pieces = []
    write = RedisLine._write
    monkeypatch.setattr(RedisLine, "_write", lambda *args: pieces.append(args) or write(*args))
    one_job(cluster, counted, 2)
    monkeypatch.undo()

    found = {who: len(statements) for who, statements in counted.by.items()}
    assert {who: n for who, n in found.items() if n > MOST_STATEMENTS.get(who, 0)} == {}, found
    # Two durable commits: the registration, and the plan with all that its run leaves.
    assert (cluster.store.index - index, counted.transactions) == (2, 2)
    after = client.info("commandstats")
    said = {
        name: after[f"cmdstat_{name}"]["calls"] - before[f"cmdstat_{name}"]["calls"]
        for name in MOST_COMMANDS
    }
    assert {name: n for name, n in said.items() if n > MOST_COMMANDS[name]} == {}, said
    assert len(pieces) <= MOST_PIECES
    with connections[cluster.store.alias].cursor() as cursor:
        cursor.execute('SELECT SUM(size) FROM event WHERE "index" > %s', (index,))
        assert cursor.fetchone()[0] <= MOST_LOG_BYTES
    assert 0 < log.stat().st_size - written <= MOST_WRITTEN_BYTES
    assert len(cluster.store.read(lambda reader: list(reader.allocations()))) == 2
    client.close()
