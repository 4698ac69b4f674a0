"""The server between two agents: the data of an allocation, from its node to its replacement's.

In: a call of the node that the replacement is on. Out: the archive as the other agent sends it,
piece by piece. Nothing of it is kept here.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import Refused, encode
from cluster.operations.agent_calls import send_call
from cluster.operations.data_migration import data_source
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store


async def give_data(request: HttpRequest, alloc_id: str) -> HttpResponseBase:
    """GET data/<allocation>: what the allocation that it replaces left on another node."""
    call = NodeRequest(request)
    try:
        if request.method != "GET":
            raise OperationRefused("Invalid method")
        node = await call.node()
        source = await the_store().aread(
            lambda reader: data_source(
                reader, node.id, alloc_id, secret=call.secret, by=call.caller, now=call.now
            )
        )
        pieces = send_call(source.node_id, "alloc.data", {"AllocID": source.alloc_id})
        first = await anext(pieces, b"")
    except OperationRefused as refused:
        body = encode(Refused(error=str(refused)), call.coding)
        return HttpResponse(body, content_type=call.coding, status=refused.status)
    return StreamingHttpResponse(_whole(first, pieces), content_type="application/x-tar")


async def _whole(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece
