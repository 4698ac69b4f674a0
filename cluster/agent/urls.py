"""Where agents call: everything below `/v1/fleet/`. The channel is mounted in `cluster.asgi`."""

from django.urls import path

from cluster.agent import endpoints
from cluster.agent.data_endpoint import give_data
from cluster.agent.drain_endpoint import give_drain, take_drain
from cluster.agent.endpoints import endpoint
from cluster.agent.lookup_endpoint import give_lookups
from cluster.agent.service_endpoint import give_identity, take_services

urlpatterns = [
    path("register", endpoint("POST", endpoints.take_registration)),
    path("beat", endpoint("POST", endpoints.take_beat)),
    path("allocations", endpoint("GET", endpoints.give_allocations)),
    path("allocations/fetch", endpoint("POST", endpoints.give_whole_allocations)),
    path("allocations/ended", endpoint("POST", endpoints.give_ended)),
    path("report", endpoint("POST", endpoints.take_report)),
    path("drain", endpoint("POST", take_drain)),
    path("drain/status", endpoint("GET", give_drain)),
    path("identity", endpoint("POST", give_identity)),
    path("data/<str:alloc_id>", give_data),
    path("services", endpoint("POST", take_services)),
    path("lookups", endpoint("POST", give_lookups)),
    path("events", endpoint("POST", endpoints.take_events)),
]
