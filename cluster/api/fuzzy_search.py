"""Find objects by a part of their name, in any case, over every kind at once (http-api.md 2.5).

In: a text and a context. Out: names with what they are parts of, the earliest match first. Jobs
are looked through with their groups, services, tasks and what these run.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpResponse

from cluster.api.request import Call
from cluster.api.respond import Found, answer_found, read_meta
from cluster.api.search_contexts import (
    EMPTY_CONTEXTS,
    KINDS,
    MOST_IDS,
    allowed_contexts,
    found_index,
    ids_of,
    searched_namespaces,
    visible_names,
    visible_variables,
)
from cluster.operations.errors import OperationRefused
from cluster.store.ports import Listing, RecordReader
from scheduler.structs.allocation import Allocation
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.task_group import Task

#: Contexts of ids, which nobody knows a part of: searched by their beginning.
_BY_PREFIX = frozenset({"evals", "deployment", "volumes", "scaling_policy", "host_volumes"})
#: Of what is matched by name, so much is shown for each kind.
_MOST_MATCHES = 100
#: What a task runs, by its driver: the options that name it and the kind they are shown as.
_RUNS = {
    "docker": (("image", "images"),),
    "exec": (("command", "commands"),),
    "raw_exec": (("command", "commands"),),
    "java": (("command", "commands"), ("class", "classes")),
}


class _Name(NamedTuple):
    """A name that may match: what kind it is of, and what it is a part of."""

    kind: str
    name: str
    scope: tuple[str, ...] = ()


async def fuzzy_search(call: Call) -> HttpResponse:
    """PUT /v1/search/fuzzy."""
    body = call.body("FuzzySearchRequest")
    text, context = body.text("Text"), body.text("Context")
    length, least = len(text.encode()), settings.BIVOUAC_SEARCH_MIN_LENGTH
    if length < least:
        raise OperationRefused(
            f"fuzzy search query must be at least {least} characters, got {length}"
        )
    contexts = allowed_contexts(call, context, is_fuzzy=True)

    def work(reader: RecordReader) -> Found:
        index = found_index(reader, contexts)
        matches: dict[str, list[dict[str, Any]]] = {}
        truncations: dict[str, bool] = {}
        for name in contexts:
            if name in _BY_PREFIX:
                ids = ids_of(call, reader, name, text, is_fuzzy=True)
                matches[name] = [{"ID": each} for each in ids[:MOST_IDS]]
                truncations[name] = len(ids) > MOST_IDS
            else:
                found, is_cut = _matches(call, reader, name, text.lower())
                matches |= found
                truncations[name] = is_cut
        answer = read_meta(index) | {"Matches": matches, "Truncations": truncations}
        return Found(index=index, body=answer)

    return answer_found(call.request, await call.read(work))


def _matches(
    call: Call, reader: RecordReader, context: str, text: str
) -> tuple[dict[str, list[dict[str, Any]]], bool]:
    """What matches of the objects of a context, by kind; whether something was left out."""
    most = settings.BIVOUAC_SEARCH_OBJECTS
    objects = _objects(call, reader, context)
    found: defaultdict[str, list[tuple[int, _Name]]] = defaultdict(list)
    for names in islice(objects, most):
        for each in names:
            at = each.name.lower().find(text)
            if at >= 0:
                found[each.kind].append((at, each))
    is_cut = next(objects, None) is not None
    forms = {}
    for kind, ranked in found.items():
        # The earlier and the closer a match, the sooner it is meant.
        ranked.sort(key=lambda item: (item[0], len(item[1].name), item[1].name, item[1].scope))
        is_cut = is_cut or len(ranked) > _MOST_MATCHES
        forms[kind] = [_form(each) for _, each in ranked[:_MOST_MATCHES]]
    return forms, is_cut


def _form(found: _Name) -> dict[str, Any]:
    return {"ID": found.name} | ({"Scope": list(found.scope)} if found.scope else {})


def _objects(call: Call, reader: RecordReader, context: str) -> Iterator[Iterable[_Name]]:
    """The names of each object of a context that the caller may see."""
    if context in EMPTY_CONTEXTS:
        return iter(())
    if context in {"namespaces", "node_pools"}:
        return ([_Name(context, name)] for name in visible_names(call, reader, context))
    if context == "vars":
        rows = visible_variables(call, reader)
        return ([_Name(context, row.path, row.key)] for row in rows)
    listing = Listing(
        namespaces=searched_namespaces(call, reader, context),
        # Allocations grow old and are many: of them the newest.
        reverse=context == "allocs",
        limit=settings.BIVOUAC_SEARCH_OBJECTS + 1,
    )
    return map(_names, reader.walk(KINDS[context].noun, listing))


def _names(row: Job | Node | Allocation) -> Iterable[_Name]:
    if isinstance(row, Job):
        return _names_of_job(row)
    if isinstance(row, Node):
        return (_Name("nodes", row.name, (row.id,)),)
    return (_Name("allocs", row.name, (row.namespace, row.id)),)


def _names_of_job(job: Job) -> Iterator[_Name]:
    place = (job.namespace, job.id)
    yield _Name("jobs", job.name, place)
    for group in job.task_groups:
        yield _Name("groups", group.name, place)
        of_group = (*place, group.name)
        for service in group.services:
            yield _Name("services", service.name, of_group)
        for task in group.tasks:
            yield _Name("tasks", task.name, of_group)
            yield from _names_of_task(task, (*of_group, task.name))


def _names_of_task(task: Task, place: tuple[str, ...]) -> Iterator[_Name]:
    for service in task.services:
        yield _Name("services", service.name, place)
    for option, kind in _RUNS.get(task.driver, ()):
        value = task.config.get(option)
        if isinstance(value, str):
            yield _Name(kind, value, place)
