"""An agent that drains its node before it ends, and the server's end of it."""

import asyncio
from types import SimpleNamespace

import pytest

from cluster.agent.config_values import DrainOnShutdown
from cluster.agent.protocol import Drained, DrainMe
from cluster.agent.self_drain import drain_itself
from cluster.agent.server_link import CallFailed
from cluster.operations.nodes import complete_drain
from scheduler.access.caller import CLUSTER
from tests.cluster.agent.callers import NOW

SECOND = 1_000_000_000


async def test_a_node_drains_itself_and_nobody_else(store, agent):
    asked = DrainMe(deadline=300 * SECOND, ignore_system_jobs=True)
    answer = await agent.call("POST", "drain", asked)
    assert (answer.status, answer.json["IsDraining"]) == (200, True)
    node = await store.aread(lambda reader: reader.node(agent.node.id))
    assert node.drain_strategy.deadline == 300 * SECOND
    assert node.drain_strategy.ignore_system_jobs
    assert node.last_drain.meta == {"message": "shutting down"}
    assert node.scheduling_eligibility == "ineligible"
    assert (await agent.call("GET", "drain/status")).json["IsDraining"] is True

    agent.secret = "not its own"
    assert (await agent.call("POST", "drain", asked)).status == 403
    assert (await agent.call("GET", "drain/status")).status == 403


async def test_a_drain_under_way_goes_on_and_ends_with_the_node_closed(store, agent):
    await agent.call("POST", "drain", DrainMe(deadline=300 * SECOND))
    await agent.call("POST", "drain", DrainMe(deadline=SECOND))
    node = await store.aread(lambda reader: reader.node(agent.node.id))
    assert node.drain_strategy.deadline == 300 * SECOND
    await store.awrite_call(complete_drain, (agent.node.id,), by=CLUSTER, now=NOW)
    assert (await agent.call("GET", "drain/status")).json["IsDraining"] is False
    node = await store.aread(lambda reader: reader.node(agent.node.id))
    assert node.scheduling_eligibility == "ineligible"


class Link:
    """A server that says in turn what it was given; None: it is not reached."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def _next(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise CallFailed("away")
        return answer

    async def drain_me(self, deadline, *, ignore_system_jobs):
        self.asked.append((deadline, ignore_system_jobs))
        return Drained(is_draining=self._next())

    async def is_draining(self):
        return self._next()


class Time:
    def __init__(self, monkeypatch):
        self.seconds = 0.0
        monkeypatch.setattr(asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds):
        self.seconds += seconds

    def monotonic(self):
        return self.seconds


def running(*kinds):
    def entry(kind):
        runner = SimpleNamespace(is_terminal=False, job=SimpleNamespace(type=kind))
        return SimpleNamespace(runner=runner)

    return SimpleNamespace(entries={str(n): entry(kind) for n, kind in enumerate(kinds)})


@pytest.mark.parametrize(
    ("answers", "work", "seconds"),
    [
        pytest.param((True, True, True, False), ("service",), 3, id="drained"),
        pytest.param((True, True), ("service",), 25, id="deadline-and-margin"),
        pytest.param((None, True, False), ("service",), 2, id="asked-again"),
        pytest.param((None,), (), 0, id="server-away-nothing-runs"),
        pytest.param((None,), ("system",), 0, id="server-away-system-ignored"),
        pytest.param((None,), ("service",), 25, id="server-away"),
    ],
)
async def test_it_waits_for_the_end_of_the_drain_and_no_longer(
    answers, work, seconds, monkeypatch
):
    time, link = Time(monkeypatch), Link(*answers)
    plan = DrainOnShutdown(20 * SECOND, ignore_system_jobs=True)
    await drain_itself(plan, link, running(*work), time)
    assert time.seconds == seconds
    assert set(link.asked) == {(20 * SECOND, True)}
