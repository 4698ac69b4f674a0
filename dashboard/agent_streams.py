"""What an agent sends on and on, as an answer to a browser.

In: pieces of an agent. Out: a streaming response whose refusal keeps its status when it comes
before the first piece; raises it then.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

#: Seconds an answer may be silent before its headers are sent anyway.
FIRST_PIECE_S = 1.0


async def streamed(pieces: AsyncIterator[bytes], content_type: str) -> StreamingHttpResponse:
    """The answer, once its first piece is there or has been waited for."""
    first = asyncio.ensure_future(_next(pieces))
    done, _ = await asyncio.wait({first}, timeout=FIRST_PIECE_S)
    if done:
        first.result()
    response = StreamingHttpResponse(_rest(first, pieces), content_type=content_type)
    response["Cache-Control"] = "no-store"
    return response


def attached(
    response: StreamingHttpResponse, name: str, size: int | None = None
) -> StreamingHttpResponse:
    """The same as a file to keep, never to be shown; `size` in bytes, where it is known."""
    header = content_disposition_header(as_attachment=True, filename=name or "file")
    response["Content-Disposition"] = header or "attachment"
    if size is not None:
        response["Content-Length"] = str(size)
    return response


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


async def _rest(
    first: "asyncio.Future[bytes | None]", pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    # The server sends headers with the first piece only; a silent task must not look unreachable.
    yield b""
    async with aclosing(pieces) as stream:  # type: ignore[type-var] # call_agent is a generator
        try:
            piece = await first
        finally:
            first.cancel()
        if piece is None:
            return
        yield piece
        async for piece in stream:
            yield piece
