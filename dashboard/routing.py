"""Which websocket paths lead to which consumer. Wiring only."""

from django.urls import path

from dashboard.live.consumers import ClusterConsumer

websocket_urlpatterns = [path("live", ClusterConsumer.as_asgi())]
