"""Clocks of nodes that differ from the server's: told once, by how much, and when it is over."""

import re

import pytest
from msgspec.structs import replace

from cluster.agent.clock_watch import ClockWatch, tolerance
from cluster.agent.protocol import Beat
from cluster.runtime.clock import SystemClock
from tests.builders import make_node
from tests.cluster.agent.callers import AgentCaller

SECOND = 1_000_000_000
NOW = 1_750_000_000 * SECOND
LIMIT = 10 * SECOND


class Heard:
    """A node whose history takes in what is told of its clock."""

    def __init__(self):
        self.watch = ClockWatch()
        self.node = make_node()

    def beat(self, off_by_s):
        sent_at = NOW + round(off_by_s * SECOND) if off_by_s is not None else 0
        event = self.watch.hear(self.node, sent_at, now=NOW, limit=LIMIT)
        if event is not None:
            self.node = replace(self.node, events=(*self.node.events, event))
        return event.message if event else ""


@pytest.mark.parametrize(
    ("offs", "told"),
    [
        pytest.param([9.9, -9.9, 0], ["", "", ""], id="within-a-heartbeat"),
        pytest.param([None, None], ["", ""], id="an-agent-that-does-not-say"),
        pytest.param([-60, 0, -60, 0], ["", "", "", ""], id="single-late-beats"),
        pytest.param([-60, 60], ["", ""], id="once-each-way"),
        pytest.param(
            [-60, -61, -62],
            ["", "Node clock is 61 s behind the server's", ""],
            id="behind-is-told-once",
        ),
        pytest.param(
            [30, 30, 0, 30, 30],
            [
                "",
                "Node clock is 30 s ahead of the server's",
                "Node clock agrees with the server's again",
                "",
                "Node clock is 30 s ahead of the server's",
            ],
            id="told-again-after-it-agreed",
        ),
    ],
)
def test_what_beats_say_of_a_clock(offs, told):
    heard = Heard()
    assert [heard.beat(off) for off in offs] == told


def test_another_web_process_goes_by_what_the_history_says():
    heard = Heard()
    heard.beat(60)
    heard.beat(60)
    heard.watch = ClockWatch()
    assert [heard.beat(60), heard.beat(60)] == ["", ""]
    assert heard.beat(0) == "Node clock agrees with the server's again"


def test_a_beat_may_take_as_long_as_its_node_waits_for_the_answer():
    assert (tolerance(0.1), tolerance(10)) == (5 * SECOND, 10 * SECOND)


async def test_a_clock_that_is_off_is_named_in_the_events_of_its_node(store):
    agent = AgentCaller(1)
    await agent.join()
    # The server's clock is that of this machine.
    late = SystemClock().now() - 3600 * SECOND
    for _ in range(3):
        assert (await agent.call("POST", "beat", Beat(sent_at=late))).status == 200
    node = await store.aread(lambda reader: reader.node(agent.node.id))
    about = [event.message for event in node.events if event.message.startswith("Node clock")]
    assert len(about) == 1
    # The beats themselves take a while.
    assert re.fullmatch(r"Node clock is 3[67]\d\d s behind the server's", about[0])
    assert node.clock_off_by_ms < -3_590_000
