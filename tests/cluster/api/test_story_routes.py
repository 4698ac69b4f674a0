"""Stories by HTTP: the list with its filters and pages, one with its evaluations, the stream."""

import asyncio
import json

import pytest

from cluster.operations.acl_policies import put_policy
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.nodes import DrainRequest, drain_node
from cluster.runtime.clock import RandomIDs
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import Caller, CallerKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import DrainStrategy
from scheduler.structs.story import Story, StoryKind, story_id
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, document, first_lines, put

DRAIN = DrainRequest(
    strategy=DrainStrategy(deadline=10**12),
    note=DrainNote(meta={"message": "kernel update"}),
    action="one",
)
KIM = Caller(kind=CallerKind.PERSON, name="kim", access=MANAGEMENT)
DRAINED = story_id("drain", "one", "")


@pytest.fixture
def told(store):
    """A rollout of which one of three waits, and a drain of two nodes."""
    put(store, lambda change: [put_found(change, make_node(number)) for number in (1, 2)])
    how = {"by": KIM, "now": NOW, "ids": RandomIDs()}
    register_job(store, JobRegistration(job=make_job()), **how)
    for number in (1, 2):
        drain_node(store, make_node(number).id, DRAIN, **how)
    (first,) = store.read(lambda reader: reader.evaluations())

    def run(change):
        waiting = make_evaluation(
            7,
            status=EvalStatus.BLOCKED,
            triggered_by="queued-allocs",
            previous_eval=first.id,
            failed_task_groups={"web": AllocMetric(dimension_exhausted={"memory": 3, "cpu": 1})},
        )
        done = first.changed(status=EvalStatus.COMPLETE)
        write_evaluations(change, (done, waiting))
        for number in (1, 2):
            row = make_allocation(number=number, eval_id=first.id)
            put_found(change, row.changed(client_status=ClientStatus.RUNNING))

    put(store, run)
    return first.id


async def story_of(api, eval_id):
    return (await api.get(f"/v1/evaluation/{eval_id}")).json["Story"]


async def test_stories_are_listed_with_how_far_they_are(told, api):
    answer = await api.get("/v1/stories")
    drain, rollout = answer.json
    assert rollout["ID"] == await story_of(api, told)
    names = ("Kind", "Status", "Namespace", "JobID", "NodeCount", "Actor", "Reason")
    assert [rollout[name] for name in names] == [
        "rollout",
        "running",
        "default",
        "web",
        0,
        "kim",
        "",
    ]
    assert [drain[name] for name in names] == [
        "drain", "running", "", "", 2, "kim", "kernel update",
    ]  # fmt: skip
    assert drain["ID"] == DRAINED
    assert rollout["Evaluations"] == {"complete": 1, "blocked": 1}
    assert rollout["Outcome"] == {
        "Wanted": 3,
        "There": 2,
        "Placed": {"running": 2},
        "Waiting": 1,
        "WaitsFor": {"memory": 1},
        "Left": 0,
        "DeploymentID": "",
        "DeploymentStatus": "",
    }
    assert (drain["Outcome"]["Left"], drain["Outcome"]["Wanted"]) == (2, 2)
    assert (rollout["EndTime"], rollout["CreateTime"]) == (0, NOW)


async def test_every_evaluation_names_its_story_unasked(told, api):
    story = await story_of(api, told)
    for path in ("evaluations", "job/web/evaluations"):
        rows = (await api.get(f"/v1/{path}")).json
        # The second was made by hand, with no job's version behind it.
        assert [row.get("Story") for row in rows if row["ID"] == told] == [story], path
        assert not {"Cause", "CountedEvals"} & {name for row in rows for name in row}
    chosen = await api.get("/v1/evaluations", filter=f'Story == "{story}"')
    assert told in {row["ID"] for row in chosen.json}
    stream = await api.get("/v1/event/stream", topic="Evaluation", index="1")
    _, line = await first_lines(stream, 2)
    assert line["Events"][0]["Payload"]["Evaluation"]["Story"] == story
    related = (await api.get(f"/v1/evaluation/{told}", related="true")).json["RelatedEvals"]
    assert [set(stub) & {"Story"} for stub in related] == [set()] * len(related)


async def test_the_decision_of_a_capsule_and_a_plan_do_not_name_it(told, api):
    capsule = await api.get(f"/v1/evaluation/{told}/capsule")
    assert "Story" not in json.dumps(capsule.json)
    planned = await api.put("/v1/job/web/plan", {"Job": document(ID="web", Name="web")})
    assert planned.status == 200
    assert [row for row in planned.json["CreatedEvals"] or () if "Story" in row] == []


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"kind": "drain,loss"}, ["drain"]),
        ({"job": "web"}, ["rollout"]),
        ({"node": make_node(2).id}, ["drain"]),
        ({"who": "kim"}, ["drain", "rollout"]),
        ({"who": ""}, []),
        ({"status": "running"}, ["drain", "rollout"]),
        ({"status": "ended"}, []),
        ({"namespace": "*"}, ["drain", "rollout"]),
        ({"namespace": "team"}, ["drain"]),
        ({"filter": 'Reason contains "kernel"'}, ["drain"]),
        ({"filter": 'Actor == "kim" and Kind == "rollout"'}, ["rollout"]),
    ],
)  # fmt: skip
async def test_the_list_is_narrowed(told, api, query, kinds):
    rows = (await api.get("/v1/stories", **query)).json
    assert [row["Kind"] for row in rows] == kinds


async def test_pages_of_an_expression_follow_each_other(told, api):
    first = await api.get("/v1/stories", filter='Actor == "kim"', per_page=1)
    token = first.headers["X-Nomad-NextToken"]
    rest = await api.get("/v1/stories", filter='Actor == "kim"', per_page=1, next_token=token)
    assert [row["Kind"] for row in first.json + rest.json] == ["drain", "rollout"]
    assert "X-Nomad-NextToken" not in rest.headers
    assert (await api.get("/v1/stories", filter="Actor ==")).status == 400


async def test_pages_follow_each_other(told, api):
    first = await api.get("/v1/stories", per_page=1)
    token = first.headers["X-Nomad-NextToken"]
    second = await api.get("/v1/stories", per_page=1, next_token=token)
    assert [row["Kind"] for row in (*first.json, *second.json)] == ["drain", "rollout"]
    assert "X-Nomad-NextToken" not in second.headers


async def test_one_is_told_with_a_page_of_its_evaluations(told, api):
    path = f"/v1/story/{await story_of(api, told)}"
    whole = await api.get(path)
    part = await api.get(path, per_page=1)
    rest = await api.get(path, per_page=1, next_token=part.headers["X-Nomad-NextToken"])
    assert whole.json["EvaluationIDs"] == [told, make_evaluation(7).id]
    assert [part.json["EvaluationIDs"], rest.json["EvaluationIDs"]] == [
        [told], [make_evaluation(7).id],
    ]  # fmt: skip
    assert "X-Nomad-NextToken" not in rest.headers


@pytest.mark.parametrize(
    ("path", "query", "text"),
    [
        ("stories", {"kind": "drain,flood,fire"}, "unknown kind of story: fire, flood;"),
        ("stories", {"status": "open"}, 'status must be "running" or "ended", not "open"'),
        ("stories", {"next_token": "x"}, "next_token 'x' names no page"),
        ("stories", {"job": "web", "namespace": "*"}, "a job is asked for in one namespace"),
        ("stories", {"node": "n1"}, "UUID must be 36 characters"),
        ("story/x", {}, "UUID must be 36 characters"),
    ],
)
async def test_what_cannot_be_asked_is_named(told, api, path, query, text):
    answer = await api.get(f"/v1/{path}", **query)
    assert (answer.status, text in answer.text) == (400, True)


async def test_one_that_is_not_there_is_not_found(told, api):
    answer = await api.get(f"/v1/story/{make_node(1).id}")
    assert (answer.status, answer.text) == (404, "story not found")


async def test_whoever_reads_neither_jobs_nor_nodes_is_told_nothing(told, tenant, api):
    told_to_manager = (await api.get("/v1/stories", kind="rollout")).json[0]["ID"]
    assert (await tenant.get(f"/v1/story/{told_to_manager}")).status == 403
    assert (await tenant.get("/v1/stories")).status == 403


#: What somebody may read beside jobs everywhere, and the cluster's stories that are told then.
TOLD_BY_RIGHT = {
    "": [],
    'node { policy = "read" }': [StoryKind.DRAIN],
    'operator { policy = "read" }': [StoryKind.CONFIGURATION],
    'node { policy = "read" } operator { policy = "read" }': [
        StoryKind.CONFIGURATION, StoryKind.DRAIN,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rules", "kinds"), TOLD_BY_RIGHT.items())
async def test_who_may_read_every_namespace_reads_no_more_of_the_cluster_for_it(
    store, told, stranger, rules, kinds
):
    set_up = Story(
        id=make_node(9).id, kind=StoryKind.CONFIGURATION, create_index=9, create_time=NOW
    )
    await store.acall(lambda: put(store, lambda change: change.put(STORIES, set_up)))
    every = AclPolicy(
        name="anonymous", rules='namespace "*" { capabilities = ["read-job"] } ' + rules
    )
    await store.awrite_call(put_policy, every, by=MANAGER, now=NOW)

    listed = await stranger.get("/v1/stories", namespace="*")
    of_cluster = [row["Kind"] for row in listed.json if not row["Namespace"]]
    assert sorted(of_cluster) == sorted(kinds)
    assert [row["Kind"] for row in listed.json if row["Namespace"]] == ["rollout"]
    for one, kind in ((set_up.id, StoryKind.CONFIGURATION), (DRAINED, StoryKind.DRAIN)):
        answer = await stranger.get(f"/v1/story/{one}")
        assert answer.status == (200 if kind in kinds else 403), kind

    stream = await stranger.get("/v1/event/stream", topic="Story", index="1", namespace="*")
    # Each node that joins a drain tells its story anew.
    count = 1 + sum(2 if kind is StoryKind.DRAIN else 1 for kind in kinds)
    _, *lines = await first_lines(stream, 1 + count)
    events = [event for line in lines for event in line["Events"]]
    streamed = {event["Payload"]["Story"]["Kind"] for event in events}
    assert streamed == {"rollout", *kinds}


async def test_the_stream_tells_stories_to_whoever_asks_by_name(told, api):
    stream = await api.get("/v1/event/stream", topic="Story", index="1", namespace="*")
    _, *lines = await first_lines(stream, 4)
    events = [event for line in lines for event in line["Events"]]
    assert [event["Payload"]["Story"]["Kind"] for event in events] == ["rollout", "drain", "drain"]
    assert [event["FilterKeys"][0] for event in events] == ["rollout", "drain", "drain"]
    everything = await api.get("/v1/event/stream", topic="*", index="1", namespace="*")
    _, *lines = await first_lines(everything, 3)
    assert "Story" not in {event["Topic"] for line in lines for event in line["Events"]}


async def test_a_reader_is_woken_by_the_next_story(store, told, api):
    index = (await api.get("/v1/stories")).headers["X-Nomad-Index"]
    waiting = asyncio.create_task(api.get("/v1/stories", index=index, wait="20s"))
    await asyncio.sleep(0)
    request = JobRegistration(job=make_job(id="next"))
    await store.acall(lambda: register_job(store, request, by=KIM, now=NOW, ids=RandomIDs()))
    assert [row["JobID"] for row in (await waiting).json] == ["next", "", "web"]
