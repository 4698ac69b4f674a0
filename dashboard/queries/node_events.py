"""The lines of a node's history in words for people.

In: a NodeEvent as the record and the API keep it. Out: the same with a sentence for its message.
"""

import msgspec
from django.utils.translation import gettext, gettext_noop

from scheduler.structs.node import CLOCK_OFF_BY, NodeEvent

#: By the stored message; others keep their own words.
_WORDS = {
    "Node drain strategy set": gettext_noop("Its drain began."),
    "Node drain strategy updated": gettext_noop("Its drain was changed."),
    "Node drain disabled": gettext_noop("Its drain was canceled."),
    "Node drain complete": gettext_noop("Its drain is complete."),
    "Node marked as eligible for scheduling": gettext_noop(
        "Opened: new allocations may be placed here."
    ),
    "Node marked as ineligible for scheduling": gettext_noop(
        "Closed: nothing new is placed here."
    ),
    "Node marked as ineligible for scheduling due to multiple plan rejections": (
        gettext_noop("Closed by itself: it refused too many plans.")
    ),
    "Node registered": "Joined.",
    "Node re-registered": gettext_noop("Registered again."),
    "Node reregistered by heartbeat": gettext_noop("Came back: its heartbeats arrive again."),
    "Node registered but waiting for node pool to be created": (
        gettext_noop("Joined, and waits for its node pool to be created.")
    ),
    "Node heartbeat missed": gettext_noop("Fell silent: it missed its heartbeat."),
}


def told_event(event: NodeEvent) -> NodeEvent:
    """The event as a page tells it."""
    details = event.details
    if event.message == "Node drain complete" and "deadline_reached" in details:
        rest = {key: value for key, value in details.items() if key != "deadline_reached"}
        message = gettext("Its drain is complete: the deadline stopped what was left.")
        return msgspec.structs.replace(event, message=message, details=rest)
    if CLOCK_OFF_BY in details:
        rest = {key: value for key, value in details.items() if key != CLOCK_OFF_BY}
        message = f"Its{event.message.removeprefix('Node')}."
        return msgspec.structs.replace(event, message=message, details=rest)
    return msgspec.structs.replace(
        event, message=gettext(_WORDS[event.message]) if event.message in _WORDS else event.message
    )
