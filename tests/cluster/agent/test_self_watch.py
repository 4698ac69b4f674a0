"""A node that looks at itself again: what changed is told, what did not is not."""

from msgspec.structs import replace

from cluster.agent.drivers.driver import healthy, unhealthy
from cluster.agent.self_watch import SelfWatch, driver_events
from scheduler.structs.node import NodeEvent
from tests.builders import make_node


class Told:
    """The server end, as far as it is spoken to."""

    def __init__(self):
        self.registrations = 0
        self.events = []

    def node_changed(self):
        self.registrations += 1

    async def emit(self, *events):
        self.events += events


def node_at(now, *drivers):
    infos = drivers or (healthy("mock_driver", now),)
    names = ("mock_driver", "raw_exec")
    return replace(make_node(id="n"), drivers=dict(zip(names, infos, strict=False)))


async def test_a_machine_that_did_not_change_tells_nothing():
    told = Told()
    watch = SelfWatch(node_at(1), lambda: node_at(2), told, lambda: 2)
    await watch.look_again()
    assert (watch.node, told.registrations, told.events) == (node_at(1), 0, [])


async def test_another_attribute_makes_the_node_register_again():
    told = Told()
    changed = replace(node_at(2), attributes={"kernel.version": "7"})
    watch = SelfWatch(node_at(1), lambda: changed, told, lambda: 2)
    await watch.look_again()
    assert watch.node.attributes == {"kernel.version": "7"}
    assert watch.node.drivers == node_at(1).drivers
    assert (told.registrations, told.events) == (1, [])


async def test_a_driver_that_falls_ill_is_a_line_of_history():
    told = Told()
    watch = SelfWatch(node_at(1), lambda: node_at(2, unhealthy("no disk", 2)), told, lambda: 2)
    await watch.look_again()
    assert watch.node.drivers["mock_driver"] == unhealthy("no disk", 2)
    assert told.registrations == 1
    assert told.events == [
        NodeEvent(
            message="no disk", subsystem="Driver", details={"driver": "mock_driver"}, timestamp=2
        )
    ]


def test_a_driver_seen_for_the_first_time_is_no_news():
    after = {"mock_driver": healthy("mock_driver", 1)}
    assert driver_events({}, after, 1) == ()
