"""What is asked often is found by an index, however large the tables are."""

import re
from contextlib import contextmanager

import pytest
from django.db import connections

from cluster.store.ports import Listing, StoryFilter
from scheduler.state import nouns
from scheduler.state.nouns import DEPLOYMENTS, JOBS
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.state.story_nouns import STORY_NODES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.identity import JobKey

KEY = JobKey("default", "web")
ENDED = StoryFilter(running=False)
OF_NODE = StoryFilter(running=False, node_id="n")
CHANGED = Listing(by_change=True, reverse=True, limit=9, after=(7, "default", "web"))
#: What a statement was given to look for is gone through, as it must be.
#: Nor is it more than asked for to walk an order to the end of a page, or an index of few rows.
GIVEN = re.compile(
    r"CONSTANT ROW|^SCAN wanted$|^SCAN story USING INDEX story_by_creation$"
    r"|^SCAN node USING (COVERING )?INDEX node_draining$"
)


@contextmanager
def statements_of(connection):
    """The statements that run inside the block, with their parameters."""
    found = []

    def note(execute, sql, params, many, context):
        found.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield found


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda reader: reader.allocation("a"), id="allocation"),
        pytest.param(lambda reader: reader.allocations_by_job(KEY), id="of-job"),
        pytest.param(lambda reader: reader.live_allocation_ids(KEY, 1), id="live-of-job"),
        pytest.param(lambda reader: reader.allocations_by_node("n"), id="of-node"),
        pytest.param(lambda reader: reader.allocations_by_eval("e"), id="of-evaluation"),
        pytest.param(lambda reader: reader.allocations_by_deployment("d"), id="of-deployment"),
        pytest.param(lambda reader: reader.evaluation("e"), id="evaluation"),
        pytest.param(lambda reader: reader.evaluations_by_job(KEY), id="evaluations-of-job"),
        pytest.param(lambda reader: reader.blocked_evaluations(KEY), id="blocked-of-job"),
        pytest.param(
            lambda reader: reader.evaluation_ids(KEY, 1, only_open=True), id="open-of-job"
        ),
        pytest.param(lambda reader: list(reader.open_evaluations()), id="open"),
        pytest.param(lambda reader: reader.deployments_by_job(KEY), id="deployments-of-job"),
        pytest.param(lambda reader: reader.lifecycle("e"), id="lifecycle"),
        pytest.param(lambda reader: reader.explanations("e"), id="explanations"),
        pytest.param(lambda reader: reader.job_versions(KEY), id="versions"),
        pytest.param(lambda reader: reader.restarting_among({KEY}, 2), id="restarting"),
        pytest.param(lambda reader: reader.live_on({"n", "m"}), id="live-on-nodes"),
        pytest.param(lambda reader: reader.list_by(SCALING_POLICIES, "job", KEY), id="policies"),
        pytest.param(lambda reader: reader.list_by(SCALING_EVENTS, "job", KEY), id="scalings"),
        pytest.param(lambda reader: reader.get(PERIODIC_LAUNCHES, KEY), id="launches"),
        pytest.param(lambda reader: reader.page(JOBS, CHANGED), id="jobs-by-change"),
        pytest.param(lambda reader: reader.progress_of(["a", "b"]), id="progress-of-stories"),
        pytest.param(lambda reader: reader.story_figures(["a", "b"]), id="figures-of-stories"),
        pytest.param(lambda reader: reader.story_losses("a"), id="losses-of-a-story"),
        pytest.param(lambda reader: reader.node_places(("meta.rack",), "a"), id="places-of-story"),
        pytest.param(lambda reader: reader.story_evaluations("a", 9), id="story"),
        pytest.param(lambda reader: reader.story_faces("a"), id="faces-of-story"),
        pytest.param(
            lambda reader: reader.deployments_of_stories(["a", "b"]), id="rollouts-of-stories"
        ),
        pytest.param(
            lambda reader: reader.list_by(DEPLOYMENTS, "canaries", ("running", True)),
            id="rollouts-to-promote",
        ),
        pytest.param(lambda reader: reader.stories(ENDED, 9), id="stories-that-ended"),
        pytest.param(lambda reader: reader.stories(OF_NODE, 9), id="stories-of-a-node"),
        pytest.param(
            lambda reader: reader.list_by(STORY_NODES, "current", "n"), id="story-of-a-node"
        ),
        pytest.param(lambda reader: reader.spans_of("default", {"a", "b"}), id="spans"),
        pytest.param(lambda reader: reader.launches_among({KEY}), id="launches-of-jobs"),
    ],
)
def test_a_read_searches_and_does_not_scan(sqlite_store, ask):
    told = plan_of(sqlite_store, ask)
    assert [row for row in told if row.startswith("SCAN") and not GIVEN.search(row)] == []


@pytest.mark.parametrize(
    ("index", "place", "columns"),
    [
        pytest.param("live_children", KEY, "namespace=? AND parent_id=?", id="alive"),
        pytest.param(
            "dispatch_token",
            (*KEY, "token"),
            "namespace=? AND parent_id=? AND dispatch_token=?",
            id="by-token",
        ),
    ],
)
def test_children_are_found_without_looking_at_other_jobs(sqlite_store, index, place, columns):
    told = plan_of(sqlite_store, lambda reader: reader.list_by(JOBS, index, place))
    of_jobs = [row for row in told if " job " in row]
    assert of_jobs == [f"SEARCH job USING INDEX job_{index} ({columns})"]


def test_a_page_finds_children_without_looking_at_other_jobs(sqlite_store):
    told = plan_of(sqlite_store, lambda reader: reader.children_of(KEY, 50))
    searched = [row for row in told if " job " in row]
    assert searched == ["SEARCH job USING INDEX job_parent (namespace=? AND parent_id=?)"]


def test_allocations_are_counted_by_place_along_one_index(sqlite_store):
    columns = ("client_status", "desired_status", "namespace", "datacenter", "node_pool")
    told = plan_of(
        sqlite_store, lambda reader: reader.facets(nouns.ALLOCATIONS, columns, Listing())
    )
    read = [row for row in told if " allocation" in row or " node " in row]
    assert read == [
        "SCAN allocation USING COVERING INDEX allocation_counted",
        "SEARCH node USING INDEX sqlite_autoindex_node_1 (id=?) LEFT-JOIN",
    ]


def plan_of(store, ask):
    """How SQLite answers the statements of a read."""
    connection = connections[store.alias]
    with statements_of(connection) as statements:
        store.read(ask)
    told = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            if sql.startswith(("SELECT", "WITH")):
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
                told += [row[3] for row in cursor.fetchall()]
    return told


SORTED = [
    (nouns.JOBS, ("status",)), (nouns.JOBS, ("priority",)), (nouns.JOBS, ("submitted_at",)),
    (nouns.NODES, ("name",)), (nouns.NODES, ("datacenter", "name")), (nouns.NODES, ("cpu_mhz",)),
    (nouns.NODES, ("memory_mb",)), (nouns.EVALUATIONS, ("namespace", "job_id")),
    (nouns.EVALUATIONS, ("priority",)), (nouns.ALLOCATIONS, ("namespace", "job_id")),
    (nouns.ALLOCATIONS, ("modify_index",)), (nouns.DEPLOYMENTS, ("modify_index",)),
    (HOST_VOLUMES, ()), (HOST_VOLUMES, ("state",)), (HOST_VOLUMES, ("plugin_id",)),
    (HOST_VOLUMES, ("create_index",)),
    (VARIABLES, ("modify_index",)), (VARIABLES, ("create_index",)),
]  # fmt: skip
SHORT = {"evaluation": "eval"}
COUNTED = [
    (nouns.JOBS, ("status", "type", "is_stopped", "namespace")),
    (nouns.NODES, ("status", "eligibility", "is_draining", "datacenter", "node_pool")),
    (nouns.EVALUATIONS, ("status", "triggered_by", "type", "namespace")),
    (nouns.ALLOCATIONS, ("client_status", "desired_status", "namespace")),
    (nouns.DEPLOYMENTS, ("status", "namespace")),
    (HOST_VOLUMES, ("state", "plugin_id", "namespace")),
    (VARIABLES, ("is_locked", "namespace")),
    (VARIABLES, ("namespace", "path", "is_locked")),
]


@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize(("noun", "columns"), SORTED)
def test_a_sorted_page_walks_an_index_and_sorts_no_table(sqlite_store, noun, columns, is_down):
    listing = Listing(sort=columns, reverse=is_down, limit=50)
    told = plan_of(sqlite_store, lambda reader: reader.page(noun, listing))
    (walk,) = (row for row in told if row.startswith("SCAN"))
    assert f"SCAN {noun.table} USING INDEX" in walk
    # Rows that are alike in what was sorted by go by their keys: those of one job at most.
    assert [row for row in told if "TEMP B-TREE FOR ORDER BY" in row] == []


@pytest.mark.parametrize(("noun", "columns"), COUNTED)
def test_facets_are_counted_in_an_index_alone(sqlite_store, noun, columns):
    told = plan_of(sqlite_store, lambda reader: reader.facets(noun, columns, Listing()))
    told = [row for row in told if "state_index" not in row]
    index = f"{SHORT.get(noun.table, noun.table)}_counted"
    assert told == [f"SCAN {noun.table} USING COVERING INDEX {index}"]


def test_what_restarts_is_looked_for_among_what_was_ever_restarted(sqlite_store):
    told = plan_of(sqlite_store, lambda reader: reader.restarting_among({KEY}, 2))
    assert "SEARCH allocation USING INDEX allocation_restarted (restart_count>?)" in told
