"""One row for an operation: its route and method, what it is asked with, what it answers.

In: the rows of `operations_*`. Out: values for `document`. A row does not say what right is asked:
`rights` does, which is written from the table of rights.
"""

from typing import NamedTuple

from cluster.api.openapi.shapes import Shape

#: What lists take besides.
LIST = ("prefix", "filter", "per_page", "next_token", "reverse")
#: What reads that can wait take besides.
WAIT = ("index", "wait")
JSON = "application/json"
PLAIN_TEXT = "text/plain"
ANY_BYTES = "application/octet-stream"


class Operation(NamedTuple):
    """A method of a route. `path` is below `/v1/`, with names in braces."""

    method: str
    path: str
    #: None: the answer has no body.
    answer: Shape | None
    summary: str
    #: Names of `parameters`, beside those that every route takes.
    query: tuple[str, ...] = ()
    body: Shape | None = None
    #: Bodies that may be left away.
    is_body_optional: bool = False
    status: int = 200
    media: str = JSON
    #: Of what is sent.
    body_media: str = JSON
    #: Whether the answer names the index of what was read, or written.
    has_index: bool = True
    #: Further statuses with a body in JSON.
    also: tuple[tuple[int, Shape], ...] = ()
    #: Further statuses with a sentence.
    refusals: tuple[int, ...] = ()
    #: A further form of a good answer, as text.
    other_media: str = ""


def read(path: str, answer: Shape, summary: str, *query: str) -> Operation:
    """GET of something that can be waited for."""
    return Operation("GET", path, answer, summary, (*WAIT, *query))


def listed(path: str, answer: Shape, summary: str, *query: str) -> Operation:
    """GET of a list in pages."""
    return read(path, answer, summary, *LIST, *query)


def told(path: str, answer: Shape, summary: str, *query: str) -> Operation:
    """GET of what has no index."""
    return Operation("GET", path, answer, summary, query, has_index=False)


def written(path: str, body: Shape | None, answer: Shape | None, summary: str) -> Operation:
    """PUT, for which POST may stand."""
    return Operation("PUT", path, answer, summary, body=body)


def removed(path: str, answer: Shape | None, summary: str, *query: str) -> Operation:
    """What deletes, or ends something."""
    return Operation("DELETE", path, answer, summary, query)


def nothing(path: str, status: int, *methods: str) -> tuple[Operation, ...]:
    """Routes that only say that nothing is there."""
    return tuple(
        Operation(method, path, None, "Nothing is here", status=status, has_index=False)
        for method in methods
    )


def session(path: str, summary: str) -> Operation:
    """A websocket; a request without an upgrade is refused."""
    return Operation("GET", path, None, summary, status=101, has_index=False)
