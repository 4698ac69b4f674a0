"""Acts on nodes in the admin: drain, at once or in stages, cancel, close, purge.

In: rows, a valid form. Out: calls of `cluster.operations`, a line in the history of each node, and
where to follow what came of it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop, ngettext
from msgspec.structs import replace

from cluster.models import NodeRow
from cluster.operations.errors import OperationRefused
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    purge_node,
    set_node_eligibility,
)
from cluster.operations.staged_drains import StagedDrainRequest, start_staged_drain
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.act_forms import ReasonForm
from dashboard.admin.act_page import ActingAdmin, AdminAct, log_acts, moment_of, tried
from dashboard.admin.drain_form import CancelForm, DrainForm
from dashboard.operator_site import caller_of_request
from dashboard.rehearsed_acts import eligibility_change, purge_change
from dashboard.rights import WRITE_NODES
from dashboard.wording import count_of, number
from scheduler.state import nouns
from scheduler.state.node_use import NodeUse
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.node import NodeEligibility, NodeStatus

_LIST = "admin:cluster_noderow_changelist"
Nodes = Sequence[NodeRow]
if TYPE_CHECKING:
    _Acting = ActingAdmin
else:
    _Acting = object


def use_of(row: Any) -> NodeUse:
    """What is taken of a node, which its row was read with."""
    return nouns.NODE_USES.decode(row.use) if row.use else NodeUse(node_id=row.pk)


def _held(rows: Nodes) -> str:
    return gettext("{allocations} wanted there").format(
        allocations=count_of(_count(rows), "{count} allocation is", "{count} allocations are")
    )


def _count(rows: Nodes) -> int:
    return sum(use_of(row).planned.alloc_count for row in rows)


def drain_told(_request: HttpRequest, rows: Nodes, _form: Any) -> list[str]:
    """What a drain of these nodes concerns."""
    told = [f"{_held(rows)}."]
    draining = sum(row.is_draining for row in rows)
    if draining:
        verb = "drains" if draining == 1 else "drain"
        told.append(
            gettext("{draining} of them {verb} already: deadline and options change.").format(
                draining=number(draining), verb=verb
            )
        )
    if len(rows) > 1 and draining:
        told.append(gettext("Nodes that drain already cannot drain a few at a time."))
    elif len(rows) > 1:
        told.append(
            gettext(
                "Drained all together they become ineligible first, so that nothing moves"
                " from one to"
                " the other. A few at a time, those that wait take what leaves others, unless"
                " they are"
                " closed; each stays closed when it is done."
            )
        )
    return told


def cancel_told(_request: HttpRequest, rows: Nodes, _form: Any) -> list[str]:
    """What canceling these drains concerns."""
    draining = sum(row.is_draining for row in rows)
    verb = "drains" if draining == 1 else "drain"
    of = gettext("{draining} of {node} {verb} now").format(
        draining=number(draining),
        node=count_of(len(rows), "{count} node", "{count} nodes"),
        verb=verb,
    )
    return [
        gettext("{of}; {held}. What has moved stays where it is.").format(of=of, held=_held(rows))
    ]


def close_told(_request: HttpRequest, rows: Nodes, _form: Any) -> list[str]:
    """What closing these nodes concerns."""
    closed = sum(row.eligibility == NodeEligibility.INELIGIBLE.value for row in rows)
    verb = "stays" if _count(rows) == 1 else "stay"
    told = [
        gettext("{held} and {verb}; nothing new is placed there until it is opened again.").format(
            held=_held(rows), verb=verb
        )
    ]
    if closed:
        told.append(
            ngettext(
                "{closed} of them is closed already.",
                "{closed} of them are closed already.",
                closed,
            ).format(closed=number(closed))
        )
    return told


def purge_told(_request: HttpRequest, rows: Nodes, _form: Any) -> list[str]:
    """What purging these nodes concerns."""
    gone = count_of(len(rows), "{count} node is", "{count} nodes are")
    lost = gettext("What runs there is lost, and replaced elsewhere where there is room.")
    told = [
        gettext("{gone} forgotten, history included. {held}. {lost}").format(
            gone=gone, held=_held(rows), lost=lost
        )
    ]
    ready = sum(row.status == NodeStatus.READY.value for row in rows)
    if ready:
        told.append(
            ngettext(
                "{ready} of them is ready now.", "{ready} of them are ready now.", ready
            ).format(ready=number(ready))
        )
    return told


class NodeActs(_Acting):
    """The acts, for the table of nodes."""

    def drain(self, request: HttpRequest, rows: Nodes, form: DrainForm) -> HttpResponse | None:
        """All at once, or in stages."""
        user = request.user.get_username()
        staged = form.stages([row.pk for row in rows], user)
        if staged is not None:
            return self._drain_staged(request, rows, form, staged)
        asked = replace(form.request(user), action=moment_of(request)["ids"].next_id())

        def close(row: Any) -> None:
            closed = NodeEligibility.INELIGIBLE
            set_node_eligibility(the_store(), row.pk, closed, **moment_of(request))

        def change(row: Any) -> None:
            drain_node(the_store(), row.pk, asked, **moment_of(request))

        if len(rows) > 1:
            # All are closed first, so that nothing moves from one draining node to the next.
            for row in rows:
                tried(request, row, close, self.word)
        self.change_all(
            request, rows, change, told=form.told(), done="draining", leads_to="/drains/{}/"
        )
        return _after_drain(rows)

    def _drain_staged(
        self, request: HttpRequest, rows: Nodes, form: DrainForm, staged: StagedDrainRequest
    ) -> HttpResponse | None:
        try:
            drain = start_staged_drain(the_store(), staged, **moment_of(request))
        except OperationRefused as refusal:
            act = Act("drain nodes in stages")
            note_refusal(request, caller_of_request(request), refusal, act)
            form.add_error(None, gettext("Not drained: {refusal}.").format(refusal=refusal))
            return None
        log_acts(request, rows, form.told())
        messages.success(
            request,
            gettext("{node} drain, {at_once} at a time.").format(
                node=count_of(len(rows), "{count} node", "{count} nodes"),
                at_once=number(staged.at_once),
            ),
        )
        return HttpResponseRedirect(reverse("staged-drain", args=[drain.id]))

    def cancel(self, request: HttpRequest, rows: Nodes, form: CancelForm) -> HttpResponse:
        """Let what is still there stay."""
        fields = form.cleaned_data
        meta = {"message": fields["reason"], "by": request.user.get_username()}
        asked = DrainRequest(
            mark_eligible=fields["mark_eligible"],
            note=DrainNote(meta=meta if fields["reason"] else {}),
        )

        def change(row: Any) -> None:
            drain_node(the_store(), row.pk, asked, **moment_of(request))

        told = "Drain canceled" + (", set eligible" if fields["mark_eligible"] else "")
        self.change_all(
            request,
            rows,
            change,
            told=f"{told}. {form.why()}",
            done=gettext("no longer draining"),
            leads_to="/drains/{}/",
        )
        return _after_drain(rows)

    def close(self, request: HttpRequest, rows: Nodes, form: ReasonForm) -> HttpResponse:
        """Nothing new is placed there."""

        def change(row: Any) -> None:
            wanted = NodeEligibility.INELIGIBLE
            set_node_eligibility(the_store(), row.pk, wanted, **moment_of(request))

        told = f"Set ineligible. {form.why()}".strip()
        self.change_all(request, rows, change, told=told, done=gettext("ineligible now"))
        return HttpResponseRedirect(reverse(_LIST))

    def purge(self, request: HttpRequest, rows: Nodes, form: ReasonForm) -> HttpResponse:
        """The nodes are forgotten, each by itself; their lists say no more of them."""

        def change(row: Any) -> None:
            purge_node(the_store(), row.pk, **moment_of(request))

        told = f"Purged. {form.why()}".strip()
        self.change_all(request, rows, change, told=told, done="purged")
        return HttpResponseRedirect(reverse(_LIST))


def node_acts(table: NodeActs) -> tuple[AdminAct, ...]:
    """The pages of the acts."""
    return (
        AdminAct(
            name="drain",
            title=gettext_noop("Drain nodes"),
            verb=gettext_noop("Drain {rows}"),
            words="drain node",
            right=WRITE_NODES,
            form=DrainForm,
            heading=gettext_noop("How"),
            told=drain_told,
            carry_out=table.drain,
            changes=lambda rows, form: [form.change([row.pk for row in rows])],
            kept=gettext_noop("Options and reason are kept in the history of each node"),
        ),
        AdminAct(
            name="cancel-drain",
            title=gettext_noop("Cancel drain"),
            verb=gettext_noop("Cancel the drain of {rows}"),
            words="cancel drain",
            right=WRITE_NODES,
            form=CancelForm,
            heading=gettext_noop("What becomes of them"),
            told=cancel_told,
            carry_out=table.cancel,
        ),
        AdminAct(
            name="close",
            title=gettext_noop("Set nodes ineligible"),
            verb=gettext_noop("Set {rows} ineligible"),
            words="open or close node",
            right=WRITE_NODES,
            form=ReasonForm,
            heading=gettext_noop("Why"),
            told=close_told,
            carry_out=table.close,
            changes=lambda rows, _form: [
                eligibility_change([row.pk for row in rows], NodeEligibility.INELIGIBLE.value)
            ],
        ),
        AdminAct(
            name="purge",
            title=gettext_noop("Purge nodes"),
            verb=gettext_noop("Purge {rows}"),
            words="purge node",
            right=WRITE_NODES,
            form=ReasonForm,
            heading=gettext_noop("Why"),
            told=purge_told,
            carry_out=table.purge,
            ends=True,
            changes=lambda rows, _form: [purge_change([row.pk for row in rows])],
        ),
    )


def _after_drain(rows: Nodes) -> HttpResponse:
    one = len(rows) == 1
    return HttpResponseRedirect(reverse("drain", args=[rows[0].pk]) if one else reverse(_LIST))
