"""Pages of host volumes: one with its use and its claims, the form; a button to delete.

In: who asks, a place, a form. Out: pages, or an operation that asks the agent of a node.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.volume_calls import Present, make_volume, remove_volume
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.page import action, page, shown
from dashboard.queries.volumes import form_page, url_of, volume_page
from dashboard.viewer import Viewer
from scheduler.ports import IDSource
from scheduler.structs.host_volume import DynamicVolume, VolumeCapability

_FORM = "dashboard/volume_form.html"
_MIB = 1024 * 1024
_MOST_MIB = 2**40
#: What the form has, and how it is filled in at first.
_FIELDS = {
    "name": "",
    "plugin": "mkdir",
    "node": "",
    "pool": "",
    "least": "",
    "most": "",
    "access": "single-node-writer",
    "attachment": "file-system",
}


@page
async def volume(
    request: HttpRequest, viewer: Viewer, namespace: str, volume_id: str
) -> HttpResponse:
    """GET /volumes/<namespace>/<id>/."""
    query = partial(volume_page, namespace=namespace, volume_id=volume_id)
    return await shown(request, viewer, "dashboard/volume.html", query)


async def new(request: HttpRequest) -> HttpResponseBase:
    """GET and POST /volumes/new/."""
    return await (_made if request.method == "POST" else _new)(request)


@action
async def delete(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /volumes/delete/, with the name typed once more."""
    names = ("namespace", "id", "name", "typed")
    namespace, volume_id, name, typed = (request.POST.get(each, "").strip() for each in names)
    here = f"/volumes/{namespace}/{volume_id}/" if namespace and volume_id else "/volumes/"
    if not name or typed != name:
        messages.error(
            request, gettext("Nothing was deleted: type {name} to confirm.").format(name=name)
        )
        return redirect(here)
    try:
        await remove_volume(
            namespace,
            volume_id,
            force="force" in request.POST,
            by=viewer.caller,
            clock=_clock(request),
        )
    except OperationRefused as refused:
        act = Act("delete host volume", "host volume", volume_id, namespace, name)
        note_refusal(request, viewer.caller, refused, act)
        messages.error(
            request, gettext("Nothing was deleted. {sentence}").format(sentence=_sentence(refused))
        )
        return redirect(here)
    messages.success(request, gettext("The volume {name} is deleted.").format(name=name))
    return redirect("/volumes/")


@page
async def _new(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    def form(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
        return {**form_page(reader, viewer), "fields": _FIELDS}

    return await shown(request, viewer, _FORM, form)


@action
async def _made(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    fields = {name: request.POST.get(name, "").strip() for name in _FIELDS}
    namespace = request.POST.get("namespace", "")
    try:
        asked = _asked(namespace, fields)
        _, made = await make_volume(
            asked,
            registers=False,
            by=viewer.caller,
            clock=_clock(request),
            ids=cast("IDSource", request.ids),  # type: ignore[attr-defined] # by the middleware
        )
    except OperationRefused as refused:
        act = Act("write host volume", "host volume", fields["name"][:128], namespace)
        note_refusal(request, viewer.caller, refused, act)
        told = {"problem": _sentence(refused), "http_status": refused.status}

        def form(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
            context = form_page(reader, viewer) | {"fields": fields, "namespace": namespace}
            return {**context, **told}

        return await shown(request, viewer, _FORM, form)
    messages.success(request, gettext("The volume {made} is made.").format(made=made.name))
    return redirect(url_of(made))


def _asked(namespace: str, fields: Mapping[str, str]) -> DynamicVolume:
    return DynamicVolume(
        namespace=namespace,
        name=fields["name"],
        plugin_id=fields["plugin"],
        node_id=fields["node"],
        node_pool=fields["pool"],
        requested_capacity_min_bytes=_size("least", fields["least"]),
        requested_capacity_max_bytes=_size("most", fields["most"]),
        requested_capabilities=(
            VolumeCapability(access_mode=fields["access"], attachment_mode=fields["attachment"]),
        ),
    )


def _size(word: str, text: str) -> int:
    """MiB as bytes; nothing is 0. Raises OperationRefused."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text) < _MOST_MIB):
        raise OperationRefused(
            gettext("the {word} size must be a whole number of MiB, not {text!r}").format(
                word=word, text=text[:32]
            )
        )
    return int(text) * _MIB


def _sentence(refused: OperationRefused) -> str:
    text = " ".join(str(refused).split())
    return f"{text[:1].upper()}{text[1:]}."


def _clock(request: HttpRequest) -> Present:
    return cast("Present", request.clock)  # type: ignore[attr-defined] # set by the middleware
