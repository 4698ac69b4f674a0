"""Find objects by the beginning of their id, over every kind at once (http-api.md 2.5)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.http import HttpResponse

from cluster.api.paging import id_beginning
from cluster.api.request import Call
from cluster.api.respond import Found, answer_found, read_meta
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.ports import Listing, RecordReader
from scheduler.access.access import Access
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.state.nouns import NAMESPACES, NODE_POOLS

#: Contexts as the error text names them, and `all`.
_CONTEXTS = (
    "allocs", "jobs", "nodes", "node_pools", "evals", "deployment", "plugins", "volumes",
    "scaling_policy", "vars", "namespaces", "host_volumes",
)  # fmt: skip
_UUID_CONTEXTS = frozenset({"allocs", "nodes", "evals", "deployment"})
#: Kinds that do not exist here; they are answered as empty.
_EMPTY_CONTEXTS = frozenset({"plugins", "volumes", "scaling_policy", "vars", "host_volumes"})
_MOST = 20


def _reads_jobs(access: Access, namespace: str) -> bool:
    return access.allows(namespace, "read-job")


#: Who may search a context of a namespace (access.md 8.5); `all` leaves the others out.
_MAY: dict[str, Callable[[Access, str], bool]] = {
    "allocs": _reads_jobs,
    "jobs": _reads_jobs,
    "evals": _reads_jobs,
    "deployment": _reads_jobs,
    "scaling_policy": _reads_jobs,
    "nodes": lambda access, _namespace: access.reads("node"),
    "node_pools": lambda access, _namespace: access.has_any_pool(),
    "plugins": lambda access, _namespace: access.lists_plugins(),
    "volumes": lambda access, namespace: access.allows(
        namespace, "csi-list-volume", "csi-read-volume", "list-jobs", "read-job"
    ),
    "vars": lambda access, namespace: access.has_any_variable(namespace),
    "namespaces": lambda access, namespace: access.knows_namespace(namespace),
    "host_volumes": lambda access, namespace: access.allows(namespace, "host-volume-read"),
}
_TABLES = ("jobs", "nodes", "allocations", "evaluations", "deployments", "namespaces")


async def search(call: Call) -> HttpResponse:
    """PUT /v1/search."""
    body = call.body("SearchRequest")
    prefix, context = body.text("Prefix"), body.text("Context") or "all"
    if context != "all" and context not in _CONTEXTS:
        known = " ".join(_CONTEXTS)
        raise OperationRefused(
            f"context must be one of [{known}] or 'all' for all contexts; got \"{context}\""
        )
    access = call.caller.access
    if context != "all" and not _MAY[context](access, call.namespace):
        raise NotAllowed(missing=f"a right to search {context}")
    contexts = [
        name
        for name in (_CONTEXTS if context == "all" else (context,))
        if (name not in _UUID_CONTEXTS or _is_hex(prefix)) and _MAY[name](access, call.namespace)
    ]
    found = await call.read(lambda reader: _search(call, reader, prefix, contexts))
    return answer_found(call.request, found)


def _search(call: Call, reader: RecordReader, prefix: str, contexts: list[str]) -> Found:
    matches: dict[str, list[str] | None] = {}
    truncations: dict[str, bool] = {}
    for context in contexts:
        ids = list(_first(_ids(call, reader, context, prefix), _MOST + 1))
        matches[context] = ids[:_MOST] or None
        truncations[context] = len(ids) > _MOST
    index = max(1, *(reader.table_index(table) for table in _TABLES))
    body = read_meta(index) | {"Matches": matches, "Truncations": truncations}
    return Found(index=index, body=body)


def _ids(call: Call, reader: RecordReader, context: str, prefix: str) -> Iterable[str]:
    if context in _EMPTY_CONTEXTS:
        return ()
    if context == "namespaces":
        return (
            each.name
            for each in reader.list_all(NAMESPACES)
            if call.caller.access.knows_namespace(each.name) and each.name.startswith(prefix)
        )
    if context == "node_pools":
        return (
            pool.name
            for pool in reader.list_all(NODE_POOLS)
            if call.caller.access.allows_pool(pool.name, "read") and pool.name.startswith(prefix)
        )
    beginning = prefix
    if context in _UUID_CONTEXTS:
        beginning = id_beginning(prefix.replace("-", ""))
    namespaces = call.listed(reader, "read-job")
    wanted = Listing(prefix=beginning, namespaces=namespaces, limit=_MOST)
    return reader.first_ids(_NOUN_OF[context], wanted)


_NOUN_OF: dict[str, Noun[Any, Any]] = {
    "allocs": nouns.ALLOCATIONS,
    "deployment": nouns.DEPLOYMENTS,
    "evals": nouns.EVALUATIONS,
    "jobs": nouns.JOBS,
    "nodes": nouns.NODES,
}


def _is_hex(prefix: str) -> bool:
    digits = prefix.replace("-", "")
    return (
        len(prefix) <= 36
        and len(prefix) - len(digits) <= 4
        and all(letter in "0123456789abcdefABCDEF" for letter in digits)
    )


def _first(items: Iterable[str], most: int) -> Iterator[str]:
    for number, item in enumerate(items):
        if number == most:
            return
        yield item
