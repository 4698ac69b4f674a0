"""Routes that tell why: explanations and capsules of evaluations."""

import pytest

from scheduler.state.found_rows import put_found
from scheduler.state.writes.explanations import write_explanations
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.explanation import (
    GroupExplanation,
    RefusedNodes,
    Shortfall,
    StoredExplanation,
    pack,
)
from scheduler.structs.node import NodeEligibility
from tests.builders import make_evaluation, make_job, make_node
from tests.cluster.api.clients import NOW, put
from tests.scheduler.engine.scene import group_of, plain_node

EVAL = make_evaluation(1).id
ABSENT = "dddddddd-0000-0000-0000-000000000001"
WEB = GroupExplanation(
    task_group="web",
    candidates=2,
    refused=(RefusedNodes(reason="missing drivers", count=1, node_ids=("n2",)),),
    exhausted=(Shortfall(dimension="memory", count=1, node_ids=("n1",), missing=(200,)),),
    failed=3,
    nearest_miss="1 node lacks 200 MiB of memory; 1 node: missing drivers",
)
DB = GroupExplanation(task_group="db", candidates=2, with_room=2)


@pytest.fixture
def decided(store, api):
    """An evaluation that has ended, with two groups explained."""

    def fill(change):
        put_found(change, make_node(1, secret_id="s", create_index=change.index))
        put_found(
            change,
            make_evaluation(
                1,
                status=EvalStatus.COMPLETE,
                snapshot_index=change.index,
                create_index=change.index,
                modify_index=change.index,
                modify_time=NOW,
            ),
        )
        write_explanations(
            change,
            [
                StoredExplanation(
                    eval_id=EVAL,
                    task_group=group.task_group,
                    namespace="default",
                    job_id="web",
                    packed=pack(group),
                )
                for group in (WEB, DB)
            ],
        )

    put(store, fill)
    return api


async def test_an_explanation_has_every_group_or_the_one_asked_for(decided):
    everything = (await decided.get(f"/v1/evaluation/{EVAL}/explanation")).json
    assert [group["TaskGroup"] for group in everything] == ["db", "web"]
    (web,) = (await decided.get(f"/v1/evaluation/{EVAL}/explanation", group="web")).json
    assert web["NearestMiss"] == WEB.nearest_miss
    assert web["Exhausted"] == [
        {"Dimension": "memory", "Count": 1, "NodeIDs": ["n1"], "Missing": [200]}
    ]
    assert (await decided.get(f"/v1/evaluation/{EVAL}/explanation", group="cache")).json == []


@pytest.fixture
def waiting(store, api):
    """An evaluation that left three waiting, beside a node that is held back."""
    node = plain_node(1, 4000, 5000, scheduling_eligibility=NodeEligibility.INELIGIBLE)
    job = make_job(task_groups=(group_of(500, 2000, count=3),))
    waits = {"web": AllocMetric(coalesced_failures=2)}

    def fill(change):
        put_found(change, node)
        change.put_job(job)
        put_found(change, make_evaluation(1, status=EvalStatus.COMPLETE, failed_task_groups=waits))

    put(store, fill)
    return api


async def test_what_would_unblock_a_group_is_told_with_how_many_would_fit(waiting):
    told = (await waiting.get(f"/v1/evaluation/{EVAL}/unblock")).json
    assert (told["Group"], told["Waiting"], told["Untried"]) == ("web", 3, 0)
    best = told["Answers"][0]
    assert (best["Change"]["Change"], best["Change"]["NodeName"], best["Fits"]) == (
        "set-eligible",
        make_node(1).name,
        2,
    )
    assert (await waiting.get(f"/v1/evaluation/{EVAL}/unblock", group="none")).status == 404


async def test_a_capsule_tells_no_secret_of_a_node(decided):
    capsule = (await decided.get(f"/v1/evaluation/{EVAL}/capsule")).json
    assert (capsule["Name"], capsule["Now"], capsule["Missing"]) == (EVAL, NOW, [])
    assert [node["SecretID"] for node in capsule["Nodes"]] == [""]


@pytest.mark.parametrize("kind", ["explanation", "capsule", "unblock"])
async def test_nobody_learns_of_an_absent_evaluation(decided, kind):
    answer = await decided.get(f"/v1/evaluation/{ABSENT}/{kind}")
    assert (answer.status, answer.text) == (404, "eval not found")


async def test_a_capsule_is_for_those_who_see_every_namespace(decided, tenant, reader):
    assert (await tenant.get(f"/v1/evaluation/{EVAL}/capsule")).status == 403
    assert (await tenant.get(f"/v1/evaluation/{EVAL}/explanation")).status == 403
    assert (await reader.get(f"/v1/evaluation/{EVAL}/capsule")).status == 200
