"""What routes that are not built ask for before they say so (access.md 8).

In: a call, to a route of `not_built`. Out: nothing, or `NotAllowed`. Routes that this table leaves
out say it to everybody, as those of doors.md 15 do.
"""

from collections.abc import Callable

from cluster.api.not_built import NONE_THERE, answer_not_built
from cluster.api.request import Call, View
from cluster.operations.errors import NotAllowed
from cluster.operations.rights import (
    require_management,
    require_reads,
    require_writes,
)

Right = Callable[[Call], None]


def everybody(_call: Call) -> None:
    """Ask for nothing."""


def _of_namespace(*capabilities: str) -> Right:
    return lambda call: call.require(*capabilities)


def _reading(block: str) -> Right:
    return lambda call: require_reads(call.caller, block)


def _writing(block: str) -> Right:
    return lambda call: require_writes(call.caller, block)


def _management(call: Call) -> None:
    require_management(call.caller)


def _either(reading: Right, writing: Right) -> Right:
    """Which right stands for a GET, and which for everything else."""
    return lambda call: (reading if call.request.method == "GET" else writing)(call)


def _raft_or_autopilot(call: Call) -> None:
    if "/raft/" in call.request.path:
        require_management(call.caller)
    else:
        _either(_reading("operator"), _writing("operator"))(call)


def _plugin(call: Call) -> None:
    if not call.caller.access.reads_plugins():
        raise NotAllowed(missing="plugin:read")


def _with_plugin(capability: str) -> Right:
    def ask(call: Call) -> None:
        call.require(capability)
        _plugin(call)

    return ask


_LISTS_CSI = _of_namespace("csi-list-volume", "csi-read-volume", "csi-mount-volume", "list-jobs")
_WRITES_CSI = _with_plugin("csi-write-volume")
WITH_CSI = _either(_LISTS_CSI, _WRITES_CSI)


def _volume(call: Call) -> None:
    path, method = call.request.path, call.request.method
    if method == "GET":
        call.require("csi-read-volume", "csi-mount-volume", "read-job")
    elif path.endswith("/detach"):
        _with_plugin("csi-mount-volume")(call)
    elif method == "DELETE" and not path.endswith("/delete"):
        call.require("csi-write-volume")
    else:
        _WRITES_CSI(call)


#: By the patterns of `NOT_BUILT`.
RIGHTS: dict[str, Right] = {
    r"agent/schedulers/config": _writing("agent"),
    r"agent/servers": _writing("agent"),
    r"agent/pprof/.*": _writing("agent"),
    r"agent/keyring/.*": _writing("agent"),
    r"agent/reload": _writing("agent"),
    r"client/allocation/[^/]*/pause": _either(
        _of_namespace("read-job"), _of_namespace("submit-job", "pause-allocation")
    ),
    r"operator/(?:raft|autopilot)/.*": _raft_or_autopilot,
    r"plugin/csi/.*": _plugin,
    r"volumes/(?:external|snapshot)": WITH_CSI,
    r"volume/csi/.*": _volume,
}


def none_there(pattern: str) -> dict[str, View]:
    """How things are read of which there can be none; nothing of any other pattern."""
    if pattern not in NONE_THERE:
        return {}
    return {"GET": answer_not_built(NONE_THERE[pattern], RIGHTS[pattern], status=404)}
