"""Which kind of subscription opens which room. Wiring only."""

from dashboard.live.chain_room import ChainRoom
from dashboard.live.rooms import EvaluationRoom, Room
from dashboard.live.subscriptions import Subscription

ROOMS: dict[str, type[Room]] = {"evaluation": EvaluationRoom, "chain": ChainRoom}


def room_for(subscription: Subscription) -> Room:
    """A new, unloaded room."""
    return ROOMS.get(subscription.kind, Room)(subscription)
