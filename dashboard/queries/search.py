"""Search by the beginning of an id or name, over every kind of thing, ten of each.

In: a reader, a viewer, a text. Out: hits by kind. A read per kind, each bounded by the database,
and one for how the jobs stand.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from cluster.page_addresses import job_url
from cluster.store.ports import Key, Listing, RecordReader, Value
from dashboard.queries.allocations import state_of
from dashboard.queries.jobs import JobLine, job_lines
from dashboard.queries.nodes import node_state
from dashboard.viewer import Viewer
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation

Row = TypeVar("Row")

MOST = 10
_HEX = re.compile(r"[0-9a-f][0-9a-f-]{0,35}")


class Hit(NamedTuple):
    """One thing found."""

    url: str
    title: str
    note: str
    kind: str
    status: str


class HitsOfKind(NamedTuple):
    """The hits of one kind; `is_cut` when there are more than are shown."""

    word: str
    icon: str
    hits: tuple[Hit, ...]
    is_cut: bool


def search(reader: RecordReader, viewer: Viewer, text: str) -> tuple[HitsOfKind, ...]:
    """What begins with the text; kinds without a hit are left out."""
    if not text:
        return ()
    jobs = _begin_with(reader, viewer, nouns.JOBS, text)
    found = [_found("Jobs", "job", [*job_lines(reader, jobs)], _job)]
    if viewer.access.reads("node"):
        found.append(_nodes(reader, text))
    if _HEX.fullmatch(text.lower()):
        whole = text.lower()
        allocs = _begin_with(reader, viewer, nouns.ALLOCATIONS, whole)
        evaluations = _begin_with(reader, viewer, nouns.EVALUATIONS, whole)
        rollouts = _begin_with(reader, viewer, nouns.DEPLOYMENTS, whole)
        found += [
            _found("Allocations", "allocation", allocs, _alloc),
            _found("Evaluations", "evaluation", evaluations, _evaluation),
            _found("Deployments", "deployment", rollouts, _deployment),
        ]
    return tuple(each for each in found if each.hits)


def _nodes(reader: RecordReader, text: str) -> HitsOfKind:
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
    return HitsOfKind("Nodes", "node", hits, len(nodes) > MOST)


def _begin_with(
    reader: RecordReader, viewer: Viewer, noun: Noun[Key, Value], text: str
) -> list[Value]:
    """By id, one more than are shown when there are more."""
    listing = Listing(prefix=text, namespaces=viewer.namespaces, limit=MOST, by_id=True)
    return reader.page(noun, listing)


def _found(word: str, icon: str, rows: list[Row], told: Callable[[Row], Hit]) -> HitsOfKind:
    return HitsOfKind(word, icon, tuple(told(row) for row in rows[:MOST]), len(rows) > MOST)


def _job(line: JobLine) -> Hit:
    job = line.job
    return Hit(job_url(job.key), job.id, f"{job.type}, {job.namespace}", "job", line.status)


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


def _deployment(deployment: Deployment) -> Hit:
    title = f"{deployment.id[:8]} {deployment.job_id}"
    note = f"version {deployment.job_version}"
    status = deployment.status.value
    return Hit(f"/deployments/{deployment.id}/", title, note, "deployment", status)
