"""Host volumes made on demand, and claims on them (doors.md 17.1).

In: a volume to make, register or delete, or a question. Out: volumes with what uses them. Of CSI
there are empty lists alone; `not_built` says the rest.
"""

from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.outside import may_list_volumes
from cluster.api.paging import BY_ID, page_of, read_listing
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import Found, answer_empty, answer_json, answer_write, refusal
from cluster.api.stubs import allocation_stub
from cluster.api.watches import watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.host_volumes import NOT_FOUND, delete_claim, volume_named
from cluster.operations.volume_calls import make_volume, remove_volume
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.ports import StateReader
from scheduler.state.noun import Noun
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.writes.volumes import users_of
from scheduler.structs.constraint import Constraint
from scheduler.structs.host_volume import DynamicVolume, VolumeCapability

READ = "host-volume-read"
_TABLE, _CLAIMS = HOST_VOLUMES.table_index, VOLUME_CLAIMS.table_index
_STUB = (
    "ID", "Namespace", "Name", "NodePool", "NodeID", "PluginID", "CapacityBytes", "State",
    "CreateIndex", "CreateTime", "ModifyIndex", "ModifyTime",
)  # fmt: skip
#: Left out where they say nothing.
_OMITTED = ("Constraints", "Parameters")


async def list_volumes(call: Call) -> HttpResponse:
    """GET /v1/volumes: of `type=host` those there are, of `type=csi` none."""
    kind = call.query.get("type", "")
    if kind in {"", "csi"}:
        may_list_volumes(call)
        return await answer_read(call, lambda _reader: Found(index=1, body=[]))
    if kind != "host":
        return refusal(404, "resource not found")
    _require_reading(call)
    listing = read_listing(call.query)
    wanted = _fields_given(call, {"node_id": "node_id", "node_pool": "node_pool"})

    def work(reader: RecordReader) -> Found:
        rows = (
            volume
            for volume in visible(reader, HOST_VOLUMES, _namespaces(call, reader))
            if volume.id.startswith(listing.prefix)
            and all(getattr(volume, field) == value for field, value in wanted.items())
        )
        page = page_of(rows, listing, BY_ID)
        return Found(
            index=reader.table_index(_TABLE),
            body=[volume_stub(volume) for volume in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


async def read_volume(call: Call, volume_id: str) -> HttpResponse:
    """GET /v1/volume/host/<id>, with the allocations that use it."""
    if not volume_id:
        return refusal(404, "resource not found")
    call.require(READ)

    def work(reader: RecordReader) -> Found:
        volume = volume_named(reader, call.namespace, volume_id)
        index = reader.table_index(_TABLE)
        if volume is None:
            return Found(index=index, missing=NOT_FOUND)
        form = volume_form(volume)
        users = [
            allocation_stub(alloc, with_resources=False, with_states=True)
            for alloc in users_of(reader, volume)
        ]
        if users:
            form["Allocations"] = users
        return Found(index=index, body=form)

    return await answer_read(call, work, watch_table(_TABLE), watch_table("allocations"))


async def create_volume(call: Call) -> HttpResponse:
    """PUT /v1/volume/host/create: on the node that fits best, or changed where it has an id."""
    return await _make(call, registers=False)


async def register_volume(call: Call) -> HttpResponse:
    """PUT /v1/volume/host/register: one that is on its node already."""
    return await _make(call, registers=True)


async def delete_volume(call: Call, volume_id: str) -> HttpResponse:
    """DELETE /v1/volume/host/<id>, with what is in it."""
    if not volume_id:
        return refusal(404, "resource not found")
    call.require("host-volume-delete")
    try:
        force = read_flag(call.query, "force") or False
    except OperationRefused:
        raise OperationRefused("invalid force value") from None
    clock = call.request.clock  # type: ignore[attr-defined] # set by the middleware
    index = await remove_volume(
        call.namespace, volume_id, force=force, by=call.caller, clock=clock
    )
    return answer_write(call.request, {"Index": index}, index)


async def list_claims(call: Call) -> HttpResponse:
    """GET /v1/volumes/claims: the volumes that groups stick to."""
    _require_reading(call)
    listing = read_listing(call.query)
    fields = {
        "job_id": "job_id", "task_group": "task_group_name", "volume_name": "volume_name",
    }  # fmt: skip
    wanted = _fields_given(call, fields)

    def work(reader: RecordReader) -> Found:
        rows = (
            claim
            for claim in visible(reader, VOLUME_CLAIMS, _namespaces(call, reader))
            if claim.id.startswith(listing.prefix)
            and all(getattr(claim, field) == value for field, value in wanted.items())
        )
        page = page_of(rows, listing, BY_ID)
        return Found(
            index=reader.table_index(_CLAIMS),
            body=[to_plain(claim) for claim in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_CLAIMS))


async def remove_claim(call: Call, claim_id: str) -> HttpResponse:
    """DELETE /v1/volumes/claim/<id>."""
    call.require("host-volume-delete")
    if not claim_id:
        return refusal(404, "resource not found")
    await call.write(delete_claim, call.namespace, claim_id, ids=False)
    return answer_empty()


def volume_form(volume: DynamicVolume) -> dict[str, Any]:
    """A volume as the API shows it."""
    form = to_plain(volume)
    for field in _OMITTED:
        if not form[field]:
            del form[field]
    return form


def volume_stub(volume: DynamicVolume) -> dict[str, Any]:
    """A volume as lists show it."""
    form = to_plain(volume)
    return {field: form[field] for field in _STUB}


def visible(
    reader: StateReader, noun: Noun[str, Any], namespaces: Collection[str] | None
) -> list[Any]:
    """The rows of some namespaces; None: of all."""
    if namespaces is None:
        return list(reader.list_all(noun))
    return [row for name in namespaces for row in reader.list_by(noun, "namespace", name)]


def _namespaces(call: Call, reader: StateReader) -> Collection[str] | None:
    return call.listed(reader, READ)


def _fields_given(call: Call, fields: Mapping[str, str]) -> dict[str, object]:
    """Of parameters to fields, those that the request gives, by field."""
    return {field: call.query[name] for name, field in fields.items() if call.query.get(name)}


def _require_reading(call: Call) -> None:
    # Of all namespaces those are told that may be read, and be it none.
    if call.namespace != EVERY_NAMESPACE:
        call.require(READ)


async def _make(call: Call, *, registers: bool) -> HttpResponse:
    body = call.body("HostVolumeRegisterRequest" if registers else "HostVolumeCreateRequest")
    given = body.nested("Volume")
    if given is None:
        call.require("host-volume-register" if registers else "host-volume-create")
        raise OperationRefused("missing volume definition")
    asked = _asked(given, call.namespace)
    call.refuse_unknown()
    clock = call.request.clock  # type: ignore[attr-defined] # set by the middleware
    index, volume = await make_volume(
        asked, registers=registers, by=call.caller, clock=clock, ids=call.ids
    )
    told = {"Volume": volume_form(volume), "Warnings": "", "Index": index}
    response = answer_json(call.request, told)
    response["X-Nomad-Index"] = str(index)
    return response


def _asked(given: Body, namespace: str) -> DynamicVolume:
    return DynamicVolume(
        id=given.text("ID"),
        namespace=given.text("Namespace") or namespace,
        name=given.text("Name"),
        plugin_id=given.text("PluginID"),
        node_pool=given.text("NodePool"),
        node_id=given.text("NodeID"),
        constraints=tuple(
            Constraint(
                l_target=each.text("LTarget"),
                r_target=each.text("RTarget"),
                operand=each.text("Operand") or "=",
            )
            for each in given.objects("Constraints")
        ),
        requested_capacity_min_bytes=given.number("RequestedCapacityMinBytes", "int64"),
        requested_capacity_max_bytes=given.number("RequestedCapacityMaxBytes", "int64"),
        capacity_bytes=given.number("CapacityBytes", "int64"),
        requested_capabilities=tuple(
            VolumeCapability(
                attachment_mode=each.text("AttachmentMode"), access_mode=each.text("AccessMode")
            )
            for each in given.objects("RequestedCapabilities")
        ),
        parameters=given.texts("Parameters"),
        host_path=given.text("HostPath"),
    )
