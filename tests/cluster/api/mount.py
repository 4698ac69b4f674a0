"""The API alone, mounted where the site mounts it."""

from django.urls import include, path

urlpatterns = [
    path("v1/", include("cluster.api.urls")),
    path(".well-known/", include("cluster.api.well_known")),
]
