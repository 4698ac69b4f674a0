"""Root keys in the admin, to look at and to rotate, and the variables sealed under them.

In: a confirmed form. Out: a call of `cluster.operations.keyring`, which checks the right.
"""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.keyring import rotate_root_key, signing_key
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.rows import ReadOnlyAdmin, SinceFilter
from dashboard.operator_site import caller_of_request, may
from dashboard.rights import ROTATE_KEYS


class RootKeyAdmin(ReadOnlyAdmin):
    """Which keys there are, the one that signs first; never what they are made of."""

    list_display = ("key_id", "state", "created_at", "published_at")
    list_filter = ("state",)
    search_fields = ("key_id__startswith",)
    ordering = ("state", "-created_at")

    def get_urls(self) -> list[URLPattern]:
        """The page that asks first, beside what every table has."""
        view = self.admin_site.admin_view(self.rotate_view)
        return [path("rotate/", view, name="cluster_rootkeyrow_rotate"), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With the way to rotation, for those who may."""
        context = {"may_rotate": may(request, ROTATE_KEYS), **(extra_context or {})}
        return super().changelist_view(request, context)

    def rotate_view(self, request: HttpRequest) -> HttpResponse:
        """GET and POST .../rotate/."""
        if not may(request, ROTATE_KEYS):
            raise PermissionDenied(
                gettext("To {told} you need {word}.").format(
                    told=gettext(ROTATE_KEYS.told), word=ROTATE_KEYS.word
                )
            )
        changelist = reverse("admin:cluster_rootkeyrow_changelist")
        if request.method == "POST":
            self._rotate(request)
            return HttpResponseRedirect(changelist)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Rotate the root key"),
            "opts": self.model._meta,
            "signing": the_store().read(signing_key),
        }
        return render(request, "admin/cluster/rootkeyrow/rotate.html", context)

    def _rotate(self, request: HttpRequest) -> None:
        by = caller_of_request(request)
        moment: dict[str, Any] = {
            "now": request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
            "ids": request.ids,  # type: ignore[attr-defined]  # set by request_context
        }
        try:
            _, key = rotate_root_key(the_store(), full="full" in request.POST, by=by, **moment)
        except OperationRefused as refusal:
            note_refusal(request, by, refusal, Act("rotate root key", "root key"))
            messages.error(request, gettext("Not rotated: {refusal}").format(refusal=refusal))
        else:
            messages.success(
                request,
                gettext("The root key {key_id} signs from now on.").format(key_id=key.key_id),
            )


class VariableAdmin(ReadOnlyAdmin):
    """Which paths hold something; never what."""

    list_display = ("namespace", "path", "is_locked", "modified_at", "modify_index")
    list_filter = ("is_locked", ("modified_at", SinceFilter))
    search_fields = ("path__startswith", "=namespace")
    ordering = ("namespace", "path")


class LockTimerAdmin(ReadOnlyAdmin):
    """Locks on variables, and when each runs out."""

    list_display = ("namespace", "path", "ends_at")
    list_filter = (("ends_at", SinceFilter),)
    search_fields = ("path__startswith",)
    ordering = ("ends_at",)
