"""Routes of nodes, allocations and evaluations: what they do, and every refusal."""

import pytest

from cluster.operations.scheduler_settings import set_node_rejection
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.scheduler_settings import NodeRejection
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, put

NODE = make_node(1).id
ALLOC = "bbbbbbbb-0000-0000-0000-000000000001"
EVAL = "cccccccc-0000-0000-0000-000000000001"
ABSENT = "dddddddd-0000-0000-0000-000000000001"


@pytest.fixture
def placed(store, api):
    """A job with one running allocation on one of two nodes."""

    def fill(change):
        job = write_job(change, make_job())
        for number in (1, 2):
            put_found(change, make_node(number, create_index=change.index))
        put_found(
            change,
            make_allocation(
                job,
                id=ALLOC,
                eval_id=EVAL,
                client_status=ClientStatus.RUNNING,
                job_create_index=job.create_index,
                create_index=change.index,
            ),
        )
        put_found(change, make_evaluation(1, create_index=change.index))
        change.put(
            LIFECYCLE_STEPS,
            LifecycleStep(eval_id=EVAL, number=1, step=Step.CREATED, at=NOW, index=change.index),
        )

    put(store, fill)
    return api


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        (f"node/{ABSENT}", 404, "node not found"),
        ("node/short", 400, "node lookup failed: index error: UUID must be 36 characters"),
        (f"allocation/{ABSENT}", 404, "alloc not found"),
        ("allocation/short", 400, "alloc lookup failed: index error: UUID must be 36 characters"),
        (f"evaluation/{ABSENT}", 404, "eval not found"),
        pytest.param(f"evaluation/{ABSENT}?related=true", 404, "eval not found", id="65-unknown"),
        (
            "evaluation/short",
            400,
            "failed to lookup eval: eval lookup failed: index error: UUID must be 36 characters",
        ),
        ("node/pool/nowhere", 404, "node pool not found"),
        ("namespace/nowhere", 404, "Namespace not found"),
        (f"allocation/{ABSENT}/nonsense", 404, "resource not found"),
        (f"client/allocation/{ABSENT}/nonsense", 404, "resource not found"),
        (f"client/allocation/{ABSENT}/stats", 404, f'Unknown allocation "{ABSENT}"'),
        ("client/stats", 400, "No local Node and node_id not provided"),
        (f"client/stats?node_id={ABSENT}", 404, f"Unknown node {ABSENT}"),
        (f"client/allocation/{ALLOC}/stats", 404, "No path to node"),
        ("client/fs/ls/short", 400, "must provide a valid alloc id"),
        (f"client/fs/cat/{ALLOC}", 400, "must provide a file name"),
        (f"client/fs/logs/{ALLOC}", 400, "must provide task name"),
        (f"client/fs/logs/{ALLOC}?task=web", 400, "must provide log type (stdout/stderr)"),
        (
            f"client/fs/logs/{ALLOC}?task=web&type=stdout&origin=middle",
            400,
            "origin must be start or end",
        ),
        (f"client/fs/logs/{ALLOC}?task=zz&type=stdout", 400, 'unknown task name "zz"'),
        (f"client/fs/logs/{ALLOC}?task=web&type=stdout", 404, "No path to node"),
        ("evaluations?prefix=zz", 400, "eval lookup failed: index error: Invalid UUID"),
        ("allocations?prefix=a", 400, "alloc lookup failed: index error: Input (without hyphens)"),
        ("nodes?prefix=xy", 400, "node lookup failed: index error: Invalid UUID"),
        (
            "evaluations?job=web&filter=JobID+is+empty",
            400,
            "Filter expression cannot be used with other filter parameters",
        ),
    ],
)
async def test_what_reads_refuse(placed, path, status, text):
    answer = await placed.get(f"/v1/{path}")

    assert answer.status == status
    assert answer.text.startswith(text)


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        (f"node/{ABSENT}/drain", {"DrainSpec": None}, 400, "node not found"),
        (f"node/{ABSENT}/eligibility", {"Eligibility": "eligible"}, 400, "node not found"),
        (f"node/{ABSENT}/evaluate", None, 400, "node not found"),
        (f"node/{ABSENT}/purge", None, 400, "node not found"),
        (
            f"node/{NODE}/eligibility",
            {"Eligibility": "maybe"},
            400,
            'invalid scheduling eligibility "maybe"',
        ),
        (f"node/{NODE}/drain", None, 400, "Request body is empty"),
        (
            f"node/{NODE}/drain",
            {"DrainSpec": {"Deadline": 2**70}},
            400,
            "json: cannot unmarshal number",
        ),
        (f"allocation/{ABSENT}/stop", None, 404, "allocation not found"),
        (
            f"client/allocation/{ALLOC}/restart",
            {"TaskName": "web", "AllTasks": True},
            400,
            "task name cannot be set when restarting all tasks",
        ),
        (f"client/allocation/{ALLOC}/restart", {}, 404, "No path to node"),
        (
            "search",
            {"Prefix": "", "Context": "x"},
            400,
            "context must be one of [allocs jobs nodes",
        ),
        (
            "operator/scheduler/configuration",
            None,
            400,
            "Error parsing scheduler config: Request body is empty",
        ),
        (
            "operator/scheduler/configuration",
            {"SchedulerAlgorithm": "bogus"},
            400,
            "invalid scheduler algorithm: bogus",
        ),
        (
            "operator/scheduler/configuration?cas=x",
            {},
            400,
            'Error parsing cas value: strconv.ParseUint: parsing "x": invalid syntax',
        ),
        ("namespace/a", {"Name": "b"}, 400, "Namespace name does not match request path"),
        ("namespace/a", {}, 400, "Namespace name does not match request path"),
    ],
)
async def test_what_writes_refuse(placed, path, body, status, text):
    answer = await placed.put(f"/v1/{path}", body)

    assert answer.status == status
    assert answer.text.startswith(text)


async def test_older_clients_drain_by_a_flag_without_a_body(placed):
    started = await placed.put(f"/v1/node/{NODE}/drain", enable="True")
    during = (await placed.get(f"/v1/node/{NODE}")).json
    await placed.put(f"/v1/node/{NODE}/drain", enable="False")
    after = (await placed.get(f"/v1/node/{NODE}")).json

    assert started.json["NodeModifyIndex"] == started.json["Index"]
    assert (during["Drain"], during["DrainStrategy"]["Deadline"]) == (True, -1_000_000_000)
    assert during["LastDrain"]["Meta"] == {}
    assert (after["Drain"], after["SchedulingEligibility"]) == (False, "eligible")
    assert (await placed.put(f"/v1/node/{NODE}/drain", enable="maybe")).status == 400


async def test_a_drain_closes_the_node_until_it_is_cancelled(placed):
    spec = {"Deadline": 3_600_000_000_000, "IgnoreSystemJobs": True}
    body = {"DrainSpec": spec, "Meta": {"why": "disk"}}
    started = await placed.put(f"/v1/node/{NODE}/drain", body)
    during = (await placed.get(f"/v1/node/{NODE}")).json
    refused = await placed.put(f"/v1/node/{NODE}/eligibility", {"Eligibility": "eligible"})
    await placed.put(f"/v1/node/{NODE}/drain", {"DrainSpec": None, "MarkEligible": True})
    after = (await placed.get(f"/v1/node/{NODE}")).json

    assert started.json["NodeModifyIndex"] == started.json["Index"]
    assert (during["Drain"], during["SchedulingEligibility"]) == (True, "ineligible")
    assert during["DrainStrategy"]["Deadline"] == spec["Deadline"]
    assert during["LastDrain"]["Meta"] == {"why": "disk"}
    assert during["LastDrain"]["AccessorID"] == "accessor-root"
    assert refused.text == (
        "can not set node's scheduling eligibility to eligible while it is draining"
    )
    assert (after["Drain"], after["SchedulingEligibility"]) == (False, "eligible")


async def test_the_same_eligibility_again_writes_nothing(placed):
    answer = await placed.put(f"/v1/node/{NODE}/eligibility", {"Eligibility": "eligible"})

    assert answer.json == {
        "NodeModifyIndex": 0,
        "EvalIDs": None,
        "EvalCreateIndex": 0,
        "Index": 0,
    }
    assert {name.lower(): text for name, text in answer.headers.items()}["x-nomad-index"] == "0"


async def test_purging_a_node_evaluates_its_jobs(placed):
    answer = await placed.put(f"/v1/node/{NODE}/purge")

    assert len(answer.json["EvalIDs"]) == 1
    assert (await placed.get(f"/v1/node/{NODE}")).status == 404


async def test_stopping_an_allocation_marks_it_and_makes_an_evaluation(placed):
    answer = await placed.put(f"/v1/allocation/{ALLOC}/stop", reschedule="true")

    allocation = (await placed.get(f"/v1/allocation/{ALLOC}")).json
    evaluation = (await placed.get(f"/v1/evaluation/{answer.json['EvalID']}")).json
    assert allocation["DesiredTransition"]["Migrate"] is True
    assert allocation["DesiredTransition"]["Reschedule"] is True
    assert evaluation["TriggeredBy"] == "alloc-stop"


@pytest.mark.parametrize(
    "prefix", ["bb", "BBBB", "bbbbbbbb-00", "bbbbbbbb000000000000000000000001", ALLOC]
)
async def test_allocations_are_found_by_any_beginning_of_their_id(placed, prefix):
    answer = await placed.get("/v1/allocations", prefix=prefix)

    assert [alloc["ID"] for alloc in answer.json] == [ALLOC]


async def test_evaluations_are_chosen_by_job_and_status(placed):
    found = await placed.get("/v1/evaluations", job="web", status="pending")
    wrong_status = await placed.get("/v1/evaluations", job="web", status="failed")
    wrong_job = await placed.get("/v1/evaluations", job="other")

    assert [each["ID"] for each in found.json] == [EVAL]
    assert (wrong_status.json, wrong_job.json) == ([], [])


async def test_the_recorded_life_of_an_evaluation(placed):
    answer = await placed.get(f"/v1/evaluation/{EVAL}/lifecycle")

    assert [step["Step"] for step in answer.json] == ["created"]
    assert answer.json[0]["At"] == NOW


async def test_filters_reach_into_whole_objects(placed):
    by_attribute = 'Attributes["kernel.name"] == "linux"'
    some = await placed.get("/v1/nodes", filter=by_attribute)
    by_resources = await placed.get("/v1/nodes", filter="NodeResources.Memory.MemoryMB == 1")

    assert len(some.json) == 2
    assert by_resources.json == []


async def test_search_rounds_an_odd_prefix_down(placed):
    answer = await placed.put("/v1/search", {"Prefix": "bbb", "Context": "allocs"})
    none = await placed.put("/v1/search", {"Prefix": "zz", "Context": "allocs"})

    assert answer.json["Matches"] == {"allocs": [ALLOC]}
    assert answer.json["Truncations"] == {"allocs": False}
    assert (none.json["Matches"], none.json["Truncations"]) == ({}, {})


async def test_when_a_disputed_node_is_closed_is_told_to_who_asks_and_left_alone(placed, store):
    path = "/v1/operator/scheduler/configuration"
    rejection = NodeRejection(refusals=15)
    await store.awrite_call(set_node_rejection, rejection, by=MANAGER, now=1)
    plain = (await placed.get(path)).json["SchedulerConfig"]
    await placed.put(path, plain)
    told = (await placed.get(path, additions="")).json["SchedulerConfig"]
    assert "NodeRejection" not in plain
    assert told["NodeRejection"] == {"Enabled": True, "Refusals": 15, "Window": 300 * 10**9}


async def test_scheduler_settings_are_replaced_whole_and_compared(placed):
    await placed.put(
        "/v1/operator/scheduler/configuration",
        {"SchedulerAlgorithm": "spread", "PreemptionConfig": {"BatchSchedulerEnabled": True}},
    )
    stale = await placed.put("/v1/operator/scheduler/configuration", {}, cas="1")
    kept = (await placed.get("/v1/operator/scheduler/configuration")).json["SchedulerConfig"]
    fresh = await placed.put(
        "/v1/operator/scheduler/configuration", {}, cas=str(kept["ModifyIndex"])
    )
    after = (await placed.get("/v1/operator/scheduler/configuration")).json["SchedulerConfig"]

    assert (stale.json["Updated"], fresh.json["Updated"]) == (False, True)
    assert kept["SchedulerAlgorithm"] == "spread"
    assert kept["PreemptionConfig"]["SystemSchedulerEnabled"] is False
    assert after["SchedulerAlgorithm"] == "binpack"


@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_every_setting_of_the_schedulers_is_kept_as_given(api, method):
    settings = {
        "SchedulerAlgorithm": "spread",
        "PreemptionConfig": {
            "SystemSchedulerEnabled": False,
            "SysBatchSchedulerEnabled": True,
            "BatchSchedulerEnabled": True,
            "ServiceSchedulerEnabled": True,
        },
        "MemoryOversubscriptionEnabled": True,
        "RejectJobRegistration": True,
        "PauseEvalBroker": True,
        "NodeLimitForFeasibilityChecks": 7,
    }
    written = await api.send(method, "/v1/operator/scheduler/configuration", settings)
    kept = (await api.get("/v1/operator/scheduler/configuration")).json["SchedulerConfig"]

    index = written.json["Index"]
    assert written.json == {"Updated": True, "Index": index} | written.json
    assert kept == settings | {"CreateIndex": index, "ModifyIndex": index}

    await api.put("/v1/operator/scheduler/configuration", {})
    emptied = (await api.get("/v1/operator/scheduler/configuration")).json["SchedulerConfig"]
    assert emptied == {
        "SchedulerAlgorithm": "binpack",
        "PreemptionConfig": dict.fromkeys(settings["PreemptionConfig"], False),
        "MemoryOversubscriptionEnabled": False,
        "RejectJobRegistration": False,
        "PauseEvalBroker": False,
        "NodeLimitForFeasibilityChecks": 0,
        "CreateIndex": index,
        "ModifyIndex": emptied["ModifyIndex"],
    }


async def test_namespaces_come_and_go(api):
    created = await api.put("/v1/namespace", {"Name": "team", "Meta": {"a": "b"}})
    read = await api.get("/v1/namespace/team")
    removed = await api.delete("/v1/namespace/team")

    assert (created.status, created.content) == (200, b"")
    assert created.headers["Content-Length"] == "0"
    assert read.json["Meta"] == {"a": "b"}
    assert removed.status == 200
    assert (await api.get("/v1/namespace/team")).status == 404


async def test_collection_is_demanded_of_the_leader_with_an_empty_answer(api, store):
    index = await store.aread(lambda reader: reader.index)

    answer = await api.put("/v1/system/gc")

    assert (answer.status, answer.content) == (200, b"")
    assert [frame.kind for frame in await store.aframes_since(index)] == [
        WriteKind.COLLECTION_DEMANDED
    ]
    forced = await store.aread(lambda reader: reader.get(COLLECTIONS, "force-gc"))
    assert forced.is_awaited
