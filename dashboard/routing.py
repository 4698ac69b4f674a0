"""Which websocket paths lead to which consumer. Wiring only."""

from django.urls import path

from dashboard import panels
from dashboard.live.consumers import ClusterConsumer

panels.register()

websocket_urlpatterns = [path("live", ClusterConsumer.as_asgi())]
