"""Root keys: list, rotate, delete; what others need to check what they signed (doors.md 10)."""

from django.conf import settings
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.request import Call
from cluster.api.respond import Found, answer_json, answer_write, refusal
from cluster.api.watches import watch_table
from cluster.keyring.root_keys import SIGNING, public_document
from cluster.operations.audit import note_done
from cluster.operations.errors import OperationRefused
from cluster.operations.keyring import delete_root_key, root_keys, rotate_root_key
from cluster.operations.node_identities import introduce_node
from cluster.operations.rights import require_operator, require_writes
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, actor_of
from cluster.store.ports import RecordReader
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.structs.identity import DEFAULT_NODE_POOL

_TABLE = ROOT_KEYS.table_index
_MINUTE_NS = 60 * 1_000_000_000
#: How long an introduction holds where nothing is said, and at most.
USUAL_INTRODUCTION = 5 * _MINUTE_NS
LONGEST_INTRODUCTION = 30 * _MINUTE_NS
#: Seconds for which a copy of the public keys may be used: a new key signs at once.
_JWKS_AGE_S = 60
_TRUE, _FALSE = (
    {"1", "t", "T", "true", "TRUE", "True"},
    {"", "0", "f", "F", "false", "FALSE", "False"},
)


class _BadParameter(OperationRefused):
    status = 422


async def list_keys(call: Call) -> HttpResponse:
    """GET /v1/operator/keyring/keys."""
    if not call.caller.access.reads("operator"):
        require_operator(call.caller, "keyring-read")

    def work(reader: RecordReader) -> Found:
        keys = [to_plain(key) for key in root_keys(reader)]
        return Found(index=reader.table_index(_TABLE), body=keys)

    return await answer_read(call, work, watch_table(_TABLE))


async def rotate(call: Call) -> HttpResponse:
    """PUT /v1/operator/keyring/rotate."""
    require_operator(call.caller, "keyring-rotate")
    index, key = await call.write(
        rotate_root_key, full="full" in call.query, publish_time=_publish_time(call)
    )
    # The reference answers with the key as it was before it was stored.
    told = to_plain(key) | {"CreateIndex": 0, "ModifyIndex": 0}
    return answer_write(call.request, {"Key": told, "Index": index}, index)


async def remove(call: Call, key_id: str) -> HttpResponse:
    """DELETE /v1/operator/keyring/key/<id>."""
    require_operator(call.caller, "keyring-delete")
    forced = call.query.get("force", "")
    if forced not in _TRUE | _FALSE:
        raise _BadParameter("invalid force parameter")
    index = await call.write_to(delete_root_key, key_id, force=forced in _TRUE, ids=False)
    return answer_write(call.request, {"Index": index}, index)


async def public_keys(call: Call) -> HttpResponse:
    """GET /.well-known/jwks.json: every key whose signature is believed."""

    def work(reader: RecordReader) -> Found:
        keys = [public_document(key) for key in root_keys(reader) if key.proves]
        return Found(index=reader.table_index(_TABLE), body={"keys": keys})

    response = await answer_read(call, work, watch_table(_TABLE))
    response["Cache-Control"] = f"max-age={_JWKS_AGE_S}"
    return response


async def openid_configuration(call: Call) -> HttpResponse:
    """GET /.well-known/openid-configuration."""
    issuer = settings.BIVOUAC_TOKEN_ISSUER
    if not issuer:
        return refusal(404, "OIDC Discovery endpoint disabled")
    return answer_json(
        call.request,
        {
            "issuer": issuer,
            "jwks_uri": f"{issuer.rstrip('/')}/.well-known/jwks.json",
            "id_token_signing_alg_values_supported": [SIGNING],
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
        },
    )


async def introduce(call: Call) -> HttpResponse:
    """PUT /v1/acl/identity/client-introduction-token."""
    require_writes(call.caller, "node")
    body = call.body("ACLCreateClientIntroductionTokenRequest")
    asked = body.duration("TTL")
    if asked < 0:
        raise OperationRefused("TTL must not be negative")
    name, pool = body.text("NodeName"), body.text("NodePool")

    def work(reader: RecordReader) -> str:
        return introduce_node(
            reader,
            name=name,
            pool=pool,
            life=min(asked or USUAL_INTRODUCTION, LONGEST_INTRODUCTION),
            region=settings.BIVOUAC_REGION,
            by=call.caller,
            now=call.now,
            ids=call.ids,
        )

    token = await call.read(work)
    act = Act(
        "introduce node", "node pool", pool or DEFAULT_NODE_POOL, detail=name and f"as {name}"
    )
    note_done(the_store(), actor_of(call.caller), act, at=call.now)
    return answer_json(call.request, {"JWT": token})


def _publish_time(call: Call) -> int:
    text = call.query.get("publish_time", "")
    digits = text.removeprefix("-")
    if text and not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
        raise OperationRefused(
            f'invalid publish_time: strconv.ParseInt: parsing "{text[:64]}": invalid syntax'
        )
    return int(text or 0)
