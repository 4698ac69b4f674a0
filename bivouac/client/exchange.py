"""What both clients share: how a request is put together, and how an answer is read."""

import os
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx
import msgspec

from bivouac.client.answers import Answer, Event
from bivouac.client.decode import decode
from bivouac.client.errors import BivouacError, refusal
from bivouac.client.request import Request

Result = TypeVar("Result")

#: The server waits this long for a change, and a little more to spread its answers.
WAIT_S = 60
#: How long to wait before the line is tried again.
AGAIN_S = 1.0
_SLACK_S = 30.0
#: Longer than the stream is ever silent.
STREAM_SILENCE_S = 90.0


def address_of(address: str) -> str:
    """The address given, or that of the environment, or the usual one."""
    found = address or os.environ.get("NOMAD_ADDR", "") or "http://127.0.0.1:4646"
    return f"{found.rstrip('/')}/v1/"


def headers_of(token: str) -> dict[str, str]:
    """The token given, or that of the environment."""
    found = token or os.environ.get("NOMAD_TOKEN", "")
    return {"X-Nomad-Token": found} if found else {}


def parts_of(request: Request[Any], namespace: str, timeout: float) -> dict[str, Any]:
    """A request as httpx takes it."""
    query = dict(request.query)
    if namespace:
        query.setdefault("namespace", namespace)
    waits = "index" in query
    return {
        "method": request.method,
        "url": request.path,
        "params": query,
        "content": None if request.body is None else msgspec.json.encode(request.body),
        "headers": {} if request.body is None else {"Content-Type": "application/json"},
        "timeout": WAIT_S + _SLACK_S if waits else timeout,
    }


def answer_of(request: Request[Result], response: httpx.Response) -> Answer[Result]:
    """The answer, or the exception that it stands for."""
    if response.status_code >= 400:
        raise refused(response)
    index = response.headers.get("X-Nomad-Index", "0")
    token = response.headers.get("X-Nomad-NextToken", "")
    value: Any = None
    if response.content and request.kind is not None:
        try:
            plain = msgspec.json.decode(response.content)
            value = decode(plain[request.inside] if request.inside else plain, request.kind)
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            where = f"{request.method} /v1/{request.path}"
            raise BivouacError(f"{where} answered what is not known here: {error}") from error
    return Answer(value, int(index) if index.isdigit() else 0, token)


def refused(response: httpx.Response) -> BivouacError:
    """The exception of an answer that is none; its body has been read."""
    again = response.headers.get("Retry-After", "")
    return refusal(response.status_code, response.text, again)


def next_wait(request: Request[Result], index: int) -> Request[Result]:
    """The same, to be answered once something has changed after that index."""
    return request.with_query(index=str(index), wait=f"{WAIT_S}s")


def stream_of(topics: tuple[str, ...], index: int, namespace: str) -> httpx.QueryParams:
    """The parameters of an event stream."""
    query: list[tuple[str, str | int | float | bool | None]] = [("topic", each) for each in topics]
    if index:
        query.append(("index", index))
    if namespace:
        query.append(("namespace", namespace))
    return httpx.QueryParams(query)


def events_in(line: str) -> Iterator[Event]:
    """The events of one line; none of a sign of life."""
    for each in msgspec.json.decode(line).get("Events") or ():
        yield decode(each, Event)
