"""Find objects by the beginning of their id, over every kind at once (http-api.md 2.5)."""

from collections.abc import Iterable, Iterator

from django.http import HttpResponse

from cluster.api.paging import id_beginning
from cluster.api.request import Call
from cluster.api.respond import Found, answer_found, read_meta
from cluster.operations.errors import OperationRefused
from cluster.store.listing import Listing, first_ids
from cluster.store.reader import DjangoStateReader
from scheduler.ports import StateReader

#: Contexts as the error text names them, and `all`.
_CONTEXTS = (
    "allocs", "jobs", "nodes", "node_pools", "evals", "deployment", "plugins", "volumes",
    "scaling_policy", "vars", "namespaces", "host_volumes",
)  # fmt: skip
_UUID_CONTEXTS = frozenset({"allocs", "nodes", "evals", "deployment"})
#: Kinds that do not exist here; they are answered as empty.
_EMPTY_CONTEXTS = frozenset({"plugins", "volumes", "scaling_policy", "vars", "host_volumes"})
_MOST = 20
_TABLES = ("jobs", "nodes", "allocations", "evaluations", "deployments", "namespaces")


async def search(call: Call) -> HttpResponse:
    """PUT /v1/search."""
    call.require_listing()
    body = call.body("SearchRequest")
    prefix, context = body.text("Prefix"), body.text("Context") or "all"
    if context != "all" and context not in _CONTEXTS:
        known = " ".join(_CONTEXTS)
        raise OperationRefused(
            f"context must be one of [{known}] or 'all' for all contexts; got \"{context}\""
        )
    contexts = [
        name
        for name in (_CONTEXTS if context == "all" else (context,))
        if name not in _UUID_CONTEXTS or _is_hex(prefix)
    ]
    found = await call.read(lambda reader: _search(call, reader, prefix, contexts))
    return answer_found(call.request, found)


def _search(call: Call, reader: StateReader, prefix: str, contexts: list[str]) -> Found:
    matches: dict[str, list[str] | None] = {}
    truncations: dict[str, bool] = {}
    for context in contexts:
        ids = list(_first(_ids(call, reader, context, prefix), _MOST + 1))
        matches[context] = ids[:_MOST] or None
        truncations[context] = len(ids) > _MOST
    index = max(1, *(reader.table_index(table) for table in _TABLES))
    body = read_meta(index) | {"Matches": matches, "Truncations": truncations}
    return Found(index=index, body=body)


def _ids(call: Call, reader: StateReader, context: str, prefix: str) -> Iterable[str]:
    if context in _EMPTY_CONTEXTS:
        return ()
    if context == "namespaces":
        return (
            each.name
            for each in reader.namespaces()
            if call.caller.sees(each.name) and each.name.startswith(prefix)
        )
    if context == "node_pools":
        return (pool.name for pool in reader.node_pools() if pool.name.startswith(prefix))
    beginning = prefix
    if context in _UUID_CONTEXTS:
        beginning = id_beginning(prefix.replace("-", ""))
    assert isinstance(reader, DjangoStateReader), "the API reads the database"
    wanted = Listing(prefix=beginning, namespaces=call.listed_namespaces, limit=_MOST)
    return first_ids(reader, _TABLE_OF[context], wanted)


_TABLE_OF = {
    "allocs": "allocations",
    "deployment": "deployments",
    "evals": "evaluations",
    "jobs": "jobs",
    "nodes": "nodes",
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
