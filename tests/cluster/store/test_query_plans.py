"""What is asked often is found by an index, however large the tables are."""

import re
from contextlib import contextmanager

import pytest
from django.db import connections

from cluster.store.ports import Listing
from scheduler.state.nouns import JOBS
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.structs.identity import JobKey

KEY = JobKey("default", "web")
CHANGED = Listing(by_change=True, reverse=True, limit=9, after=(7, "default", "web"))
#: What a statement was given to look for is gone through, as it must be.
GIVEN = re.compile(r"CONSTANT ROW|^SCAN wanted$")


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
        pytest.param(lambda reader: reader.page(JOBS, CHANGED), id="jobs-by-change"),
    ],
)
def test_a_read_searches_and_does_not_scan(sqlite_store, ask):
    connection = connections[sqlite_store.alias]
    with statements_of(connection) as statements:
        sqlite_store.read(ask)
    scans = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            if not sql.startswith(("SELECT", "WITH")):
                continue
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            told = [row[3] for row in cursor.fetchall()]
            scans += [row for row in told if row.startswith("SCAN") and not GIVEN.search(row)]
    assert scans == []
