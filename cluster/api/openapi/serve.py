"""GET /v1/openapi.json: the document, made once in a process, when it is first asked for."""

from collections.abc import Callable, Sequence

import msgspec
from django.http import HttpResponse
from django.urls import URLPattern

from cluster.api.openapi.document import make_document
from cluster.api.openapi.shapes import Document
from cluster.api.request import Call, View
from cluster.api.respond import answer_json


def serve_document(routes: Callable[[], Sequence[URLPattern]]) -> View:
    """The view of the document of these routes, of which it is one."""
    made: list[Document] = []

    async def view(call: Call) -> HttpResponse:
        if not made:
            made.append(make_document(routes()))
        return answer_json(call.request, made[0])

    return view


def document_text(routes: Sequence[URLPattern]) -> bytes:
    """The document as a file holds it."""
    return msgspec.json.format(msgspec.json.encode(make_document(routes)), indent=2) + b"\n"
