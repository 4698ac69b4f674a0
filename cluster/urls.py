"""Where each door is mounted."""

from django.contrib import admin
from django.urls import include, path, re_path

from cluster.api.ui_links import follow_link

admin.site.site_header = "Bivouac"
admin.site.site_title = "Bivouac"
admin.site.index_title = "Operations"
# The way back stands in our own words.
admin.site.site_url = None

urlpatterns = [
    path("v1/fleet/", include("cluster.agent.urls")),
    path("v1/", include("cluster.api.urls")),
    path(".well-known/", include("cluster.api.well_known")),
    re_path(r"^ui(?:/(?P<rest>[\s\S]*))?\Z", follow_link),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]

handler400 = "dashboard.views.errors.bad_request"
handler403 = "dashboard.views.errors.permission_denied"
handler404 = "dashboard.views.errors.not_found"
