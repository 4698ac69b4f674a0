"""The agents' door alone, mounted where the site mounts it."""

from django.urls import include, path

urlpatterns = [path("v1/fleet/", include("cluster.agent.urls"))]
