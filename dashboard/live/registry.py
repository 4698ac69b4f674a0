"""Which kind of subscription opens which room. Wiring only."""

from dashboard.live.chain_room import ChainRoom, TidyRoom, TimelineRoom
from dashboard.live.drain_room import DrainRoom
from dashboard.live.evaluations_room import EvaluationsRoom
from dashboard.live.jobs_room import JobsRoom
from dashboard.live.navigation_room import NavigationRoom
from dashboard.live.nodes_room import NodesRoom
from dashboard.live.overview_room import OverviewRoom
from dashboard.live.rooms import EvaluationRoom, Room
from dashboard.live.subscriptions import Subscription
from dashboard.queries import allocation, allocations, job  # noqa: F401 - they register panels

ROOMS: dict[str, type[Room]] = {
    "chain": ChainRoom,
    "drains": DrainRoom,
    "evaluation": EvaluationRoom,
    "evaluations": EvaluationsRoom,
    "jobs": JobsRoom,
    "navigation": NavigationRoom,
    "nodes": NodesRoom,
    "overview": OverviewRoom,
    "tidy": TidyRoom,
    "timeline": TimelineRoom,
}


def room_for(subscription: Subscription) -> Room:
    """A new, unloaded room."""
    return ROOMS.get(subscription.kind, Room)(subscription)
