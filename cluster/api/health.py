"""GET /v1/agent/health: how the parts of the cluster stand (http-api.md 3.8); open to everybody.

In: what the watch of this process saw last. Out: 200 while all stand well, else 503, with each
part's standing and the age of the last good look. The record is not asked: it may be what is away.
"""

from typing import Any

from django.http import HttpResponse

from cluster.api.faults import told_in_log
from cluster.api.request import Call
from cluster.api.respond import answer_json
from cluster.store.faults import TRY_AGAIN_S
from cluster.store.health import HEALTH, ClusterPart


async def health(call: Call) -> HttpResponse:
    """Of the server; `type=client` is answered as a pure server does."""
    request = call.request
    wanted = call.query.get("type", "")
    if wanted == "client":
        body = {"client": {"ok": False, "message": "client not enabled"}}
        return answer_json(request, body, status=500)
    if wanted not in {"", "server"}:
        return answer_json(request, {})
    monotonic = request.clock.monotonic()  # type: ignore[attr-defined] # set by the middleware
    faulty = HEALTH.faulty
    server: dict[str, Any] = {
        "ok": not faulty,
        "message": "; ".join(f"{part.name}: {part.fault}" for part in faulty) or "ok",
    }
    if HEALTH.parts and (faulty or call.additions):
        server["parts"] = {part.name: _told(part, monotonic) for part in HEALTH.parts}
    response = answer_json(request, {"server": server}, status=503 if faulty else 200)
    if faulty:
        response["Retry-After"] = str(TRY_AGAIN_S)
    # Whoever watches asks each second; the log says elsewhere, once, what is wrong.
    return told_in_log(response)


def _told(part: ClusterPart, monotonic: float) -> dict[str, Any]:
    """`age_s`: seconds since it was last seen well; null when it never was."""
    age = None if part.well_at is None else round(max(0.0, monotonic - part.well_at), 3)
    return {"ok": not part.fault, "message": part.fault or "ok", "age_s": age}
