"""GET /v1/agent/monitor: what this web process writes to its log from now on, line by line.

In: a level, a form. Out: a stream that begins at once. Lines are those that the log itself gets,
so no secret of a link is in them, and at `debug` one for each request of the API that has ended.
What is written faster than it is read is left out and counted.
"""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec
from django.http import HttpResponseBase, StreamingHttpResponse

from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.api.respond import refusal
from cluster.api.server_facts import server_name
from cluster.log_lines import REQUESTS, HideLinks
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_reads

HEARTBEAT_S = 10.0
#: Lines that wait for a reader; more are left out.
_MOST = 512
_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
_SHOWN = {"WARNING": "WARN", "CRITICAL": "ERROR"}


async def monitor(call: Call) -> HttpResponseBase:
    """GET /v1/agent/monitor, of the process that answers."""
    require_reads(call.caller, "agent")
    word = (call.query.get("log_level") or "info").lower()
    if word not in _LEVELS:
        raise OperationRefused(f"Unknown log level: {word[:64]}")
    is_plain = bool(read_flag(call.query, "plain"))
    is_json = bool(read_flag(call.query, "log_json"))
    node_id, server_id = call.query.get("node_id", ""), call.query.get("server_id", "")
    if node_id and server_id:
        raise OperationRefused("Cannot target node and server simultaneously")
    if server_id not in {"", "leader", server_name()}:
        raise OperationRefused(f"unknown Nomad server {server_id[:128]}")
    if node_id:
        return refusal(501, "Following the log of a node's agent is not built yet.")
    lines = _lines(_LEVELS[word], is_plain=is_plain, is_json=is_json)
    kind = "text/plain" if is_plain else "application/json"
    response = StreamingHttpResponse(lines, content_type=kind)
    response["Cache-Control"] = "no-store"
    return response


class _Listener(logging.Handler):
    """Hands records to the loop of a reader, from whatever thread they come."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.addFilter(HideLinks())
        self._loop = asyncio.get_running_loop()
        self.waiting: asyncio.Queue[logging.LogRecord] = asyncio.Queue(_MOST)
        self.left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Queue it; a loop that is gone reads nothing more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, record)

    def _take(self, record: logging.LogRecord) -> None:
        if self.waiting.full():
            self.left_out += 1
        else:
            self.waiting.put_nowait(record)


async def _lines(level: int, *, is_plain: bool, is_json: bool) -> AsyncIterator[bytes]:
    listener = _Listener(level)
    followed = [logging.getLogger(), *([REQUESTS] if level <= logging.DEBUG else [])]
    for logger in followed:
        logger.addHandler(listener)
    try:
        yield b"" if is_plain else b"{}"
        while True:
            try:
                record = await asyncio.wait_for(listener.waiting.get(), HEARTBEAT_S)
            except TimeoutError:
                yield b"" if is_plain else b"{}"
                continue
            text = line_of(record, is_json=is_json)
            if listener.left_out:
                text += f"({listener.left_out} lines left out)\n"
                listener.left_out = 0
            yield text.encode() if is_plain else _frame(text)
    finally:
        for logger in followed:
            logger.removeHandler(listener)


def line_of(record: logging.LogRecord, *, is_json: bool = False) -> str:
    """A record as the reference writes a line."""
    at = datetime.fromtimestamp(record.created, UTC)
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
    level = _SHOWN.get(record.levelname, record.levelname)
    text = record.getMessage()
    if is_json:
        told = {
            "@level": level.lower(), "@message": text, "@module": record.name, "@timestamp": stamp
        }  # fmt: skip
        return msgspec.json.encode(told).decode() + "\n"
    return f"{stamp} [{level}] {record.name}: {text}\n"


def _frame(text: str) -> bytes:
    return msgspec.json.encode({"Data": base64.b64encode(text.encode()).decode()})
