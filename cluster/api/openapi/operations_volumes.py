"""The operations of host volumes and of the claims on them."""

from cluster.api.openapi.common_shapes import ALLOCATION_ROW
from cluster.api.openapi.operation import Operation, listed, read, removed, written
from cluster.api.openapi.shapes import (
    INTEGER,
    TEXT,
    Shape,
    array,
    fields,
    open_fields,
    sent,
    struct,
    struct_with,
    table,
)
from scheduler.structs.constraint import Constraint
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim

_LISTED = (
    "ID", "Namespace", "Name", "NodePool", "NodeID", "PluginID", "CapacityBytes", "State",
    "CreateIndex", "CreateTime", "ModifyIndex", "ModifyTime",
)  # fmt: skip
_STUB = struct_with("DynamicVolumeStub", DynamicVolume, only=_LISTED)
_OMITTED: dict[str, Shape] = {
    "Constraints?": array(struct(Constraint)),
    "Parameters?": table(TEXT),
}
_VOLUME = struct_with("DynamicVolumeWritten", DynamicVolume, _OMITTED)
_READ = struct_with(
    "DynamicVolumeRead", DynamicVolume, _OMITTED | {"Allocations?": array(ALLOCATION_ROW)}
)
_ANSWER = fields({"Volume": _VOLUME, "Warnings": TEXT, "Index": INTEGER})
_ASKED = open_fields({"Volume": sent(DynamicVolume)})


def _made(path: str, summary: str) -> Operation:
    return written(path, _ASKED, _ANSWER, summary)._replace(refusals=(500, 504))


OPERATIONS = (
    listed("volumes", array(_STUB), "Host volumes; of other types there are none", "type",
           "node_id", "node_pool"),
    listed("volumes/claims", array(struct(VolumeClaim)), "The volumes that groups stick to",
           "job_id", "task_group", "volume_name"),
    removed("volumes/claim/{claim_id}", None, "Let a group have another volume")._replace(
        has_index=False),
    _made("volume/host/create", "Make a host volume, or change one"),
    _made("volume/host/register", "Register a directory that is there as a host volume"),
    read("volume/host/{volume_id}", _READ, "A host volume, with what uses it"),
    removed("volume/host/{volume_id}", fields({"Index": INTEGER}),
            "Delete a host volume with what is in it", "force")._replace(refusals=(500, 504)),
)  # fmt: skip
