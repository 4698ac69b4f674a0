"""The front door: static files, API and agents without page middleware, pages, websockets."""

import os
from threading import Thread
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")

import django

django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import connection

from cluster.agent.channel import AgentChannel
from cluster.agent.channel_relay import ChannelRelay
from cluster.agent.protocol import MAX_BODY
from cluster.api.edge import Edge
from cluster.api.faults import answer_fault
from cluster.api.session_door import SessionDoor
from cluster.api.urls import urlpatterns
from cluster.front_door import Gate, OriginCheck, PathRouter, StaticFiles
from cluster.lean_handler import LeanHandler
from cluster.operations.agent_calls import LINKS
from cluster.route_index import RouteIndex
from cluster.runtime.calm_collector import WEB_YOUNG, calm_collector
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.frozen_record import FrozenRecord, Pulse, ask_database
from cluster.runtime.health_watch import HealthWatch
from cluster.runtime.rehearsal_desk import RehearsalDesk
from cluster.runtime.serving import once_serving
from cluster.runtime.sign_of_life import SignOfLife
from cluster.runtime.step_hints import StepHints
from cluster.store.access import the_store
from dashboard import wiring

show_hints = wiring.follow(the_store(), SystemClock())
SignOfLife(HealthWatch(settings.BIVOUAC_REDIS_URL)).begin_with_server()
RehearsalDesk().begin_with_server()
once_serving(ChannelRelay(settings.BIVOUAC_REDIS_URL, LINKS, RandomIDs()).begin)


def _settle() -> None:
    """Load what only pages need, so that the first one does not wait; all that stays is there."""
    wiring.warm_up()
    calm_collector(young=WEB_YOUNG)


once_serving(Thread(target=_settle, name="warm-up", daemon=True).start)

pages: Any = get_asgi_application()
programs: Any = LeanHandler(answer_fault, RouteIndex("/v1/", urlpatterns))
if connection.vendor == "postgresql":
    # A file answers or fails; a database behind a network may do neither.
    pulse = Pulse(ask_database)
    pages = FrozenRecord(pages, pulse, wiring.fault_page)
    programs = FrozenRecord(programs, pulse, answer_fault)

application = ProtocolTypeRouter(
    {
        "http": Gate(
            PathRouter(
                {"/v1/": Edge(programs), "/.well-known/": programs, "/static/": StaticFiles()},
                default=pages,
            ),
            MAX_BODY,
            larger={"/v1/operator/snapshot": settings.BIVOUAC_SNAPSHOT_BYTES},
        ),
        "websocket": PathRouter(
            {
                "/v1/fleet/channel": AgentChannel.as_asgi(SystemClock().now),
                "/v1/": SessionDoor(SystemClock()),
            },
            default=OriginCheck(
                AuthMiddlewareStack(
                    StepHints(
                        URLRouter(wiring.websocket_urlpatterns),
                        settings.BIVOUAC_REDIS_URL,
                        show_hints,
                    )
                ),
                settings.CSRF_TRUSTED_ORIGINS,
            ),
        ),
    }
)
