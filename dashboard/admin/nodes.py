"""Nodes in the admin: what each has and does, and the actions that open, close and drain them.

In: selected rows. Out: calls of `cluster.operations.nodes`, messages that lead to the live boards,
and a line in the history of each node, with its options and reason.
"""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from msgspec.structs import replace

from cluster.models import NodeBeatRow, NodeRow, NodeUseRow
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.nodes import DrainRequest, drain_node, set_node_eligibility
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.drain_form import CancelForm, DrainForm
from dashboard.admin.rows import ReadOnlyAdmin, badge
from dashboard.operator_site import caller_of_request, may
from dashboard.queries.nodes import node_state
from dashboard.queries.rehearsals import rehearsal_context
from dashboard.rehearsing import LOOK_AGAIN_S, ask_to_rehearse
from dashboard.rights import ADMIN_ACTIONS, WRITE_NODES
from dashboard.templatetags.cluster_tags import at
from dashboard.wording import number
from scheduler.errors import IllegalTransition
from scheduler.state import nouns
from scheduler.state.node_use import NodeUse
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.node import NodeEligibility

#: More nodes than this are not named in one address.
MAX_SELECTED = 200

Change = Callable[[str], object]


class DrainFilter(admin.BooleanFieldListFilter):
    """By the word for it, not by the column's."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.title = "drain"


class NodeAdmin(ReadOnlyAdmin):
    """Nodes: to read, to open and close, and to drain."""

    list_reads_bodies = True
    list_display = ("name", "state", "allocations", "cpu", "memory", "heard", "place", "board")
    list_filter = (
        "status", "eligibility", ("is_draining", DrainFilter), "datacenter", "node_pool",
        "status_changed_at",
    )  # fmt: skip
    search_fields = ("name", "id__startswith")
    ordering = ("name", "id")
    actions = ("drain_selected", "cancel_selected", "set_eligible", "set_ineligible")

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

    def get_urls(self) -> list[URLPattern]:
        """The intermediate pages of drain and cancel."""
        view = self.admin_site.admin_view
        own = [
            path("drain/", view(self.drain_view), name="cluster_noderow_drain"),
            path("cancel-drain/", view(self.cancel_view), name="cluster_noderow_cancel_drain"),
        ]
        return own + super().get_urls()

    @admin.action(description="Drain selected nodes…")
    def drain_selected(self, _request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Ask how first."""
        return self._ask("admin:cluster_noderow_drain", rows)

    @admin.action(description="Cancel drain…")
    def cancel_selected(self, _request: HttpRequest, rows: QuerySet[NodeRow]) -> HttpResponse:
        """Ask what becomes of the nodes first."""
        return self._ask("admin:cluster_noderow_cancel_drain", rows)

    def _ask(self, name: str, rows: QuerySet[NodeRow]) -> HttpResponse:
        ids = ",".join(rows.order_by("name").values_list("id", flat=True)[:MAX_SELECTED])
        return HttpResponseRedirect(f"{reverse(name)}?ids={ids}")

    @admin.action(description="Set eligible")
    def set_eligible(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> None:
        """Open the nodes for new allocations."""
        self._set_eligibility(request, rows, NodeEligibility.ELIGIBLE)

    @admin.action(description="Set ineligible")
    def set_ineligible(self, request: HttpRequest, rows: QuerySet[NodeRow]) -> None:
        """Close the nodes for new allocations; what runs there stays."""
        self._set_eligibility(request, rows, NodeEligibility.INELIGIBLE)

    def _set_eligibility(
        self, request: HttpRequest, rows: QuerySet[NodeRow], wanted: NodeEligibility
    ) -> None:
        def change(node_id: str) -> None:
            set_node_eligibility(the_store(), node_id, wanted, **_moment(request))

        self._change_all(request, list(rows), change, f"Set {wanted.value}", f"{wanted.value} now")

    def drain_view(self, request: HttpRequest) -> HttpResponse:
        """Ask deadline, force, system jobs and reason; then drain."""
        rows = self._selected(request)
        if "rehearse" in request.POST:
            return self._rehearse(request, rows)
        answered = {
            name: request.GET[name] for name in DrainForm.base_fields if name in request.GET
        }
        form = DrainForm(request.POST or None, initial=answered)
        if request.method == "POST" and form.is_valid():
            self._drain(request, rows, form)
            return self._after(rows)
        return self._form_page(request, rows, form, "drain")

    def _rehearse(self, request: HttpRequest, rows: Sequence[NodeRow]) -> HttpResponse:
        """Ask what the drain would do; the page that shows it has all answers in its address."""
        form = DrainForm(request.POST).for_rehearsal()
        if not rows or not form.is_valid():
            return self._form_page(request, rows, form, "drain")
        try:
            change = form.change([row.pk for row in rows])
            asked = ask_to_rehearse(the_store(), [change], **_moment(request))
        except OperationRefused as refusal:
            note_refusal(request, caller_of_request(request), refusal, Act("rehearse drain"))
            messages.error(request, f"Not rehearsed: {refusal}")
            return self._form_page(request, rows, form, "drain")
        answers = {"ids": ",".join(row.pk for row in rows), "rehearsal": asked.id}
        return HttpResponseRedirect(f"{request.path}?{urlencode(answers | form.as_query())}")

    def _drain(self, request: HttpRequest, rows: Sequence[NodeRow], form: DrainForm) -> None:
        asked = replace(
            form.request(request.user.get_username()), action=_moment(request)["ids"].next_id()
        )

        def close(node_id: str) -> None:
            closed = NodeEligibility.INELIGIBLE
            set_node_eligibility(the_store(), node_id, closed, **_moment(request))

        def change(node_id: str) -> None:
            drain_node(the_store(), node_id, asked, **_moment(request))

        if len(rows) > 1:
            # All are closed first, so that nothing moves from one draining node to the next.
            for row in rows:
                _tried(request, row, close)
        self._change_all(request, rows, change, form.told(), "draining")

    def cancel_view(self, request: HttpRequest) -> HttpResponse:
        """Ask whether the nodes are to be opened again; then cancel."""
        rows = self._selected(request)
        form = CancelForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            fields = form.cleaned_data
            meta = {"message": fields["reason"], "by": request.user.get_username()}
            asked = DrainRequest(
                mark_eligible=fields["mark_eligible"],
                note=DrainNote(meta=meta if fields["reason"] else {}),
            )

            def change(node_id: str) -> None:
                drain_node(the_store(), node_id, asked, **_moment(request))

            told = "Drain canceled" + (", set eligible" if fields["mark_eligible"] else "")
            self._change_all(
                request, rows, change, f"{told}. {fields['reason']}", "no longer draining"
            )
            return self._after(rows)
        return self._form_page(request, rows, form, "cancel")

    def _selected(self, request: HttpRequest) -> list[NodeRow]:
        if not may(request, WRITE_NODES):
            missing = NotAllowed(missing=WRITE_NODES.word)
            by = caller_of_request(request)
            note_refusal(request, by, missing, Act("drain node"))
            raise PermissionDenied(f"Nodes are drained by those who have {WRITE_NODES.word}.")
        ids = request.GET.get("ids", "").split(",")[:MAX_SELECTED]
        return list(self.get_queryset(request).filter(pk__in=ids).order_by("name"))

    def _form_page(
        self, request: HttpRequest, rows: Sequence[NodeRow], form: Any, kind: str
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Drain nodes" if kind == "drain" else "Cancel drain",
            "opts": self.model._meta,
            "form": form,
            "kind": kind,
            "rows": [(row, self.allocations(row), self.state(row)) for row in rows],
        }
        wanted = request.GET.get("rehearsal", "") if kind == "drain" else ""
        if wanted:
            by, now = caller_of_request(request), _moment(request)["now"]
            found = the_store().read(lambda reader: rehearsal_context(reader, wanted, by, now))
            context |= {"rehearsal": found, "gone": found is None}
            context["look_again"] = request.get_full_path()
        answer = render(request, "admin/cluster/noderow/drain.html", context)
        if context.get("rehearsal") and context["rehearsal"]["is_open"]:
            answer.headers["Refresh"] = LOOK_AGAIN_S
        return answer

    def _after(self, rows: Sequence[NodeRow]) -> HttpResponse:
        one = len(rows) == 1
        return HttpResponseRedirect(
            reverse("drain", args=[rows[0].pk])
            if one
            else reverse("admin:cluster_noderow_changelist")
        )

    def _change_all(
        self,
        request: HttpRequest,
        rows: Sequence[NodeRow],
        change: Change,
        told: str,
        done: str,
    ) -> None:
        """Change each node, log it, and say which ones were changed and which refused."""
        changed = [row for row in rows if _tried(request, row, change)]
        if not changed:
            return
        user_id = request.user.pk
        assert user_id is not None, "the admin is for people who are signed in"
        LogEntry.objects.log_actions(user_id, changed, CHANGE, told)
        links = format_html_join(
            ", ", '<a href="/drains/{}/">{}</a>', ((row.pk, row.name) for row in changed)
        )
        words = f"node{pluralize(len(changed))} {'is' if len(changed) == 1 else 'are'} {done}: "
        messages.success(request, format_html("{} {}{}", len(changed), words, links))

    @admin.display(description="State", ordering="status")
    def state(self, row: Any) -> SafeString:
        """Status, eligibility and drain in one word."""
        return badge("node", node_state(row.value))

    @admin.display(description="Allocations")
    def allocations(self, row: Any) -> str:
        """Those that are wanted there."""
        return number(_use(row).planned.alloc_count)

    @admin.display(description="CPU free, MHz")
    def cpu(self, row: Any) -> str:
        """What a new allocation could get."""
        free = max(row.cpu_mhz - _use(row).held.cpu, 0)
        return f"{number(free)} of {number(row.cpu_mhz)}"

    @admin.display(description="Memory free, MiB")
    def memory(self, row: Any) -> str:
        """What a new allocation could get."""
        free = max(row.memory_mb - _use(row).held.memory_mb, 0)
        return f"{number(free)} of {number(row.memory_mb)}"

    @admin.display(description="Last heartbeat")
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


def _use(row: Any) -> NodeUse:
    return nouns.NODE_USES.decode(row.use) if row.use else NodeUse(node_id=row.pk)


def _moment(request: HttpRequest) -> dict[str, Any]:
    return {
        "by": caller_of_request(request),
        "now": request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
        "ids": request.ids,  # type: ignore[attr-defined]  # set by request_context
    }


def _tried(request: HttpRequest, row: NodeRow, change: Change) -> bool:
    """Whether a node took the change; says why not."""
    try:
        change(row.pk)
    except (OperationRefused, IllegalTransition) as refusal:
        by = caller_of_request(request)
        note_refusal(request, by, refusal, Act("change node", "node", row.pk))
        messages.error(request, f"Not changed: {row.name}, {refusal}")
        return False
    return True
