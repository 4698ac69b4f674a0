"""Metrics of a cluster that has worked, on a database: what runs where, what waits for room."""

import re
from collections import Counter

import msgspec
import pytest

from cluster.api.metric_values import measured
from cluster.api.metrics import json_form, prometheus_text
from cluster.store.leader_news import LeaderNews, decoded_news, encoded_news
from cluster.store.writer import DjangoStateStore
from scheduler.broker.places import BrokerStats
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.test_metrics import DOCUMENT
from tests.record_databases import copy_sqlite, database
from tests.rehearsal.quiet_cluster import QuietCluster, job_document
from tests.rehearsal.test_foretold import DatabaseOfCluster
from tests.store_fixtures import postgres_database, postgres_store, sqlite_store

__all__ = ["postgres_database", "postgres_store", "sqlite_store"]

NODES = 2
JOB = JobKey("default", "huge")
#: More than any machine has beside its few jobs.
TOO_MUCH = {"count": 400, "cpu": 500, "memory": 100}


@pytest.fixture(scope="module")
def cluster(sqlite_template, tmp_path_factory, django_db_blocker):
    settings = copy_sqlite(sqlite_template, tmp_path_factory.mktemp("metrics") / "db.sqlite3")
    with django_db_blocker.unblock(), database(settings) as alias:
        record = DatabaseOfCluster(DjangoStateStore(alias))
        try:
            cluster = QuietCluster(NODES, store=record)
            cluster.run(job_document("small", count=3))
            cluster.run(job_document("report/dispatch-17-ab", count=1, kind="batch"))
            cluster.run(job_document("huge", **TOO_MUCH))
            cluster.rest()
            cluster.database = DjangoStateStore(alias)
            yield cluster
        finally:
            record.close()


def asked(cluster, work):
    return cluster.database.read(work)


def measurement(cluster, most=100):
    plane = cluster.plane
    news = LeaderNews(at=plane.clock.now(), epoch=1, stats=plane.leader.stats())
    # As it comes through Redis.
    told = decoded_news(encoded_news(news))
    assert told == news
    return asked(
        cluster,
        lambda reader: measured(reader, told, most=most, now=plane.clock.now(), is_well=True),
    )


def by_label(found, name, label):
    return {g.labels.get(label): g.value for g in found.gauges if g.name == name}


def test_what_runs_is_told_of_each_node(cluster):
    running = Counter(
        alloc.node_id
        for node in cluster.store.nodes()
        for alloc in cluster.store.allocations_by_node(node.id)
        if alloc.client_status is ClientStatus.RUNNING
    )
    assert running.total() > 3
    told = by_label(measurement(cluster), "nomad.client.allocations.running", "node_id")
    assert told == {node.id: running[node.id] for node in cluster.store.nodes()}


def test_what_waits_would_need_what_its_evaluation_says(cluster):
    (blocked,) = asked(cluster, lambda reader: reader.blocked_among({JOB}).values())
    assert blocked.status is EvalStatus.BLOCKED
    (metric,) = blocked.failed_task_groups.values()
    need = {
        "cpu": sum(each.cpu for each in metric.resources_exhausted.values()),
        "memory": sum(each.memory_mb for each in metric.resources_exhausted.values()),
    }
    assert max(need.values()) > 0
    found = measurement(cluster)
    for name, amount in need.items():
        prefix = "nomad.nomad.blocked_evals"
        assert by_label(found, f"{prefix}.job.{name}", "job") == {"huge": amount}
        of_places = by_label(found, f"{prefix}.{name}", "datacenter")
        assert of_places == dict.fromkeys(metric.nodes_available, amount)


def test_a_launched_job_names_its_parent(cluster):
    found = measurement(cluster)
    parents = {
        g.labels["job"]: (g.labels.get("parent_id"), g.labels.get("dispatch_id"))
        for g in found.gauges
        if g.name == "nomad.nomad.job_summary.complete"
    }
    assert parents["report/dispatch-17-ab"] == ("report", "17-ab")
    assert parents["small"] == (None, None)


def test_of_too_many_that_wait_only_the_number_is_told(cluster):
    found = measurement(cluster, most=0)
    told = {gauge.name: gauge.value for gauge in found.gauges}
    assert told["bivouac.metrics.blocked_jobs_left_out"] == 1
    assert "nomad.nomad.blocked_evals.job.cpu" not in told
    assert "nomad.client.allocations.running" not in told


def test_response_is_wait_and_process_together(cluster):
    times = {each.name.rpartition(".")[2]: each.values for each in measurement(cluster).times}
    assert len(times["response_time"]) == len(times["process_time"]) > 0
    assert max(times["response_time"]) >= max(times["process_time"])


def test_both_forms_can_be_read(cluster):
    found = measurement(cluster)
    assert b"nomad_nomad_blocked_evals_job_cpu{" in prometheus_text(found)
    names = {each["Name"] for each in json_form(found)["Gauges"]}
    assert {"nomad.nomad.autopilot.healthy", "nomad.client.allocated.max_memory"} <= names
    assert msgspec.json.encode(json_form(found))


@pytest.mark.parametrize("database_store", ["sqlite_store", "postgres_store"])
def test_either_database_counts_by_node(database_store, request):
    store = request.getfixturevalue(database_store)

    def work(change):
        put_found(change, make_node(1))
        job = write_job(change, make_job())
        for number, status in enumerate((ClientStatus.RUNNING, ClientStatus.COMPLETE)):
            put_found(change, make_allocation(job, number, client_status=status))

    store.write(WriteKind.PLAN_RESULT, work, now=1)
    found = store.read(lambda reader: measured(reader, None, most=9, now=1, is_well=False))
    told = by_label(found, "nomad.client.allocations.running", "node_id")
    assert told == {make_node(1).id: 1}
    assert by_label(found, "nomad.nomad.autopilot.healthy", "") == {None: 0}


def documented(text):
    """Patterns of the names that the document's tables and sentences tell, and of no others.

    In a row the first name is whole: `_unacked` after `total_ready` means `total_unacked`, and
    `memory` after `a.cpu` means `a.memory`. Those of the second table are not told.
    """
    told, _, _ = text.partition("| not told |")
    names = {each.replace("_", ".", 2) for each in re.findall(r"`(bivouac_metrics_\w+)`", told)}
    for row in re.findall(r"^\| (`[^|]+) \|", told, re.MULTILINE):
        whole = ""
        for word in re.findall(r"`([^`]+)`", row):
            if word.startswith(("nomad.", "bivouac.")):
                whole = word
            elif word.startswith("_"):
                whole = whole.rpartition("_")[0] + word
            else:
                parts = whole.split(".")
                whole = ".".join([*parts[: -1 - word.count(".")], word])
            names.add(whole)
    return {re.sub(r"<\w+>", "[a-z]+", re.escape(name)) for name in names}


def names_of(measurements):
    return {
        each.name
        for found in measurements
        for each in (*found.gauges, *found.counters, *found.times)
    }


def undocumented(found, text):
    names = names_of([found])
    patterns = documented(text)
    return sorted(name for name in names if not any(re.fullmatch(each, name) for each in patterns))


@pytest.fixture
def every(cluster):
    """All that was measured: with single objects and without, and what a quiet leader lacks."""
    plane = cluster.plane
    stats = msgspec.structs.replace(
        plane.leader.stats(),
        broker=BrokerStats(delayed={make_evaluation().id: 1}, by_scheduler={"service": (2, 1)}),
        refusals_of_nodes={node.id: 1 for node in cluster.store.nodes()},
    )
    busy = LeaderNews(at=plane.clock.now(), epoch=1, stats=stats)
    means = {"now": plane.clock.now(), "is_well": True}
    return [
        *(measurement(cluster, most=most) for most in (0, 100)),
        *(asked(cluster, lambda reader, most=most: measured(reader, busy, most=most, **means))
          for most in (0, 100)),
    ]  # fmt: skip


def test_every_number_stands_in_the_document_and_no_other(every):
    text = DOCUMENT.read_text()
    assert [name for found in every for name in undocumented(found, text)] == []
    told = names_of(every)
    assert [
        each for each in documented(text) if not any(re.fullmatch(each, n) for n in told)
    ] == []


@pytest.mark.parametrize(
    ("struck", "missing"),
    [
        ("`nomad.nomad.plan.queue_depth`, ", "nomad.nomad.plan.queue_depth"),
        (", `_unacked`, `_pending`", "nomad.nomad.broker.total_pending"),
        (", `max_memory`", "nomad.client.allocated.max_memory"),
        ("`bivouac.nodes`", "bivouac.nodes"),
        ("`bivouac_metrics_jobs_left_out`", "bivouac.metrics.jobs_left_out"),
    ],
)
def test_a_number_that_is_struck_from_the_document_is_missed(every, struck, missing):
    text = DOCUMENT.read_text()
    assert struck in text
    assert missing in [
        name for each in every for name in undocumented(each, text.replace(struck, ""))
    ]
