"""Variables for people: one with its keys, its form, the row of one in the list.

In: a reader, who looks, a place. Out: the contexts of the pages. A value is told only where it was
asked for by its key; every path is asked for by itself (access.md 2).
"""

from typing import Any
from urllib.parse import quote

import msgspec
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.variables import items_of
from cluster.store.ports import RecordReader
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import one_of
from scheduler.state.nouns import NAMESPACES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.variable import SealedVariable

#: What may be granted on a path.
CAPABILITIES = ("list", "read", "write", "destroy")
_OF_TASKS = ("nomad", "jobs")
#: A template that hands a variable to a task as its environment.
EXAMPLE = """\
template {
  destination = "secrets/app.env"
  env         = true
  data        = <<EOT
{{ with nomadVar "nomad/jobs/web" }}
DB_PASSWORD={{ .password }}
{{ end }}
EOT
}
"""


class VariableLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list."""

    variable: SealedVariable
    url: str
    readers: str


def variable_line(variable: SealedVariable) -> VariableLine:
    """What its row says."""
    return VariableLine(
        variable=variable, url=url_of(*variable.key), readers=readers_of(variable.path)
    )


def told_beside() -> dict[str, Any]:
    """What the page of the list teaches beside it."""
    return {"example": EXAMPLE, "crumbs": crumbs(("Variables", ""))}


def variable_page(
    reader: RecordReader, viewer: Viewer, *, namespace: str, path: str, key: str | None = None
) -> dict[str, Any]:
    """The context of one; with the value of `key` where it was asked for. Raises Absent."""
    may = granted(viewer, namespace, path)
    variable = reader.get(VARIABLES, (namespace, path))
    if variable is None or not may & {"list", "read"}:
        raise Absent
    items, problem = opened(reader, variable) if "read" in may else ({}, "")
    return {
        "variable": variable,
        "items": [(name, items[name] if name == key else None) for name in sorted(items)],
        "problem": problem,
        "may": may,
        "url": url_of(namespace, path),
        "readers": readers_of(path),
        "crumbs": crumbs(("Variables", "/variables/"), (path, "")),
    }


def form_page(
    reader: RecordReader, viewer: Viewer, *, namespace: str = "", path: str = ""
) -> dict[str, Any]:
    """The context of the form for a variable, one that is there or a new one. Raises Absent."""
    stored = reader.get(VARIABLES, (namespace, path)) if path else None
    may = granted(viewer, namespace, path) if stored else frozenset[str]()
    if stored is not None and not may & {"list", "read", "write"}:
        raise Absent
    items, problem = opened(reader, stored) if stored and "read" in may else ({}, "")
    return {
        "stored": stored,
        "may": may,
        "keys": sorted(items),
        "seen": stored.modify_index if stored else 0,
        "namespace": namespace or viewer.chosen or DEFAULT_NAMESPACE,
        "path": path,
        "is_new": not path,
        "places": _namespaces(reader, viewer),
        "unreadable": problem,
        "url": url_of(namespace, path) if stored else "/variables/",
    }


def granted(viewer: Viewer, namespace: str, path: str) -> frozenset[str]:
    """What the viewer may do with a path."""
    return frozenset(
        each for each in CAPABILITIES if viewer.access.allows_variable(namespace, path, each)
    )


def opened(reader: RecordReader, variable: SealedVariable) -> tuple[dict[str, str], str]:
    """The items in clear, or why nothing opens them."""
    try:
        return items_of(reader, variable), ""
    except OperationRefused as refused:
        return {}, str(refused)


def url_of(namespace: str, path: str) -> str:
    """The address of a variable's page."""
    return f"/variables/{quote(namespace)}/{quote(path)}/"


def readers_of(path: str) -> str:
    """The tasks that read a path without any policy, in words; "" where there are none.

    Ids of jobs may hold slashes, so a path can be that of several.
    """
    parts = path.split("/")
    if tuple(parts[:2]) != _OF_TASKS:
        return ""
    rest = parts[2:]
    if not rest:
        return gettext("every task of the namespace")
    told = [gettext("tasks of the job {rest}").format(rest="/".join(rest))]
    if len(rest) > 1:
        told.append(
            gettext("tasks of the group {rest} of the job {rest2}").format(
                rest=rest[-1], rest2="/".join(rest[:-1])
            )
        )
    if len(rest) > 2:
        job, group, task = "/".join(rest[:-2]), rest[-2], rest[-1]
        told.append(
            gettext("the task {task} of the group {group} of the job {job}").format(
                task=task, group=group, job=job
            )
        )
    return one_of(told, "and")


def _namespaces(reader: RecordReader, viewer: Viewer) -> list[str]:
    names = {DEFAULT_NAMESPACE, *(each.name for each in reader.list_all(NAMESPACES))}
    return sorted(name for name in names if viewer.access.has_any_variable(name))
