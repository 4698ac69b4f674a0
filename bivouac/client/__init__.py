"""A typed client of the API: jobs and all else as the structs of `scheduler`, sync and async.

Who may enter: programs of anybody. It imports `scheduler.structs`, msgspec and httpx only.
"""

from bivouac.client import ask
from bivouac.client.answers import Answer, Event
from bivouac.client.asynchronous import AsyncClient
from bivouac.client.errors import (
    Away,
    BivouacError,
    Conflict,
    NotAllowed,
    NotBuilt,
    NotFound,
    Refused,
    ServerFault,
    TooMany,
    Unreachable,
)
from bivouac.client.request import Request
from bivouac.client.synchronous import Client

__all__ = [
    "Answer",
    "AsyncClient",
    "Away",
    "BivouacError",
    "Client",
    "Conflict",
    "Event",
    "NotAllowed",
    "NotBuilt",
    "NotFound",
    "Refused",
    "Request",
    "ServerFault",
    "TooMany",
    "Unreachable",
    "ask",
]
