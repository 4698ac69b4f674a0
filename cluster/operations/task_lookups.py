"""What a task may read of the cluster, as itself: variables and services for its templates.

In: a reader, an allocation, names. Out: what is there, and what is refused. Which variables a
task may read is said in `workload_identities`.
"""

from collections.abc import Iterable

import msgspec

from cluster.operations.errors import OperationRefused
from cluster.operations.variables import items_of
from cluster.operations.workload_identities import workload_access
from scheduler.access.access import Access
from scheduler.ports import StateReader
from scheduler.state.service_noun import SERVICES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.structs.allocation import Allocation
from scheduler.structs.service_registration import ServiceRegistration


class TaskLookups(msgspec.Struct, frozen=True, kw_only=True):
    """What is there, by the names asked for."""

    #: None: there is none.
    variables: dict[str, dict[str, str] | None] = {}
    lists: dict[str, tuple[str, ...]] = {}
    services: dict[str, tuple[ServiceRegistration, ...]] = {}
    #: Tags by service; None when nobody asked.
    all_services: dict[str, tuple[str, ...]] | None = None
    #: Why something is not told, by its name.
    refused: dict[str, str] = {}


def look_up(  # noqa: PLR0913 - the kinds of things that a template can ask for
    reader: StateReader,
    alloc: Allocation,
    task: str,
    *,
    variables: Iterable[str] = (),
    lists: Iterable[str] = (),
    services: Iterable[str] = (),
    all_services: bool = False,
) -> TaskLookups:
    """Everything that was asked for and may be told."""
    access = workload_access(reader, alloc, task)
    refused: dict[str, str] = {}
    found: dict[str, dict[str, str] | None] = {}
    for name in variables:
        path, namespace = _placed(name, alloc.namespace)
        if not access.allows_variable(namespace, path, "read"):
            refused[name] = f"nomad.var.get({path}@{namespace}): Permission denied"
            continue
        variable = reader.get(VARIABLES, (namespace, path))
        try:
            found[name] = None if variable is None else items_of(reader, variable)
        except OperationRefused as problem:
            refused[name] = str(problem)
    return TaskLookups(
        variables=found,
        lists={name: _below(reader, access, name, alloc.namespace) for name in lists},
        services={
            name: tuple(reader.list_by(SERVICES, "name", (alloc.namespace, _bare(name))))
            for name in services
        },
        all_services=_tags(reader, alloc.namespace) if all_services else None,
        refused=refused,
    )


def _placed(name: str, namespace: str) -> tuple[str, str]:
    path, _, other = name.partition("@")
    return path, other or namespace


def _below(reader: StateReader, access: Access, name: str, own: str) -> tuple[str, ...]:
    prefix, namespace = _placed(name, own)
    paths = (row.path for row in reader.list_by(VARIABLES, "namespace", namespace))
    return tuple(
        sorted(
            path
            for path in paths
            if path.startswith(prefix) and access.allows_variable(namespace, path, "list")
        )
    )


def _bare(name: str) -> str:
    """`web` of `web@region`: there is one region."""
    return name.partition("@")[0]


def _tags(reader: StateReader, namespace: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for row in reader.list_by(SERVICES, "namespace", namespace):
        found.setdefault(row.service_name, set()).update(row.tags)
    return {name: tuple(sorted(tags)) for name, tags in found.items()}
