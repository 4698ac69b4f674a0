"""Where each door is mounted."""

from django.contrib import admin
from django.urls import include, path

admin.site.site_header = "Bivouac"
admin.site.site_title = "Bivouac"
admin.site.index_title = "Operations"

urlpatterns = [
    path("v1/fleet/", include("cluster.agent.urls")),
    path("v1/", include("cluster.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]
