"""Search by the beginning of an id or name, over every kind of thing, ten of each.

In: a reader, a viewer, a text. Out: hits by kind. One read per kind, each bounded by the database.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.store import codec
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from dashboard.queries.allocations import state_of
from dashboard.queries.jobs import job_url, status_of
from dashboard.queries.nodes import node_state
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job

MOST = 10
_HEX = re.compile(r"[0-9a-f][0-9a-f-]{0,35}")


class Hit(NamedTuple):
    """One thing found."""

    url: str
    title: str
    note: str
    kind: str
    status: str


class Found(NamedTuple):
    """The hits of one kind; `is_cut` when there are more than are shown."""

    word: str
    icon: str
    hits: tuple[Hit, ...]
    is_cut: bool


def search(reader: DjangoStateReader, viewer: Viewer, text: str) -> tuple[Found, ...]:
    """What begins with the text; kinds without a hit are left out."""
    if not text:
        return ()
    found = [_jobs(reader, viewer, text), _nodes(reader, text)]
    if _HEX.fullmatch(text.lower()):
        whole = text.lower()
        found += [
            _by_id(reader, viewer, whole, codec.ALLOCATION, ("Allocations", "allocation"), _alloc),
            _by_id(
                reader, viewer, whole, codec.EVALUATION, ("Evaluations", "evaluation"), _evaluation
            ),
        ]
    return tuple(each for each in found if each.hits)


def _jobs(reader: DjangoStateReader, viewer: Viewer, text: str) -> Found:
    condition = reader.prefix_condition("job_id")
    rows = _within(reader, viewer, codec.JOB, condition, text, "job_id")
    return _found("Jobs", "job", rows, _job)


def _nodes(reader: DjangoStateReader, text: str) -> Found:
    lowered = text.lower()
    nodes = [
        node
        for node in reader.nodes()
        if node.name.lower().startswith(lowered) or node.id.startswith(lowered)
    ]
    nodes.sort(key=lambda node: (node.name, node.id))
    hits = tuple(
        Hit(f"/nodes/{node.id}/", node.name, node.id[:8], "node", node_state(node))
        for node in nodes[:MOST]
    )
    return Found("Nodes", "node", hits, len(nodes) > MOST)


def _by_id(
    reader: DjangoStateReader,
    viewer: Viewer,
    text: str,
    noun: Any,
    words: tuple[str, str],
    told: Callable[[Any], Hit],
) -> Found:
    rows = _within(reader, viewer, noun, reader.prefix_condition("id"), text, "id")
    return _found(*words, rows, told)


def _within(
    reader: DjangoStateReader, viewer: Viewer, noun: Any, condition: str, text: str, order: str
) -> list[Any]:
    parameters: list[Any] = [text] * condition.count("%s")
    if viewer.namespaces is not None:
        condition += f" AND namespace IN ({placeholders(len(viewer.namespaces))})"
        parameters += sorted(viewer.namespaces)
    return reader.select(noun, condition, parameters, f"{order} LIMIT {MOST + 1}")


def _found(word: str, icon: str, rows: list[Any], told: Callable[[Any], Hit]) -> Found:
    return Found(word, icon, tuple(told(row) for row in rows[:MOST]), len(rows) > MOST)


def _job(job: Job) -> Hit:
    return Hit(job_url(job.key), job.id, f"{job.type}, {job.namespace}", "job", status_of(job))


def _alloc(alloc: Allocation) -> Hit:
    title = f"{alloc.id[:8]} {alloc.name}"
    return Hit(f"/allocations/{alloc.id}/", title, alloc.node_name, "allocation", state_of(alloc))


def _evaluation(evaluation: Evaluation) -> Hit:
    title = f"{evaluation.id[:8]} {evaluation.job_id}"
    return Hit(
        f"/evaluations/{evaluation.id}/",
        title,
        evaluation.triggered_by,
        "evaluation",
        evaluation.status.value,
    )
