"""Metrics: the record's numbers by the reference's names, cheap; no names for strangers."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.api.metric_values import measured
from cluster.api.metrics import forget_measured, json_form, prometheus_text, text_name
from cluster.store.leader_news import LeaderNews
from scheduler.broker.blocked_evals import BlockedStats
from scheduler.broker.places import BrokerStats
from scheduler.leader_stats import LeaderStats
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import LifecycleStep, Step
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import NOW, put

SECOND = 1_000_000_000
DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"
NEWS = LeaderNews(
    at=NOW,
    epoch=1,
    stats=LeaderStats(
        broker=BrokerStats(
            total_ready=3, delayed={"e": NOW + 5 * SECOND}, by_scheduler={"service": (2, 1)}
        ),
        blocked=BlockedStats(total_blocked=4),
        plan_queue_depth=7,
        plan_refusals=6,
        refusals_of_nodes={make_node(1).id: 5, make_node(2).id: 1},
    ),
)


@pytest.fixture(autouse=True)
def fresh():
    forget_measured()
    yield
    forget_measured()


@pytest.fixture
def world(store):
    def fill(change):
        job = write_job(change, make_job())
        put_found(change, make_node(1))
        put_found(change, make_allocation(job, node_id=make_node(1).id))
        evaluation = make_evaluation()
        put_found(change, evaluation)
        steps = ((Step.DEQUEUED, 40), (Step.PLAN_SUBMITTED, 20), (Step.PLAN_ANSWERED, 10))
        for number, (step, ms) in enumerate(steps, 1):
            change.put(
                LIFECYCLE_STEPS,
                LifecycleStep(
                    eval_id=evaluation.id,
                    number=number,
                    step=step,
                    at=NOW - SECOND,
                    duration_ns=ms * 1_000_000,
                    nodes=(make_node(1).id,) if step is Step.PLAN_ANSWERED else (),
                ),
            )

    put(store, fill, WriteKind.PLAN_RESULT)
    return store


async def measurement(store, news=NEWS, most=10):
    return await store.aread(
        lambda reader: measured(reader, news, most=most, now=NOW, is_well=True)
    )


def values(found):
    return {gauge.name: gauge.value for gauge in found.gauges}


async def test_the_names_of_the_reference_have_the_numbers_of_the_record(world):
    told = values(await measurement(world))
    wanted = {
        "nomad.nomad.broker.total_ready": 3,
        "nomad.nomad.broker.service_ready": 2,
        "nomad.nomad.broker.service_unacked": 1,
        "nomad.nomad.broker.eval_waiting": 5.0,
        "nomad.nomad.blocked_evals.total_blocked": 4,
        "nomad.nomad.plan.queue_depth": 7,
        "nomad.client.allocated.cpu": 500,
        "bivouac.leader.present": 1,
        "bivouac.client.allocations_not_started": 1,
        "nomad.client.allocations.running": 0,
        "nomad.client.allocated.max_memory": 256,
        "nomad.nomad.autopilot.healthy": 1,
        "nomad.nomad.autopilot.failure_tolerance": 0,
    }
    assert {name: told[name] for name in wanted} == wanted
    assert told["nomad.nomad.job_status.pending"] + told["nomad.nomad.job_status.running"] == 1


async def test_of_a_status_that_nothing_has_none_is_told_not_nothing(world):
    found = {}
    for gauge in (await measurement(world)).gauges:
        if gauge.name in {"bivouac.nodes", "bivouac.allocations", "bivouac.evaluations"}:
            (status,) = gauge.labels.values()
            found.setdefault(gauge.name, {})[status] = gauge.value
    assert found["bivouac.nodes"] == {
        "initializing": 0, "ready": 1, "down": 0, "disconnected": 0,
    }  # fmt: skip
    assert sum(found["bivouac.allocations"].values()) == 1
    assert {*found["bivouac.allocations"]} == {each.value for each in ClientStatus}
    assert {*found["bivouac.evaluations"]} == {"pending", "blocked"}


async def test_without_a_leader_nothing_of_its_memory_is_told(world):
    told = values(await measurement(world, news=None))
    assert told["bivouac.leader.present"] == 0
    assert [name for name in told if "broker" in name or "plan" in name] == []


async def test_of_too_many_only_the_number_is_told(world):
    told = values(await measurement(world, most=0))
    assert (told["bivouac.metrics.jobs_left_out"], told["bivouac.metrics.nodes_left_out"]) == (
        1, 1,
    )  # fmt: skip
    assert [name for name in told if "job_summary" in name or "allocated" in name] == []


async def test_a_collector_reads_the_text(world):
    found = await measurement(world)
    text = prometheus_text(found).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    waits = families["nomad_nomad_broker_wait_time"]
    assert (waits.type, next((s.labels, s.value) for s in waits.samples)) == (
        "summary", ({"quantile": "0.5"}, 40.0),
    )  # fmt: skip
    (cpu,) = families["nomad_client_allocated_cpu"].samples
    assert (cpu.value, cpu.labels["node_status"]) == (500, "ready")
    assert "process_resident_memory_bytes" in families
    assert {text_name(gauge.name) for gauge in found.gauges} <= set(families)


async def test_times_of_the_last_interval_are_summed(world):
    form = json_form(await measurement(world))
    (waited,) = [each for each in form["Samples"] if each["Name"].endswith("broker.wait_time")]
    assert [waited[name] for name in ("Count", "Sum", "Min", "Max", "Mean", "Stddev", "Rate")] == [
        1, 40.0, 40.0, 40.0, 40.0, 0.0, 4.0,
    ]  # fmt: skip
    assert form["Timestamp"].endswith(" +0000 UTC")


async def test_refusals_are_counted_by_node(world):
    found = await measurement(world)
    nodes = [make_node(1).id, make_node(2).id]
    families = {f.name: f for f in text_string_to_metric_families(prometheus_text(found).decode())}
    told = families["nomad_nomad_plan_node_rejected"].samples
    assert [(each.labels["node_id"], each.value) for each in told] == [
        (nodes[0], 5),
        (nodes[1], 1),
    ]
    assert families["bivouac_plans_refused_by_nodes"].samples[0].value == 6
    of_late = {each["Name"]: each for each in json_form(found)["Counters"]}
    rejected = of_late["nomad.nomad.plan.node_rejected"]
    assert (rejected["Labels"]["node_id"], rejected["Count"], rejected["Sum"]) == (
        nodes[0],
        1,
        1.0,
    )


async def test_refusals_of_too_many_nodes_are_told_as_one_number(world):
    found = await measurement(world, most=1)
    assert [each.name for each in found.counters] == ["bivouac.plans.refused_by_nodes"]
    assert [each.labels for each in (await measurement(world)).without_names().counters] == [{}]


async def test_a_delayed_evaluation_names_its_job(world):
    stats = LeaderStats(broker=BrokerStats(delayed={make_evaluation().id: NOW + SECOND}))
    found = await measurement(world, news=LeaderNews(at=NOW, epoch=1, stats=stats))
    (told,) = [each for each in found.gauges if each.name.endswith("eval_waiting")]
    assert (told.value, told.labels["job"], told.labels["namespace"]) == (
        1.0, make_evaluation().job_id, "default",
    )  # fmt: skip
    few = await measurement(world, news=LeaderNews(at=NOW, epoch=1, stats=stats), most=0)
    assert values(few)["bivouac.metrics.evaluations_left_out"] == 1
    assert "nomad.nomad.broker.eval_waiting" not in values(few)


async def test_strangers_are_told_sums_and_no_names(api, stranger, world):
    for client, is_named in ((api, True), (stranger, False)):
        text = (await client.get("/v1/metrics", format="prometheus")).text
        assert "nomad_nomad_job_status_pending" in text
        assert ('job="' in text, "node_id" in text) == (is_named, is_named)
    answer = await stranger.get("/v1/metrics")
    assert sorted(answer.json) == [
        "Counters", "Gauges", "Points", "PrecisionGauges", "Samples", "Timestamp",
    ]  # fmt: skip


async def test_many_questions_cost_one_measurement(api, world, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "cluster.api.metrics.measured",
        lambda reader, news, **means: asked.append(1) or measured(reader, news, **means),
    )
    for _ in range(5):
        await api.get("/v1/metrics")
    assert len(asked) == 1
