"""The nodes of some running allocations, asked together: what answered, what did not."""

import asyncio

import msgspec

from cluster.operations.agent_calls import LINKS
from cluster.operations.nodes_of_work import ask_nodes
from cluster.operations.usage_rows import SumRows
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_job

RUNS = ClientStatus.RUNNING


class Agent:
    def __init__(self, answer):
        self.answer = answer
        self.calls = []

    async def call(self, _node_id, verb, body, _given=None):
        self.calls.append((verb, body))
        yield self.answer


def on(node_id, count=1, status=RUNS):
    return [
        make_allocation(make_job(), node_id=node_id, client_status=status) for _ in range(count)
    ]


def asked(allocs, agents, **wish):
    """What the nodes told, each of them answered for by an agent."""
    for node_id, agent in agents.items():
        LINKS.add((node_id,), agent)
    try:
        return asyncio.run(ask_nodes(allocs, "allocs.usage", SumRows, **{"at_most": 9, **wish}))
    finally:
        for agent in agents.values():
            LINKS.remove(agent)


def test_each_node_is_asked_once_about_what_runs_on_it():
    agents = {"n1": Agent(msgspec.json.encode(SumRows(since=5))), "n2": Agent(b"")}
    first, second = on("n1", 2), on("n2")
    ended = on("n1", status=ClientStatus.COMPLETE)
    told = asked([*first, *ended, *second], agents, beside={"EachOver": 60})
    ids = [alloc.id for alloc in first]
    assert agents["n1"].calls == [("allocs.usage", {"AllocIDs": ids, "EachOver": 60})]
    assert told.answers == {"n1": SumRows(since=5), "n2": SumRows()}
    assert (told.running, told.count_on(), told.count_on(["n1"]), told.away) == (3, 3, 2, ())


def test_who_has_no_link_or_tells_nonsense_is_away():
    agents = {"n1": Agent(b'{"Since": "long ago"}'), "n2": Agent(b"{}")}
    told = asked([*on("n1"), *on("n2"), *on("n3", 2)], agents)
    assert told.away == ("n1", "n3")
    assert told.count_on(told.away) == 3
    assert list(told.answers) == ["n2"]


def test_beyond_the_most_nobody_is_asked_but_all_that_run_are_counted():
    agent = Agent(b"{}")
    allocs = on("n1", 3)
    told = asked(allocs, {"n1": agent}, at_most=2)
    assert agent.calls == [("allocs.usage", {"AllocIDs": [alloc.id for alloc in allocs[:2]]})]
    assert (told.running, told.count_on()) == (3, 2)
