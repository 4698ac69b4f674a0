"""Whether an answer is in the API's document: its status, its form, its shape."""

import functools
import gzip
import json

import jsonschema_rs
from django.urls import resolve

from cluster.api import urls
from cluster.api.openapi.document import make_document
from cluster.api.openapi.route_paths import matches, paths_of

#: Not in the document: what no route answers, and a method that a route does not take. Some routes
#: refuse such methods with another status.
UNKNOWN_PATH, NO_METHOD = 404, 405


@functools.cache
def document():
    return make_document(urls.urlpatterns)


@functools.cache
def validator(path, method, status, media):
    """Of one answer; None where the document knows no such one."""
    answer = document()["paths"][path][method]["responses"].get(status)
    if answer is None:
        return None
    if "$ref" in answer:
        answer = document()["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    content = answer.get("content", {})
    if media not in content:
        return None
    schemas = document()["components"]["schemas"] | {"the answer": content[media]["schema"]}
    return jsonschema_rs.Draft202012Validator(
        {"$ref": "#/components/schemas/the%20answer", "components": {"schemas": schemas}}
    )


def path_of(address):
    """The path of the document that an address below the root is of; None: of none."""
    found = resolve(address.removeprefix("/v1"), urlconf=urls)
    route = str(found.route)
    for path in paths_of(route):
        # The first pattern that matches is the route, so one of its paths is meant.
        if matches(path, address.removeprefix("/v1/")):
            return f"/v1/{path}"
    return None


def differences(method, address, response):
    """What of an answer the document does not say, as sentences."""
    status = response.status_code
    if not address.startswith("/v1/") or status == NO_METHOD:
        return []
    path = path_of(address)
    if path not in document()["paths"]:
        return [] if status == UNKNOWN_PATH else [f"{address} is no path of the document"]
    operation = document()["paths"][path].get(method.lower())
    media = response.headers.get("Content-Type", "").partition(";")[0]
    if operation is None:
        is_refused = status >= 400 and media == "text/plain"
        return [] if is_refused else [f"{method} {path} is no operation of the document"]
    told = f"{method} {path}: {status} {media}"
    if not media:
        answer = operation["responses"].get(str(status), {})
        return [f"{told} has no body"] if "content" in answer or not answer else []
    found = validator(path, method.lower(), str(status), media)
    if found is None:
        return [f"{told} is no answer of the document"]
    if response.streaming or media != "application/json":
        return []
    content = response.content
    if response.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)
    value = json.loads(content)
    return [
        f"{told}: {'/'.join(map(str, each.instance_path))}: {each.message[:300]}"
        for each in found.iter_errors(value)
    ]
