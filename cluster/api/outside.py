"""Routes of things that are not here: clients ask for them and get an answer."""

from collections.abc import Callable

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.request import Call, View
from cluster.api.respond import Found, refusal
from cluster.operations.errors import NotAllowed

#: What a caller must be allowed to do for a list, given the call.
Right = Callable[[Call], None]


def _may_list_plugins(call: Call) -> None:
    if call.query.get("type") and not call.caller.access.lists_plugins():
        raise NotAllowed(missing="plugin:list or plugin:read")


def may_list_volumes(call: Call) -> None:
    """Refuse who may not list volumes of CSI, of which there are none."""
    if call.query.get("type") == "csi":
        call.require("csi-list-volume", "csi-read-volume", "csi-mount-volume", "list-jobs")


#: Lists of kinds that are never there, which clients show as empty, and who may ask for them.
EMPTY_LISTS: dict[str, Right] = {
    "plugins": _may_list_plugins,
}


async def no_resource(call: Call) -> HttpResponse:
    """A verb that nobody knows."""
    del call
    return refusal(404, "resource not found")


async def no_tag(call: Call) -> HttpResponse:
    """What ends in `/tag` is a version's tag; of a job whose id has a slash it cannot be set."""
    del call
    return refusal(404, "invalid job tag endpoint")


def empty_list(may_ask: Right) -> View:
    """GET of a list with nothing on it."""

    async def view(call: Call) -> HttpResponse:
        may_ask(call)
        return await answer_read(call, lambda _reader: Found(index=1, body=[]))

    return view
