"""Search by words of a name, or by the beginning of an id, over every kind of thing.

In: a reader, a viewer, a text. Out: hits by kind, what begins so before what merely holds it. Two
reads for each kind at most, each bounded by the database, and one for how the jobs stand.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from django.utils.translation import gettext
from msgspec.structs import replace

from cluster.page_addresses import job_url
from cluster.store.ports import Key, Listing, Namespaces, RecordReader, Value
from dashboard.queries.allocations import state_of
from dashboard.queries.jobs import JobLine, job_lines
from dashboard.queries.nodes import node_state
from dashboard.viewer import Viewer
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.node import Node

Row = TypeVar("Row")

MOST = 10
#: Words of a text; more of them narrow nothing that people look for.
_MOST_WORDS = 6
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


def search(
    reader: RecordReader, viewer: Viewer, text: str, most: int = MOST
) -> tuple[HitsOfKind, ...]:
    """What is meant by the text; kinds without a hit are left out, of others `most` are told."""
    if not text:
        return ()
    jobs = _named(reader, nouns.JOBS, text, viewer.namespaces, most, lambda job: job.id)
    found = [_found("Jobs", "job", [*job_lines(reader, jobs)], _job, most)]
    if viewer.access.reads("node"):
        nodes = _named(reader, nouns.NODES, text, None, most, lambda node: node.name)
        found.append(_found("Nodes", "node", nodes, _node, most))
    if _HEX.fullmatch(text.lower()):
        whole = text.lower()
        allocs = _begin_with(reader, viewer, nouns.ALLOCATIONS, whole, most)
        evaluations = _begin_with(reader, viewer, nouns.EVALUATIONS, whole, most)
        rollouts = _begin_with(reader, viewer, nouns.DEPLOYMENTS, whole, most)
        found += [
            _found("Allocations", "allocation", allocs, _alloc, most),
            _found("Evaluations", "evaluation", evaluations, _evaluation, most),
            _found("Deployments", "deployment", rollouts, _deployment, most),
        ]
    return tuple(each for each in found if each.hits)


def _named(
    reader: RecordReader, noun: Noun[Key, Value], text: str, namespaces: Namespaces, most: int,
    name_of: Callable[[Value], str],
) -> list[Value]:  # fmt: skip
    """Those whose name, or a node's id, begins with the text; then those that hold its words."""
    listing = Listing(namespaces=namespaces, limit=most)
    if noun is nouns.JOBS:
        begun = reader.page(noun, replace(listing, prefix=text, by_id=True))
    else:
        begun = reader.page(noun, replace(listing, named=text, sort=("name",)))
    words = tuple(dict.fromkeys(text.lower().split()))[:_MOST_WORDS]
    holding = reader.page(noun, replace(listing, words=words))
    rows = {noun.key(row): row for row in (*begun, *holding)}
    return sorted(
        rows.values(),
        key=lambda row: (
            name_of(row) != text, row not in begun,
            name_of(row).lower().find(words[0]), name_of(row),
        ),
    )  # fmt: skip


def _begin_with(
    reader: RecordReader, viewer: Viewer, noun: Noun[Key, Value], text: str, most: int
) -> list[Value]:
    """By id, one more than are shown when there are more."""
    listing = Listing(prefix=text, namespaces=viewer.namespaces, limit=most, by_id=True)
    return reader.page(noun, listing)


def _found(
    word: str, icon: str, rows: list[Row], told: Callable[[Row], Hit], most: int
) -> HitsOfKind:
    return HitsOfKind(word, icon, tuple(told(row) for row in rows[:most]), len(rows) > most)


def _node(node: Node) -> Hit:
    return Hit(f"/nodes/{node.id}/", node.name, node.id[:8], "node", node_state(node))


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
    note = gettext("version {job_version}").format(job_version=deployment.job_version)
    status = deployment.status.value
    return Hit(f"/deployments/{deployment.id}/", title, note, "deployment", status)
