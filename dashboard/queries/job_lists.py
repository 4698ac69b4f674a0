"""The lists that are parts of a job's page: what `list_kinds` declares, of one job alone.

In: the lists of all jobs. Out: the same without what every row of one job has in common, and every
list by its name. Each is a tab of the page and a topic; its rows are few enough to be sorted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from cluster.store.ports import Listing, RecordReader
from dashboard.queries import allocations, deployments, evaluations, stories
from dashboard.queries.list_kind import (
    JOB,
    BesideFound,
    Facet,
    Folding,
    ListColumn,
    ListKind,
    ListOrder,
    column_facet,
    of_all,
)
from dashboard.queries.list_kinds import KINDS
from dashboard.queries.list_wish import NAMESPACE, ListWish
from dashboard.texts import plural
from scheduler.state import nouns
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus

#: As many as one line of the groups' drawing has, so that a line opens a page.
ALLOCATIONS_PAGE = 100
#: By names as people count: `[5]` stands before `[10]`.
BY_NAME = ListOrder("Name", ("task_group", "name_length", "name"))
_OF_ALL = frozenset({NAMESPACE, JOB})


def _allocation_rows(
    _reader: RecordReader, found: Sequence[Allocation], now: int
) -> Mapping[str, Any]:
    return {each.id: allocations.row_context(each, now) for each in found}


def _without(kind: ListKind, tab: str, **changes: Any) -> ListKind:
    """Of one job: nothing asks for a job or a namespace, for all rows have the same."""
    facets = tuple(facet for facet in kind.facets if facet.name not in _OF_ALL)
    return replace(
        kind,
        **{
            "name": f"job-{tab}",
            "tab": tab,
            "facets": facets,
            "counted": tuple(column for column in kind.counted if column != NAMESPACE),
            "orders": {name: order for name, order in kind.orders.items() if name not in _OF_ALL},
            "fields": tuple(field for field in kind.fields if field.name not in _OF_ALL),
            "sentence": None,
            **changes,
        },
    )


_ALLOCATIONS = KINDS["allocations"]
_OF_JOB = _without(
    _ALLOCATIONS,
    "allocations",
    example='ClientStatus == "failed" and TaskGroup == "web"',
    orders={
        "age": _ALLOCATIONS.orders["age"],
        "name": BY_NAME,
        "version": ListOrder("Version", ("job_version",), is_down=True),
        "changed": _ALLOCATIONS.orders["changed"],
    },
    columns=(
        ListColumn("State", "m"), ListColumn("Allocation", "id", "age"),
        ListColumn("Name", "", "name"), ListColumn("Node", "l"),
        ListColumn("Version", "s", "version", is_number=True),
        ListColumn("Changed", "m", "changed", is_number=True),
    ),
    rows_of=of_all(_allocation_rows), rows_without_nodes=None,
    template="dashboard/partials/_job_allocation_row.html", container="job-allocations",
    page_size=ALLOCATIONS_PAGE,
    empty=("allocation", "Nothing is placed",
           "Allocations appear here the moment a plan is committed."),
)  # fmt: skip
#: Its groups are few.
_GROUP = column_facet("group", "Group", "task_group")
_JOB_ALLOCATIONS = replace(
    _OF_JOB,
    facets=(*_OF_JOB.facets[:2], _GROUP, *_OF_JOB.facets[2:]),
    counted=(*_OF_JOB.counted, "task_group"),
)


def _evaluations_beside(reader: RecordReader, wish: ListWish, listing: Listing) -> BesideFound:
    """The stubs of collected ones; which quasi-status one passes is said in its row alone."""
    counts = {("status", evaluations.COLLECTED): reader.count(nouns.EVALUATION_STUBS, listing)}
    is_asked = wish.of("status") == evaluations.COLLECTED
    return BesideFound(counts, noun=nouns.EVALUATION_STUBS if is_asked else None)


_EVALUATIONS = KINDS["evaluations"]


def _of_stored(facet: Facet) -> Facet:
    """Without the states that no column says."""
    left = {key: word for key, word in facet.words.items() if key not in evaluations.QUASI}
    return facet._replace(words=left)


_JOB_EVALUATIONS = _without(
    _EVALUATIONS,
    "evaluations",
    facets=(_of_stored(_EVALUATIONS.facets[0]), _EVALUATIONS.facets[1]),
    counted=("status", "triggered_by"),
    columns=(
        ListColumn("State", "m"), ListColumn("Evaluation", "id"), ListColumn("Trigger", "l"),
        ListColumn("Outcome"), ListColumn("Priority", "xs", "priority", is_number=True),
        ListColumn("Took", "s", is_number=True), ListColumn("Age", "s", "age", is_number=True),
    ),
    template="dashboard/partials/_job_evaluation_row.html", container="job-evaluations",
    beside=_evaluations_beside,
    empty=("evaluation", "None is kept",
           "Finished evaluations are collected after a while."),
)  # fmt: skip
_STORIES = KINDS["stories"]
_EACH = ListWish(asked=((stories.EACH, "1"),))
_JOB_STORIES = _without(
    _STORIES,
    "stories",
    example='Kind == "rollout" and Actor != ""',
    # A story of the job stands for itself: few are alike.
    folding=Folding(
        lambda _wish: stories.PAGE_SIZE,
        lambda rows, wish: stories.fold(rows, replace(wish, asked=(*wish.asked, *_EACH.asked))),
    ),
    flags={},
    columns=tuple(
        column._replace(order="") if column.order == JOB else column for column in _STORIES.columns
    ),
    empty=(
        "story",
        "No story is kept",
        "One begins when something happens to the job.",
    ),
)


def _rollout_rows(
    reader: RecordReader, found: Sequence[Deployment], _now: int
) -> Mapping[str, Any]:
    return {line.deployment.id: {"line": line} for line in deployments.job_lines(reader, found)}


_DEPLOYMENTS = KINDS["deployments"]
#: The one spelling that people are not shown.
_STATUSES = {
    each.value: deployments.ENDED.get(each.value, each.value) for each in DeploymentStatus
}
_JOB_DEPLOYMENTS = _without(
    _DEPLOYMENTS,
    "deployments",
    one="rollout",
    counts=plural("{count} rollout", "{count} rollouts"),
    example='Status == "failed"',
    among={},
    fields=(),
    orders={
        "age": _DEPLOYMENTS.orders["age"], "changed": ListOrder(
            "Changed", ("modify_index",), is_down=True
        ),
    },
    columns=(
        ListColumn("State", "m"), ListColumn("Deployment", "id", "age"),
        ListColumn("Version", "m"), ListColumn("What happened"),
        ListColumn("Took", "s", is_number=True),
        ListColumn("Changed", "m", "changed", is_number=True),
        ListColumn("Started by", "m"),
    ),
    facets=(
        column_facet("status", "State", words=_STATUSES, is_open=True)._replace(hides_empty=True),
    ),
    rows_of=of_all(_rollout_rows), template="dashboard/partials/_job_rollout_row.html",
    container="job-rollouts",
    empty=("deployment", "No rollout is kept",
           "One begins when a version is registered whose groups have an update block."),
)  # fmt: skip
JOB_LISTS: Mapping[str, ListKind] = {
    kind.tab: kind for kind in (_JOB_ALLOCATIONS, _JOB_STORIES, _JOB_EVALUATIONS, _JOB_DEPLOYMENTS)
}
#: Every list there is, by the name of its topic.
LISTS: Mapping[str, ListKind] = {
    **KINDS, **{kind.name: kind for kind in JOB_LISTS.values()}
}  # fmt: skip
