"""The dashboard's one door for whoever builds the process: its socket, its record, its hints."""

from collections.abc import Callable, Sequence

from django.template.loader import get_template
from django.urls import path, reverse

from cluster.installation import SHARED_FILES
from cluster.store.access import StoreAccess
from dashboard.faults import fault_page
from dashboard.live.consumers import ClusterConsumer
from dashboard.live.hub import HUB
from dashboard.live.source import StoreFrames
from dashboard.live.terminals import terminal_socket
from scheduler.ports import Clock
from scheduler.structs.evaluation import LifecycleStep

__all__ = ["fault_page", "follow", "warm_up", "websocket_urlpatterns"]

websocket_urlpatterns = [
    path("live", ClusterConsumer.as_asgi()),
    path("allocations/<str:alloc_id>/terminal/socket", terminal_socket),
]


def warm_up() -> None:
    """Load what the first page would wait for: views, addresses, templates; half a second of work.

    Called beside requests, once the server serves: a page that comes meanwhile waits no longer
    than it would without.
    """
    reverse("now")
    templates = SHARED_FILES / "templates"
    for file in sorted((templates / "dashboard").rglob("*.html")):
        get_template(str(file.relative_to(templates)))


def follow(store: StoreAccess, clock: Clock) -> Callable[[Sequence[LifecycleStep]], None]:
    """Let the live pages follow this record; call once, before the first socket opens.

    Returns the door for step hints: steps that are not in the record yet, shown at once to whoever
    looks. Call it on the event loop. Hints may be lost: the record follows within a second.
    """
    HUB.wire(StoreFrames(store), clock)
    return HUB.publish
