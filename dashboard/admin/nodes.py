"""Nodes in the admin: what each has and does, and the actions on them.

In: selected rows, on one page of the list or on all. Out: the list; the pages of `node_acts`.
"""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from cluster.models import NodeBeatRow, NodeRow, NodeUseRow
from cluster.operations.nodes import set_node_eligibility
from cluster.store.access import the_store
from dashboard.admin.act_page import ActingAdmin, AdminAct, moment_of
from dashboard.admin.chosen import MOST_CHOSEN
from dashboard.admin.node_acts import NodeActs, node_acts, use_of
from dashboard.admin.rows import badge
from dashboard.operator_site import may
from dashboard.queries.nodes import node_state
from dashboard.rights import ADMIN_ACTIONS
from dashboard.templatetags.cluster_tags import at
from dashboard.texts import plural
from dashboard.wording import number
from scheduler.structs.node import NodeEligibility


class DrainFilter(admin.BooleanFieldListFilter):
    """By the word for it, not by the column's."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.title = "drain"


class NodeAdmin(NodeActs, ActingAdmin):
    """Nodes: to read, to open and close, to drain and to purge."""

    word = "node"
    words = plural("{count} node", "{count} nodes")
    columns = ("State", "Allocations")
    list_reads_bodies = True
    list_display = ("name", "state", "allocations", "cpu", "memory", "heard", "place", "board")
    list_filter = (
        "status", "eligibility", ("is_draining", DrainFilter), "datacenter", "node_pool",
        "status_changed_at",
    )  # fmt: skip
    search_fields = ("name", "id__startswith")
    ordering = ("name", "id")
    actions = (
        "drain_selected", "cancel_selected", "set_eligible", "set_ineligible", "purge_selected",
    )  # fmt: skip

    @property
    def acts(self) -> tuple[AdminAct, ...]:  # type: ignore[override]  # of this very table
        """The pages that ask first."""
        return node_acts(self)

    def get_queryset(self, request: HttpRequest) -> QuerySet[NodeRow]:
        """Each row with what is taken of it and its last beat, in one statement."""
        use = NodeUseRow.objects.filter(node_id=OuterRef("pk")).values("body")
        beat = NodeBeatRow.objects.filter(node_id=OuterRef("pk")).values("beat_at")
        rows = super().get_queryset(request)
        found: QuerySet[NodeRow] = rows.annotate(use=Subquery(use), beat=Subquery(beat))
        return found

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Those that whoever asks has the right to."""
        return {
            name: action
            for name, action in super().get_actions(request).items()
            if may(request, ADMIN_ACTIONS[name])
        }

    def cells(self, row: Any) -> tuple[str, str, tuple[object, ...]]:
        """Its page, its name, state and allocations."""
        return f"/nodes/{row.pk}/", row.name, (self.state(row), self.allocations(row))

    @admin.action(description=gettext_lazy("Drain selected nodes…"))
    def drain_selected(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Ask how first."""
        return self.ask(request, "admin:cluster_noderow_drain", rows)

    @admin.action(description=gettext_lazy("Cancel drain…"))
    def cancel_selected(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Ask what becomes of the nodes first."""
        return self.ask(request, "admin:cluster_noderow_cancel_drain", rows)

    @admin.action(description=gettext_lazy("Set eligible"))
    def set_eligible(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> None:
        """Open the nodes for new allocations."""

        def change(row: Any) -> None:
            wanted = NodeEligibility.ELIGIBLE
            set_node_eligibility(the_store(), row.pk, wanted, **moment_of(request))

        self.change_all(
            request,
            list(rows[:MOST_CHOSEN]),
            change,
            told="Set eligible",
            done=gettext("eligible now"),
        )

    @admin.action(description=gettext_lazy("Set ineligible…"))
    def set_ineligible(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Say what stays and what no longer comes first."""
        return self.ask(request, "admin:cluster_noderow_close", rows)

    @admin.action(description=gettext_lazy("Purge selected nodes…"))
    def purge_selected(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Say what is lost by it first."""
        return self.ask(request, "admin:cluster_noderow_purge", rows)

    @admin.display(description="State", ordering="status")
    def state(self, row: Any) -> SafeString:
        """Status, eligibility and drain in one word."""
        return badge("node", node_state(row.value))

    @admin.display(description="Allocations")
    def allocations(self, row: Any) -> str:
        """Those that are wanted there."""
        return number(use_of(row).planned.alloc_count)

    @admin.display(description=gettext_lazy("CPU free, MHz"))
    def cpu(self, row: Any) -> str:
        """What a new allocation could get."""
        free = max(row.cpu_mhz - use_of(row).held.cpu, 0)
        return gettext("{free} of {cpu_mhz}").format(
            free=number(free), cpu_mhz=number(row.cpu_mhz)
        )

    @admin.display(description=gettext_lazy("Memory free, MiB"))
    def memory(self, row: Any) -> str:
        """What a new allocation could get."""
        free = max(row.memory_mb - use_of(row).held.memory_mb, 0)
        return gettext("{free} of {memory_mb}").format(
            free=number(free), memory_mb=number(row.memory_mb)
        )

    @admin.display(description=gettext_lazy("Last heartbeat"))
    def heard(self, row: Any) -> SafeString:
        """At which moment."""
        return at(row.beat or 0)

    @admin.display(description="Place", ordering="datacenter")
    def place(self, row: Any) -> str:
        """Datacenter and pool."""
        return f"{row.datacenter}, {row.node_pool}"

    @admin.display(description="Live")
    def board(self, row: Any) -> SafeString:
        """Where to follow it."""
        if row.is_draining:
            return format_html('<a href="/drains/{}/">drain board</a>', row.pk)
        return format_html('<a href="/nodes/{}/">open</a>', row.pk)
