"""Routes of the reference that are known here and not built: each says so, in a sentence.

In: nothing but the path. Out: 501. A route that gets built leaves the table; what no table names
does not exist (404 with an empty body).
"""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse

from cluster.api.request import Call
from cluster.api.respond import refusal

ENTERPRISE = "Nomad Enterprise only endpoint"

#: Also of routes that can be read, but not written.
VOLUMES = "Volumes of CSI plugins are not built yet."

NO_LICENSE = "There is no license to install: Bivouac has none."
NO_POOL = "How many evaluations are worked on at once is a setting here: BIVOUAC_WORKERS."
NO_OTHER_SERVERS = "Agents are told the address of their servers when they start: BIVOUAC_ADDR."
NO_GROUP = "Servers share a database here: there is no Raft group."
RAFT = r"operator/(?:raft|autopilot)/.*"

#: Pattern of the path below `/v1/` to what is answered, for every method.
NOT_BUILT: dict[str, str] = {
    r"agent/pprof/.*": "There are no profiles to take: this server is not a Go program.",
    r"agent/keyring/.*": "Servers share a database here: there is no gossip to encrypt.",
    r"agent/reload": "Reloading an agent's configuration is not built yet.",
    r"plugin/csi/.*": "CSI plugins are not built yet.",
    r"recommendations?(?:/.*)?": ENTERPRISE,
    r"sentinel/(?:policies|policy/.*)": ENTERPRISE,
    r"volumes/(?:external|snapshot)": VOLUMES,
    r"volume/csi/.*": VOLUMES,
}

#: What is read there: of things that cannot be made there is none (doors.md 17.2).
NONE_THERE: dict[str, str] = {
    r"plugin/csi/.*": "plugin not found",
    r"volume/csi/.*": "volume not found",
}

#: What the reference's open edition refuses by itself: its 500 is 400 here (http-api.md 1.6).
REFUSED: dict[str, str] = {
    r"client/allocation/[^/]*/pause": "Enterprise only",
}


def answer_not_built(
    sentence: str, ask: Callable[[Call], None] = lambda _call: None, *, status: int = 501
) -> Callable[..., Awaitable[HttpResponse]]:
    """A view that says what is not built, or not there, to those whom `ask` does not refuse."""

    async def view(call: Call, **_path: str) -> HttpResponse:
        ask(call)
        return refusal(status, sentence)

    #: What the API's document says of it.
    view.not_built = (status, sentence)  # type: ignore[attr-defined] # functions take attributes
    return view
