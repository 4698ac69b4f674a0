"""GET /v1/agent/monitor and its /export: the log of this web process, or of a node's agent.

In: a level, a form, a node or a server by name. Out: what is written from now on, or what the
file of the log holds. An agent is asked over its channel, whichever web process holds that.
"""

from collections.abc import AsyncIterator

from django.http import HttpResponseBase, QueryDict, StreamingHttpResponse

from cluster.api.client_proxy import node_id_of, streamed
from cluster.api.parameters import quoted, read_flag
from cluster.api.request import Call
from cluster.api.respond import refusal
from cluster.api.server_facts import server_name
from cluster.followed_log import LEVELS, Form, followed, log_file, written_so_far
from cluster.jobspec.durations import read_duration
from cluster.operations import agent_calls as operations
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require_reads

#: What a process says whose log is no file.
NO_FILE = "No nomad log file defined"
NO_JOURNAL = "The journal of systemd is not read here: journalctl does, on the machine itself."


async def monitor(call: Call) -> HttpResponseBase:
    """GET /v1/agent/monitor."""
    require_reads(call.caller, "agent")
    word = (call.query.get("log_level") or "info").lower()
    if word not in LEVELS:
        raise OperationRefused(f"Unknown log level: {word[:64]}")
    form = Form(
        level=word,
        json=_flag(call.query, "log_json", "log json"),
        plain=_flag(call.query, "plain", "plain"),
        location=_flag(call.query, "log_include_location", "log include location"),
    )
    node_id = await _asked(call)
    if node_id:
        return await streamed(
            operations.follow_log(node_id, form, by=call.caller), _kind(is_plain=form.plain)
        )
    return _answer(followed(form), is_plain=form.plain)


async def export(call: Call) -> HttpResponseBase:
    """GET /v1/agent/monitor/export: the whole log file of a process, as it is now."""
    require_reads(call.caller, "agent")
    service, since = call.query.get("service_name", ""), call.query.get("logs_since", "")
    on_disk = _flag(call.query, "on_disk", "on-disk")
    is_plain = _flag(call.query, "plain", "plain")
    follows = _flag(call.query, "follow", "follow")
    if not on_disk and not service:
        raise OperationRefused("Either -service-name or -on-disk must be set")
    if on_disk and service:
        raise OperationRefused("Cannot target journald and nomad log file simultaneously")
    if on_disk and follows:
        raise OperationRefused("Cannot follow log file")
    if since and read_duration(since) is None:
        raise OperationRefused(f"Unknown value for logs-since: {quoted(since[:64])}")
    node_id = await _asked(call)
    if service:
        return refusal(501, NO_JOURNAL)
    if node_id:
        frames = operations.written_log(node_id, is_plain=is_plain, by=call.caller)
        return await streamed(frames, _kind(is_plain=is_plain))
    descriptor = log_file()
    if descriptor is None:
        raise OperationRefused(NO_FILE)
    return _answer(written_so_far(descriptor, is_plain=is_plain), is_plain=is_plain)


async def _asked(call: Call) -> str:
    """The id of the node whose agent is meant; empty for this server."""
    node_id, server_id = call.query.get("node_id", ""), call.query.get("server_id", "")
    if node_id and server_id:
        raise OperationRefused("Cannot target node and server simultaneously")
    if server_id not in {"", "leader", server_name()}:
        raise OperationRefused(f"unknown Nomad server {server_id[:128]}")
    return await node_id_of(call, node_id, NotFound) if node_id else ""


def _flag(query: QueryDict, name: str, shown: str) -> bool:
    try:
        return bool(read_flag(query, name))
    except OperationRefused as refused:
        raise OperationRefused(f"Unknown option for {shown}: {refused}") from None


def _kind(*, is_plain: bool) -> str:
    return "text/plain" if is_plain else "application/json"


def _answer(lines: AsyncIterator[bytes], *, is_plain: bool) -> HttpResponseBase:
    response = StreamingHttpResponse(lines, content_type=_kind(is_plain=is_plain))
    response["Cache-Control"] = "no-store"
    return response
