"""The OpenAPI 3.1 document of `/v1/`: every route by method, and nothing else.

In: the routes, the rows of operations, the rights. Out: plain objects for JSON. A route without a
row, or a row without a route, is a `LookupError`: the tests build it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.urls import URLPattern

from cluster.api.openapi import (
    operations_cluster,
    operations_jobs,
    operations_names,
    operations_volumes,
    operations_work,
)
from cluster.api.openapi.operation import JSON, PLAIN_TEXT, Operation
from cluster.api.openapi.parameters import EVERYWHERE, PARAMETERS
from cluster.api.openapi.rights import RIGHTS
from cluster.api.openapi.route_paths import parameters_of, paths_of
from cluster.api.openapi.shapes import Components, Document
from cluster.versions import VERSION

_ROWS: Mapping[tuple[str, str], Operation] = {
    (row.method, row.path): row
    for rows in (
        operations_jobs,
        operations_work,
        operations_cluster,
        operations_names,
        operations_volumes,
    )
    for row in rows.OPERATIONS
}
_READ_HEADERS = ("X-Nomad-Index", "X-Nomad-KnownLeader", "X-Nomad-LastContact")
_HEADERS: dict[str, tuple[str, str]] = {
    "X-Nomad-Index": ("integer", "The index of what was read, or that was written"),
    "X-Nomad-KnownLeader": ("string", "`true`"),
    "X-Nomad-LastContact": ("integer", "0"),
    "X-Nomad-NextToken": ("string", "Where the next page begins; absent on the last one"),
    "Retry-After": ("integer", "Seconds"),
}
_REFUSALS: dict[int, tuple[str, str]] = {
    400: ("Refused", "What was asked is wrong; the sentence says why"),
    401: ("NotProved", "What was shown proves nothing"),
    403: ("Forbidden", "`Permission denied`"),
    404: ("NotFound", "It is not there, or a name in the path is empty"),
    405: ("NoMethod", "`Invalid method`"),
    409: ("Conflict", "Something stands against it, or has changed meanwhile"),
    413: ("TooLarge", "The body is too large"),
    422: ("BadParameter", "A parameter is wrong"),
    429: ("TooMany", "Too many requests: again later"),
    500: ("Failed", "It could not be done; the sentence says why"),
    501: ("NotBuilt", "Known, and not built here"),
    502: ("ProviderFailed", "Who signs people in does not answer as it should"),
    503: ("Away", "A part of the cluster is away: again later"),
    504: ("Silent", "An agent did not answer in time"),
}
#: Of every operation.
_ALWAYS = (400, 403, 404, 429, 503)
_WRITES = (409, 413)
_ABOUT = (
    "A cluster scheduler that one can watch think. The API is that of Nomad, with routes of our"
    " own beside. Errors are a sentence in plain text. PUT and POST are the same where both are"
    " here. Names in a path are percent-encoded; those of jobs and variables may hold slashes."
)


def make_document(routes: Sequence[URLPattern]) -> Document:
    """The document of these routes."""
    components = Components()
    paths: dict[str, dict[str, Any]] = {}
    left = dict(_ROWS)
    for path, method, status, sentence in _methods_of(routes):
        row = _ROWS.get((method, path)) or _ROWS.get(("PUT" if method == "POST" else "", path))
        if sentence:
            row = Operation(method, path, None, "Not built", status=status, has_index=False)
        if row is None:
            raise LookupError(f"no operation is declared for {method} {path}")
        left.pop((row.method, path), None)
        told = _operation(row, method, components)
        if sentence:
            told["description"] += f" {sentence}"
        paths.setdefault(f"/v1/{path}", {})[method.lower()] = told
    if left:
        raise LookupError(f"no route is there for {sorted(left)}")
    for path, item in paths.items():
        item["parameters"] = [_in_path(name) for name in parameters_of(path)]
    components.close()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Bivouac",
            "version": VERSION,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}, {"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Nomad-Token"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
            "parameters": {name: _in_query(name) for name in PARAMETERS},
            "headers": {name: _header(*each) for name, each in _HEADERS.items()},
            "responses": {name: _refusal(text) for name, text in _REFUSALS.values()},
            "schemas": dict(sorted(components.schemas.items())),
        },
    }


def _methods_of(routes: Iterable[URLPattern]) -> Iterator[tuple[str, str, int, str]]:
    """Each path of each route, each method of it, and what is said where it is not built.

    An earlier route stands before a later one of the same path, as it does when it is asked.
    """
    seen: set[tuple[str, str]] = set()
    for route in routes:
        for path in paths_of(str(route.pattern)):
            for method in sorted(getattr(route.callback, "methods", ())):
                if (path, method) not in seen:
                    seen.add((path, method))
                    sentences = getattr(route.callback, "not_built", {})
                    yield path, method, *sentences.get(method, (0, ""))


def _operation(row: Operation, method: str, components: Components) -> dict[str, Any]:
    asked = [f"{each} {row.path}" for each in (row.method, "PUT")]
    right = next(RIGHTS[each] for each in asked if each in RIGHTS)
    told: dict[str, Any] = {
        "operationId": _name_of(method, row.path),
        "summary": row.summary,
        "description": f"Right: {right}.",
        "tags": [row.path.partition("/")[0]],
        "x-right": right,
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"} for name in (*EVERYWHERE, *row.query)
        ],
        "responses": _responses(row, components),
    }
    if method != row.method:
        told["x-same-as"] = row.method.lower()
    if row.body is not None:
        told["requestBody"] = {
            "required": not row.is_body_optional,
            "content": {row.body_media: {"schema": row.body(components)}},
        }
    return told


def _responses(row: Operation, components: Components) -> dict[str, Any]:
    statuses = [*_ALWAYS, *row.refusals, *(() if row.method == "GET" else _WRITES)]
    found: dict[str, Any] = {
        str(status): {"$ref": f"#/components/responses/{_REFUSALS[status][0]}"}
        for status in sorted({*statuses})
    }
    if row.status >= 400:
        found[str(row.status)] = {"$ref": f"#/components/responses/{_REFUSALS[row.status][0]}"}
        return found
    good: dict[str, Any] = {"description": row.summary}
    if row.has_index:
        names = _READ_HEADERS if row.method == "GET" else _READ_HEADERS[:1]
        names = (*names, "X-Nomad-NextToken") if "next_token" in row.query else names
        good["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    if row.answer is not None:
        good["content"] = {row.media: {"schema": row.answer(components)}}
        if row.other_media:
            good["content"][row.other_media] = {"schema": {"type": "string"}}
    found[str(row.status)] = good
    for status, shape in row.also:
        found[str(status)] = {
            "description": row.summary,
            "content": {
                JSON: {"schema": shape(components)},
                **({PLAIN_TEXT: {"schema": {"type": "string"}}} if status in _ALWAYS else {}),
            },
        }
    return found


def _name_of(method: str, path: str) -> str:
    """`get_job_allocations`; a name in braces is told only where it stands at the end."""
    words = [part for part in path.replace("-", "_").split("/") if not part.startswith("{")]
    last = path.rpartition("/")[2]
    by = f"_by_{last.strip('{}')}" if last.startswith("{") else ""
    return f"{method.lower()}_{'_'.join(words)}{by}"


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> dict[str, Any]:
    schema, text = PARAMETERS[name]
    return {"name": name, "in": "query", "description": text, "schema": schema}


def _header(kind: str, text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": kind}}


def _refusal(text: str) -> dict[str, Any]:
    return {"description": text, "content": {PLAIN_TEXT: {"schema": {"type": "string"}}}}
