"""Asking for a rehearsal at a page's door, as programs ask at theirs: same rights, same limits.

In: changes in the form that programs send, who asks. Out: the rehearsal in the record, or a
refusal that names every problem; for the button beside an act, the page that shows it.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.errors import Conflict, NotFound, OperationRefused
from cluster.operations.rehearsals import NOT_FOUND, cancel_rehearsal
from cluster.rehearsal import asking
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.store.access import StoreAccess, the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.viewer import Viewer
from scheduler.access.caller import Caller
from scheduler.ports import IDSource
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import StoredRehearsal

#: Without JavaScript a page of one that has not ended loads again after so many seconds.
LOOK_AGAIN_S = "2"


def ask_to_rehearse(
    store: StoreAccess, changes: list[dict[str, Any]], *, by: Caller, now: int, ids: IDSource
) -> StoredRehearsal:
    """Ask for one; raises OperationRefused, and ScenarioProblems of these."""
    return asking.ask_to_rehearse(
        store,
        {"Changes": changes},
        by=by,
        now=now,
        ids=ids,
        keep=settings.BIVOUAC_REHEARSALS,
        keep_hours=settings.BIVOUAC_REHEARSAL_HOURS,
    )


def plain_problems(refusal: OperationRefused) -> str:
    """What is wrong, without the places in a document that nobody who reads it has written."""
    if isinstance(refusal, ScenarioProblems):
        return "; ".join(problem.message for problem in refusal.problems)
    return str(refusal)


def end_open_rehearsal(store: StoreAccess, rehearsal_id: str, *, by: Caller, now: int) -> None:
    """Cancel one that waits or runs; one that has ended stays. Raises OperationRefused."""
    row = store.read(lambda reader: reader.get(REHEARSALS, rehearsal_id))
    if row is None:
        raise NotFound(NOT_FOUND)
    if row.has_ended:
        raise Conflict(gettext("it is {status} already").format(status=row.status.value))
    cancel_rehearsal(store, rehearsal_id, by=by, now=now)


async def rehearse_act(
    request: HttpRequest, viewer: Viewer, change: dict[str, Any], act: Act, *, back: str
) -> HttpResponse:
    """What a button "Rehearse" answers: to the rehearsal's page, or back with what is wrong.

    The right to the act itself was asked for before.
    """
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        asked = await the_store().awrite_call(
            ask_to_rehearse, [change], by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        note_refusal(
            request,
            viewer.caller,
            refusal,
            act._replace(words=f"rehearse: {act.words}"),
        )
        messages.error(request, gettext("Not rehearsed: {refusal}").format(refusal=refusal))
        return redirect(back)
    return redirect("rehearsal", asked.id)
