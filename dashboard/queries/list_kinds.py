"""The lists of the pages: jobs, nodes, evaluations, allocations, rollouts, stories, others.

In: what their rows are told from. Out: one ListKind each. A further list is a further entry here,
a topic in `panels` and a page that includes `_list.html`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import Listing, RecordReader
from dashboard.graphs.lifecycle import STATE_OF
from dashboard.queries import allocations, deployments, evaluations, jobs, nodes, stories
from dashboard.queries.list_kind import (
    BesideFound,
    Facet,
    Folding,
    ListChoice,
    ListColumn,
    ListField,
    ListKind,
    ListOrder,
    column_facet,
    of_all,
)
from dashboard.queries.list_wish import ListWish
from dashboard.queries.on_nodes import NODE, nodes_beside
from dashboard.queries.service_list import SERVICES
from dashboard.queries.variable_list import VARIABLES
from dashboard.queries.volume_list import VOLUMES
from dashboard.stories import names as story_names
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.state import nouns
from scheduler.state.events import Topic
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import Job, JobStatus, JobType
from scheduler.structs.node import Node

#: What a column says of an evaluation; it may pass a quasi-status besides.
_STORED = frozenset(evaluations.STATES) - {*evaluations.QUASI, evaluations.COLLECTED}
_NAMESPACE = column_facet("namespace", "Namespace")
_TYPES = {kind.value: kind.value for kind in JobType}
_CREATED, _CHANGED = (
    ListOrder("Age", is_down=True),
    ListOrder("Changed", ("modify_index",), is_down=True),
)


def _job_rows(reader: RecordReader, found: Sequence[Job], _now: int) -> Mapping[str, Any]:
    lines = jobs.job_lines(reader, found)
    return {f"{line.job.namespace}/{line.job.id}": {"line": line} for line in lines}


def _job_standing(value: str) -> Mapping[str, str | bool]:
    return {"is_stopped": True} if value == "stopped" else {"status": value, "is_stopped": False}


_JOBS = ListKind(
    example="Type == \"batch\" and Priority != 50",
    name="jobs", one="job", noun=nouns.JOBS,
    counts=plural("{count} job", "{count} jobs"),
    topics=frozenset({Topic.JOB, Topic.JOB_SUMMARY, Topic.PERIODIC_LAUNCH}),
    orders={
        "name": ListOrder("Job"),
        "status": ListOrder("Status", ("status",)),
        "priority": ListOrder("Priority", ("priority",), is_down=True),
        "submitted": ListOrder("Submitted", ("submitted_at",), is_down=True),
    },
    columns=(
        ListColumn("Job", "", "name"), ListColumn("Status", "m", "status"),
        ListColumn("Type", "m"),
        ListColumn("Allocations"), ListColumn("Share running", "meter", is_hidden=True),
        ListColumn("Priority", "s", "priority", is_number=True),
        ListColumn("Version", "s", is_number=True),
        ListColumn("Submitted", "m", "submitted", is_number=True),
    ),
    facets=(
        Facet(
            "status", "Status",
            lambda cells: "stopped" if cells["is_stopped"] else str(cells["status"]),
            _job_standing,
            {**{each.value: each.value for each in JobStatus}, "stopped": "stopped"},
            is_open=True,
        ),
        column_facet("type", "Type", words=_TYPES), _NAMESPACE,
    ),
    counted=("status", "type", "is_stopped", "namespace"),
    fields=(ListField("q", "Id begins with", lambda text: {"prefix": text}),),
    rows_of=of_all(_job_rows), template="dashboard/partials/_job_row.html", container="jobs",
    page_size=jobs.PAGE_SIZE,
    empty=("job", "No job yet",
           ("A job says what to run, how often, and where it may run. The cluster finds places for"
            " it and keeps it running."), "/jobs/new/", "Write the first job"),
)  # fmt: skip


def _node_rows(reader: RecordReader, found: Sequence[Node], _now: int) -> Mapping[str, Any]:
    reader.preload(nodes=[node.id for node in found])
    rows = {node.id: nodes.node_row(reader, node.id) for node in found}
    return {key: row for key, row in rows.items() if row is not None}


def _node_state(cells: Mapping[str, Any]) -> str:
    return nodes.state_told(
        str(cells["status"]), str(cells["eligibility"]), drains=bool(cells["is_draining"])
    )


def _nodes_in(state: str) -> Mapping[str, str | bool]:
    if state == "draining":
        return {"status": "ready", "is_draining": True}
    if state in {"ready", "ineligible"}:
        word = "eligible" if state == "ready" else state
        return {"status": "ready", "is_draining": False, "eligibility": word}
    return {"status": state}


def _nodes_told(counts: Mapping[str, int], total: int) -> str:
    if not total:
        return gettext("No node has joined yet.")
    others = [
        f"{number(counts[state])} {state}" for state in nodes.STATES[1:] if counts.get(state)
    ]
    told = gettext("{counts} of {node} ready").format(
        counts=number(counts.get("ready", 0)),
        node=count_of(total, "{count} node", "{count} nodes"),
    )
    return told + (f"; {', '.join(others)}." if others else ".")


_NODES = ListKind(
    example="NodeClass == \"big\" and Status == \"ready\"",
    name="nodes", one="node", noun=nouns.NODES,
    counts=plural("{count} node", "{count} nodes"),
    topics=frozenset({Topic.NODE, Topic.NODE_USE}),
    orders={
        "name": ListOrder("Node", ("name",)),
        "datacenter": ListOrder("Datacenter", ("datacenter", "name")),
        "cpu": ListOrder("CPU", ("cpu_mhz",), is_down=True),
        "memory": ListOrder("Memory", ("memory_mb",), is_down=True),
    },
    columns=(
        ListColumn("Node", "l", "name"), ListColumn("State", "m"),
        ListColumn("Datacenter", "s", "datacenter"),
        ListColumn("Pool", "s"), ListColumn("Class", "s"),
        ListColumn("Allocations", "s", is_number=True),
        ListColumn("CPU", "meter", "cpu"), ListColumn("Memory", "meter", "memory"),
        ListColumn("Id", "id"),
    ),
    facets=(
        Facet("status", "State", _node_state, _nodes_in,
              {state: state for state in nodes.STATES}, is_open=True),
        column_facet("datacenter", "Datacenter"), column_facet("pool", "Pool", "node_pool"),
    ),
    counted=("status", "eligibility", "is_draining", "datacenter", "node_pool"),
    fields=(ListField("prefix", "Beginning of name or id", lambda text: {"named": text}),),
    rows_of=of_all(_node_rows), template="dashboard/partials/_node_row.html",
    container="node-rows",
    sentence=_nodes_told, has_namespaces=False, page_size=nodes.PAGE_SIZE,
    empty=("node", "No node has joined",
           ("A manager gets the command that joins a machine by “Add a node”; “runfleet”, of a"
            " wheel “bivouac fleet”, joins simulated ones.")),
)  # fmt: skip


def _evaluation_rows(
    reader: RecordReader, found: Sequence[Evaluation], now: int
) -> Mapping[str, Any]:
    rows = evaluations.evaluation_rows(reader, found, now)
    return {row["evaluation"].id: row for row in rows}


def _evaluations_beside(reader: RecordReader, wish: ListWish, listing: Listing) -> BesideFound:
    """Those that pass a quasi-status, found by their steps; the stubs of collected ones."""
    namespaces = listing.namespaces
    steps = reader.newest_steps_of_pending(namespaces)
    passing = {key: STATE_OF.get(step.step, "pending") for key, step in steps.items()}
    counts = {
        ("status", state): sum(each == state for each in passing.values())
        for state in evaluations.QUASI
    }
    counts["status", evaluations.COLLECTED] = reader.evaluation_tally(namespaces)["deleted"]
    wanted = wish.of("status")
    if wanted in evaluations.QUASI:
        ids = {key for key, state in passing.items() if state == wanted}
        return BesideFound(counts, rows=reader.evaluations_among(ids))
    if wanted == evaluations.COLLECTED:
        return BesideFound(counts, noun=nouns.EVALUATION_STUBS)
    return BesideFound(counts)


_EVALUATIONS = ListKind(
    example="TriggeredBy == \"node-update\"",
    name="evaluations", one="evaluation", noun=nouns.EVALUATIONS,
    counts=plural("{count} evaluation", "{count} evaluations"),
    topics=frozenset({Topic.EVALUATION, Topic.LIFECYCLE}),
    orders={
        "age": _CREATED,
        "job": ListOrder("Job", ("namespace", "job_id")),
        "priority": ListOrder("Priority", ("priority",), is_down=True),
    },
    columns=(
        ListColumn("State", "m"), ListColumn("Evaluation", "id"), ListColumn("Job", "m", "job"),
        ListColumn("Trigger", "l"), ListColumn("Outcome"),
        ListColumn("Priority", "xs", "priority", is_number=True),
        ListColumn("Took", "s", is_number=True),
        ListColumn("Age", "s", "age", is_number=True),
    ),
    facets=(
        Facet(
            "status", "State", lambda cells: str(cells["status"]),
            lambda value: {"status": value} if value in _STORED else {},
            {state: "collected" if state == evaluations.COLLECTED else state
             for state in evaluations.STATES}, is_open=True,
        ),
        column_facet("trigger", "Trigger", "triggered_by",
                     {each.value: each.value for each in EvalTrigger}),
        column_facet("type", "Type", words=_TYPES), _NAMESPACE,
    ),
    counted=("status", "triggered_by", "type", "namespace"),
    fields=(
        ListField("job", "Job", lambda text: {"equals": {"job_id": text}}),
        ListField("prefix", "Id begins with", lambda text: {"prefix": text.lower()[:36]}),
    ),
    rows_of=of_all(_evaluation_rows), template="dashboard/partials/_evaluation_row.html",
    container="evaluation-rows", page_size=evaluations.PAGE_SIZE, beside=_evaluations_beside,
    empty=("evaluation", "No evaluations yet",
           ("One is made whenever a job, a node or an allocation changes. Submit a job to see the"
            " first."), "/jobs/new/", "Submit job"),
)  # fmt: skip


def _allocation_rows(
    _reader: RecordReader, found: Sequence[Allocation], _now: int
) -> Mapping[str, Any]:
    return {each.id: allocations.list_row(each) for each in found}


_ALLOCATIONS = ListKind(
    example="ClientStatus == \"failed\" and JobID contains \"web\"",
    name="allocations", one="allocation", noun=nouns.ALLOCATIONS,
    counts=plural("{count} allocation", "{count} allocations"),
    # A node may say at any time that it stands somewhere else.
    topics=frozenset({Topic.ALLOCATION, Topic.NODE}),
    orders={
        "age": _CREATED,
        # Of one job by its groups and as people count: `[5]` before `[10]`.
        "job": ListOrder(
            "Job", ("namespace", "job_id", "task_group", "name_length", "name")
        ),
        "changed": _CHANGED,
    },
    columns=(
        ListColumn("State", "m"), ListColumn("Allocation", "id"), ListColumn("Name"),
        ListColumn("Job", "l", "job"), ListColumn("Node", "l"),
        ListColumn("Changed", "m", "changed", is_number=True),
        ListColumn("Age", "m", "age", is_number=True),
    ),
    facets=(
        column_facet("status", "State", "client_status",
                     {each.value: each.value for each in ClientStatus}, is_open=True),
        column_facet("wanted", "Wanted", "desired_status",
                     {each.value: each.value for each in DesiredStatus}), _NAMESPACE,
        NODE,
        column_facet("datacenter", "Datacenter")._replace(is_of_nodes=True),
        column_facet("pool", "Pool", "node_pool")._replace(is_of_nodes=True),
    ),
    beside=nodes_beside(nouns.ALLOCATIONS),
    counted=("client_status", "desired_status", "namespace", "datacenter", "node_pool"),
    fields=(
        ListField("job", "Job", lambda text: {"equals": {"job_id": text}}),
        ListField("prefix", "Id begins with", lambda text: {"prefix": text.lower()[:36]}),
    ),
    rows_of=of_all(_allocation_rows), template="dashboard/partials/_allocation_row.html",
    container="allocations",
    empty=("allocation", "Nothing is placed",
           "When a job is run and a node has room, its allocations appear here at once.",
           "/jobs/new/", "New job"),
)  # fmt: skip


def _rollout_rows(
    reader: RecordReader, found: Sequence[Deployment], _now: int
) -> Mapping[str, Any]:
    return {line.deployment.id: {"line": line} for line in deployments.ended_lines(reader, found)}


_DEPLOYMENTS = ListKind(
    example="JobID == \"web\"",
    name="deployments", one="ended rollout", noun=nouns.DEPLOYMENTS,
    counts=plural("{count} ended rollout", "{count} ended rollouts"),
    topics=frozenset({Topic.DEPLOYMENT}),
    orders={
        "age": _CREATED,
        "job": ListOrder("Job", ("namespace", "job_id")),
        "ended": ListOrder("Ended", ("modify_index",), is_down=True),
    },
    columns=(
        ListColumn("State", "m"), ListColumn("Job", "l", "job"), ListColumn("What happened"),
        ListColumn("Took", "s", is_number=True), ListColumn("Ended", "m", "ended", is_number=True),
        ListColumn("Started", "l", "age"), ListColumn("Deployment", "id"),
    ),
    facets=(
        column_facet("status", "State", words=deployments.ENDED, is_open=True), _NAMESPACE,
    ),
    counted=("status", "namespace"),
    fields=(ListField("q", "A job, or the beginning of an id", deployments.found_by),),
    among={"status": tuple(deployments.ENDED)},
    rows_of=of_all(_rollout_rows), template="dashboard/partials/_rollout_row.html",
    container="rollouts", page_size=deployments.PAGE_SIZE,
    empty=("complete", "None has ended yet", "Ended rollouts stay here until they are collected."),
)  # fmt: skip

_BY_KIND = {kind.value: word for kind, word in story_names.KINDS.items()}


def _stories_told(counts: Mapping[str, int], total: int) -> str:
    if not total:
        return gettext("No story yet.")
    running = counts.get("running", 0)
    return gettext("{stories}, {running} of them running.").format(
        stories=count_of(total, "{count} story", "{count} stories"), running=number(running)
    )


_STORIES = ListKind(
    example="Kind == \"drain\" and Reason contains \"kernel\"",
    name="stories", one="story", noun=STORIES,
    counts=plural("{count} story", "{count} stories"),
    topics=frozenset({
        Topic.STORY, Topic.EVALUATION, Topic.DEPLOYMENT, Topic.NODE, Topic.ALLOCATION,
    }),
    orders={
        stories.OWN_ORDER: ListOrder(
            "State", is_down=True, parts=({"is_running": True}, {"is_running": False})
        ),
        "began": _CREATED,
        "kind": ListOrder("Kind", ("kind",)),
        "job": ListOrder("Story", ("namespace", "job_id")),
        "who": ListOrder("Who", ("actor",)),
    },
    columns=(
        ListColumn("Kind", "m", "kind"), ListColumn("Story", "", "job"),
        ListColumn("State", "m", stories.OWN_ORDER), ListColumn("Who", "l", "who"),
        ListColumn("Evaluations", "s", is_number=True),
        ListColumn("Began", "m", "began", is_number=True),
        ListColumn("Took", "s", is_number=True),
    ),
    facets=(
        Facet("status", "State", lambda cells: "running" if cells["is_running"] else "ended",
              lambda value: {"is_running": value == "running"},
              {"running": "running", "ended": "ended"}, is_open=True),
        Facet("kind", "Kind", lambda cells: str(cells["kind"]), lambda value: {"kind": value},
              {kind: told.word for kind, told in _BY_KIND.items()}, is_open=True, column="kind",
              icons={kind: told.icon for kind, told in _BY_KIND.items()}, hides_empty=True),
        column_facet("who", "Who", "actor"), _NAMESPACE,
    ),
    counted=("is_running", "kind", "actor", "namespace"),
    fields=(
        ListField("job", "Job", stories.of_job),
        ListField("node", "Node", lambda text: {"with_node": text}, opens="nodes"),
    ),
    choices=(ListChoice("when", "Began", stories.WHEN, stories.began_within),),
    flags={stories.EACH: gettext_noop("Unfold storms")},
    has_cluster_rows=True, table_class="stories",
    rows_of=stories.story_rows, folding=Folding(stories.reads, stories.fold),
    template="dashboard/partials/_story_item.html", container="stories",
    sentence=_stories_told, page_size=stories.PAGE_SIZE,
    empty=("story", "No stories yet",
           ("A story begins when something happens: a job is submitted, a node is drained or lost."
            " Submit a first job and watch."), "/jobs/new/", "Submit job"),
)  # fmt: skip

KINDS: Mapping[str, ListKind] = {
    kind.name: kind
    for kind in (
        _JOBS,
        _NODES,
        _EVALUATIONS,
        _ALLOCATIONS,
        _DEPLOYMENTS,
        _STORIES,
        VOLUMES,
        SERVICES,
        VARIABLES,
    )
}

assert {status.value for status in EvalStatus} == _STORED
