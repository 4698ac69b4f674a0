"""Answers: JSON with the index headers, bare-text errors, compression.

In: plain values and what a read found. Out: Django responses. Knows no noun.
"""

import gzip
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, QueryDict

from cluster.api.parameters import is_pretty
from cluster.store.blocking import Watch

INDEX = "X-Nomad-Index"
KNOWN_LEADER = "X-Nomad-KnownLeader"
LAST_CONTACT = "X-Nomad-LastContact"
NEXT_TOKEN = "X-Nomad-NextToken"  # noqa: S105 - a header

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
#: Smaller answers are sent as they are: one packet either way.
_WORTH_COMPRESSING = 1024


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a read found. With `missing`, nothing: its text is the body of a 404."""

    index: int
    body: Any = None
    missing: str = ""
    next_token: str = ""
    #: Further things whose change may change what was found.
    watches: tuple[Watch, ...] = ()


def answer_found(request: HttpRequest, found: Found) -> HttpResponse:
    """The answer to a read, with all read headers."""
    if found.missing:
        response = refusal(404, found.missing)
    else:
        response = answer_json(request, found.body)
    _put(response, INDEX, str(max(1, found.index)))
    _put(response, KNOWN_LEADER, "true")
    _put(response, LAST_CONTACT, "0")
    if found.next_token:
        response[NEXT_TOKEN] = found.next_token
    return response


def answer_write(request: HttpRequest, body: Any, index: int) -> HttpResponse:
    """The answer to a write. A body of None is sent as an empty one."""
    response = answer_json(request, body) if body is not None else answer_empty()
    if index:
        _put(response, INDEX, str(index))
    return response


def answer_json(request: HttpRequest, body: Any, status: int = 200) -> HttpResponse:
    """JSON without an index: agents, status, previews."""
    content = msgspec.json.encode(body)
    if is_pretty(_query(request)):
        content = msgspec.json.format(content, indent=4) + b"\n"
    return answer_bytes(request, content, _JSON, status)


def answer_bytes(
    request: HttpRequest, content: bytes, content_type: str, status: int = 200
) -> HttpResponse:
    """Content as it is, compressed where that is worth it and the caller takes it."""
    response = HttpResponse(content, content_type=content_type, status=status)
    if len(content) >= _WORTH_COMPRESSING and _takes_gzip(request):
        response.content = gzip.compress(content, compresslevel=1, mtime=0)
        response["Content-Encoding"] = "gzip"
    return _finished(response)


def answer_empty(status: int = 200) -> HttpResponse:
    """No body at all, and said so."""
    response = HttpResponse(b"", status=status)
    del response["Content-Type"]
    return _finished(response)


def refusal(status: int, text: str) -> HttpResponse:
    """An error: the bare message."""
    return _finished(HttpResponse(text, content_type=_TEXT, status=status))


def read_meta(found_index: int, next_token: str = "") -> dict[str, Any]:
    """What some read answers carry in the body, equal to the headers."""
    return {
        "Index": max(1, found_index),
        "LastContact": 0,
        "KnownLeader": True,
        "NextToken": next_token,
    }


def write_meta(index: int) -> dict[str, Any]:
    """What job writes carry in the body."""
    return {"Index": index, "LastContact": 0, "KnownLeader": False, "NextToken": ""}


def _query(request: HttpRequest) -> QueryDict:
    return request.GET


def _takes_gzip(request: HttpRequest) -> bool:
    accepted = request.headers.get("Accept-Encoding", "")
    for part in accepted.split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip().lower() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _finished(response: HttpResponse) -> HttpResponse:
    _put(response, "Content-Length", str(len(response.content)))
    _put(response, "Vary", "Accept-Encoding")
    _put(response, "X-Content-Type-Options", "nosniff")
    return response


def _put(response: HttpResponse, name: str, value: str) -> None:
    """A field of our own words: not looked through for what no field may hold."""
    response.headers._store[name.lower()] = (name, value)
