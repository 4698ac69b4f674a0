"""The tables of access in the admin: tokens without what they open doors with, rules, acts.

In: rows. Out: lists and forms. No secret and no hash of one is among their columns.
"""

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy

from dashboard.admin.rows import ListOnlyAdmin, ReadOnlyAdmin, SinceFilter
from dashboard.wording import number


class ApiTokenAdmin(ReadOnlyAdmin):
    """API tokens, without what they open doors with."""

    list_display = ("accessor_id", "name", "type", "created_at", "expires_at")
    list_filter = ("type", ("created_at", SinceFilter))
    search_fields = ("name", "accessor_id__startswith")
    ordering = ("created_at", "accessor_id")


class JoinTokenAdmin(ListOnlyAdmin):
    """Join tokens, without their hashes."""

    list_display = ("name", "uses", "nodes_joined", "created", "expires")
    list_filter = (("created", SinceFilter),)
    search_fields = ("name",)
    ordering = ("created",)

    @admin.display(description=gettext_lazy("Uses left"), ordering="uses_left")
    def uses(self, row: Any) -> str:
        """How many nodes it still admits."""
        return "unlimited" if row.uses_left < 0 else number(row.uses_left)


class OneTimeTokenAdmin(ListOnlyAdmin):
    """What stands, once, for an API token."""

    list_display = ("accessor_id", "expires")
    search_fields = ("accessor_id__startswith",)
    ordering = ("expires",)


class TokenUseAdmin(ReadOnlyAdmin):
    """When each API token was used last."""

    list_display = ("accessor_id", "used_at")
    list_filter = (("used_at", SinceFilter),)
    search_fields = ("accessor_id__startswith",)
    ordering = ("-used_at",)


class LoginAdmin(ListOnlyAdmin):
    """Links that sign a user in once."""

    list_display = ("user", "used", "expires")
    list_filter = ("used",)
    search_fields = ("user__username",)
    ordering = ("expires",)


class AuditTableAdmin(ReadOnlyAdmin):
    """Who did what, newest first."""

    list_display = ("at", "result", "who_name", "act", "target_id", "door", "address", "count")
    list_filter = ("result", "door", "who_kind", ("at", SinceFilter))
    search_fields = ("who_name", "target_id", "address")
    ordering = ("-id",)


class JoinedNodeAdmin(ReadOnlyAdmin):
    """Which nodes came in by which join token."""

    list_display = ("node_id", "join_token", "at")
    list_filter = (("at", SinceFilter),)
    search_fields = ("node_id__startswith", "join_token")
    ordering = ("-at", "node_id")


class BindingRuleAdmin(ReadOnlyAdmin):
    """What those get who sign in."""

    list_reads_bodies = True
    list_display = ("id", "auth_method", "description")
    list_filter = ("auth_method",)
    search_fields = ("id__startswith", "auth_method")
    ordering = ("auth_method", "id")

    @admin.display(description="Description")
    def description(self, row: Any) -> str:
        """In the words of whoever made it."""
        return str(row.value.description)
