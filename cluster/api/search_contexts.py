"""What can be searched: the contexts of both searches, who may search them, their indexes.

In: a caller, a namespace, a context's name. Out: what is asked for, or the refusal
(http-api.md 2.5, access.md 8.5).
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from cluster.api.paging import id_beginning
from cluster.api.request import Call
from cluster.api.scaling import policy_namespaces, searches_policies
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.ports import Listing, RecordReader
from scheduler.access.access import EVERY_NAMESPACE, Access
from scheduler.ports import StateReader
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.variable import SealedVariable

ALL = "all"
#: As the error text names them.
CONTEXTS = (
    "allocs", "jobs", "nodes", "node_pools", "evals", "deployment", "plugins", "volumes",
    "scaling_policy", "vars", "namespaces", "host_volumes",
)  # fmt: skip
UUID_CONTEXTS = frozenset({"allocs", "nodes", "evals", "deployment", "host_volumes"})
#: Kinds that do not exist here; they are answered as empty.
EMPTY_CONTEXTS = frozenset({"plugins", "volumes"})
#: Ids of a context at most; whether there are more is told.
MOST_IDS = 20


class Searched(NamedTuple):
    """The rows of a context."""

    noun: Noun[Any, Any]
    table: str


KINDS: dict[str, Searched] = {
    "allocs": Searched(nouns.ALLOCATIONS, "allocations"),
    "deployment": Searched(nouns.DEPLOYMENTS, "deployments"),
    "evals": Searched(nouns.EVALUATIONS, "evaluations"),
    "jobs": Searched(nouns.JOBS, "jobs"),
    "namespaces": Searched(nouns.NAMESPACES, "namespaces"),
    "node_pools": Searched(nouns.NODE_POOLS, "node_pools"),
    "nodes": Searched(nouns.NODES, "nodes"),
    "scaling_policy": Searched(SCALING_POLICIES, "scaling_policies"),
    "vars": Searched(VARIABLES, "variables"),
    "host_volumes": Searched(HOST_VOLUMES, HOST_VOLUMES.table_index),
}

_May = Callable[[Access, str], bool]


def _reads_jobs(access: Access, namespace: str) -> bool:
    return access.allows(namespace, "read-job")


_MAY: dict[str, _May] = {
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
#: Fuzzy search asks for one thing more than the other.
_MAY_FUZZY: dict[str, _May] = _MAY | {"scaling_policy": searches_policies}


def allowed_contexts(call: Call, context: str, *, is_fuzzy: bool = False) -> list[str]:
    """The contexts that are searched for a caller; `all` leaves out those without the right."""
    if context != ALL and context not in CONTEXTS:
        known = " ".join(CONTEXTS)
        raise OperationRefused(
            f"context must be one of [{known}] or 'all' for all contexts; got \"{context}\""
        )
    access, may = call.caller.access, _MAY_FUZZY if is_fuzzy else _MAY
    if context == ALL:
        return [name for name in CONTEXTS if may[name](access, call.namespace)]
    if not may[context](access, call.namespace):
        raise NotAllowed(missing=f"a right to search {context}")
    return [context]


def found_index(reader: StateReader, contexts: Iterable[str]) -> int:
    """The highest index of what was searched."""
    return max(
        1, *(reader.table_index(KINDS[name].table) for name in contexts if name in KINDS), 1
    )


def visible_names(call: Call, reader: StateReader, context: str) -> list[str]:
    """Of namespaces or node pools, those that the caller may see."""
    access = call.caller.access
    sees = (
        access.knows_namespace
        if context == "namespaces"
        else lambda name: access.allows_pool(name, "read")
    )
    return [row.name for row in reader.list_all(KINDS[context].noun) if sees(row.name)]


def visible_variables(call: Call, reader: StateReader) -> list[SealedVariable]:
    """The variables that the caller may list in the namespace asked for."""
    rows = (
        reader.list_all(VARIABLES)
        if call.namespace == EVERY_NAMESPACE
        else reader.list_by(VARIABLES, "namespace", call.namespace)
    )
    access = call.caller.access
    return [row for row in rows if access.allows_variable(*row.key, "list")]


def searched_namespaces(
    call: Call, reader: StateReader, context: str, *, is_fuzzy: bool = False
) -> Collection[str] | None:
    """The namespaces whose rows a search of a context shows; None for all."""
    if context == "scaling_policy" and is_fuzzy:
        return policy_namespaces(call, reader)
    return call.listed(reader, "read-job")


def ids_of(
    call: Call, reader: RecordReader, context: str, prefix: str, *, is_fuzzy: bool = False
) -> list[str]:
    """The first ids of a context that begin so, one more than are shown where there are more."""
    # Nothing is named by a NUL, and PostgreSQL would not even look for one.
    if context in EMPTY_CONTEXTS or "\0" in prefix or not can_begin(context, prefix):
        return []
    if context in {"namespaces", "node_pools"}:
        names = visible_names(call, reader, context)
        return [name for name in names if name.startswith(prefix)][: MOST_IDS + 1]
    if context == "vars":
        paths = [row.path for row in visible_variables(call, reader)]
        return [path for path in paths if path.startswith(prefix)][: MOST_IDS + 1]
    if context == "host_volumes":
        return _volume_ids(call, reader, prefix)
    beginning = prefix
    if context in UUID_CONTEXTS:
        beginning = id_beginning(prefix.replace("-", ""))
    namespaces = searched_namespaces(call, reader, context, is_fuzzy=is_fuzzy)
    wanted = Listing(prefix=beginning, namespaces=namespaces, limit=MOST_IDS)
    return reader.first_ids(KINDS[context].noun, wanted)


def _volume_ids(call: Call, reader: RecordReader, prefix: str) -> list[str]:
    """The first ids of host volumes that the caller may read."""
    namespaces = call.listed(reader, "host-volume-read")
    beginning = id_beginning(prefix.replace("-", ""))
    found = (
        volume.id
        for volume in reader.list_all(HOST_VOLUMES)
        if (namespaces is None or volume.namespace in namespaces)
        and volume.id.startswith(beginning)
    )
    return sorted(found)[: MOST_IDS + 1]


def can_begin(context: str, prefix: str) -> bool:
    """Whether ids of a context can begin so at all: UUIDs have hexadecimal digits."""
    digits = prefix.replace("-", "")
    return context not in UUID_CONTEXTS or (
        len(prefix) <= 36
        and len(prefix) - len(digits) <= 4
        and all(letter in "0123456789abcdefABCDEF" for letter in digits)
    )
