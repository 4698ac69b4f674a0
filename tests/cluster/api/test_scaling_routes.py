"""Scaling through the API, and scaling policies as an autoscaler follows them."""

import asyncio

import pytest

from cluster.operations.acl_policies import put_policy
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.allocation import ClientStatus, DeploymentHealth, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Namespace
from tests.builders import make_allocation
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, first_lines, put

TASK = {"Name": "main", "Driver": "mock_driver"}


def group(name="api", **fields):
    return {"Name": name, "Count": 2, "Tasks": [TASK], **fields}


def elastic(job_id="elastic", **fields):
    policy = {"Min": 1, "Max": 4, "Policy": {"cooldown": "1m"}}
    groups = [group(Scaling=policy), group("db")]
    return {"ID": job_id, "Type": "service", "TaskGroups": groups, **fields}


async def register(api, job=None, **query):
    answer = await api.put("/v1/jobs", {"Job": job or elastic()}, **query)
    assert answer.status == 200, answer.text
    return answer.json


def asked(count, **fields):
    return {"Count": count, "Target": {"Group": "api", "Job": "elastic"}, **fields}


async def test_scaling_says_what_it_made_and_the_status_shows_it(api):
    first = await register(api)

    answer = await api.put("/v1/job/elastic/scale", asked(3, Message="more", Meta={"why": "load"}))
    status = await api.get("/v1/job/elastic/scale")

    index = first["Index"] + 1
    assert answer.json == {
        "EvalID": answer.json["EvalID"],
        "EvalCreateIndex": index,
        "JobModifyIndex": index,
        "Index": index,
        "Warnings": "",
        "KnownLeader": False,
        "LastContact": 0,
        "NextToken": "",
    }
    event = {
        "Count": 3,
        "CreateIndex": index,
        "Error": False,
        "EvalID": answer.json["EvalID"],
        "Message": "more",
        "Meta": {"why": "load"},
        "PreviousCount": 2,
        "Time": time_of(status),
    }
    nothing = {"Placed": 0, "Running": 0, "Healthy": 0, "Unhealthy": 0}
    assert status.json == {
        "JobID": "elastic",
        "Namespace": "default",
        "JobCreateIndex": first["Index"],
        "JobModifyIndex": index,
        "JobStopped": False,
        "TaskGroups": {
            "api": nothing | {"Desired": 3, "Events": [event]},
            "db": nothing | {"Desired": 2, "Events": None},
        },
    }
    assert status.headers["X-Nomad-Index"] == str(index)


def time_of(status):
    return status.json["TaskGroups"]["api"]["Events"][0]["Time"]


async def test_a_note_keeps_the_version_and_is_newest_first(api):
    first = await register(api)
    await api.put("/v1/job/elastic/scale", asked(3))
    note = await api.put(
        "/v1/job/elastic/scale",
        {"Target": {"Group": "api"}, "Message": "no room", "Error": True},
    )
    status = (await api.get("/v1/job/elastic/scale")).json
    job = (await api.get("/v1/job/elastic")).json

    assert (note.json["EvalID"], note.json["EvalCreateIndex"]) == ("", 0)
    assert note.json["JobModifyIndex"] == job["ModifyIndex"] == first["Index"] + 1
    events = status["TaskGroups"]["api"]["Events"]
    assert [(each["Count"], each["EvalID"] is None, each["Meta"]) for each in events] == [
        (None, True, None),
        (3, False, None),
    ]


async def test_only_what_lives_and_is_no_canary_is_counted(api, store, job):
    states = (
        {"client_status": ClientStatus.RUNNING,
         "deployment_status": DeploymentHealth(healthy=True)},
        {"client_status": ClientStatus.RUNNING,
         "deployment_status": DeploymentHealth(healthy=False)},
        {"client_status": ClientStatus.PENDING},
        {"client_status": ClientStatus.FAILED},
        {"desired_status": DesiredStatus.STOP, "client_status": ClientStatus.RUNNING},
        {"client_status": ClientStatus.RUNNING,
         "deployment_status": DeploymentHealth(healthy=True, canary=True)},
        {"client_status": ClientStatus.RUNNING, "job_create_index": 1},
    )  # fmt: skip

    def fill(change):
        for number, fields in enumerate(states):
            incarnation = {"job_create_index": job.create_index}
            put_found(change, make_allocation(job, number=number, **(incarnation | fields)))

    await store.awrite_call(put, fill)
    status = await api.get("/v1/job/web/scale")
    counts = dict(status.json["TaskGroups"]["web"])
    assert counts.pop("Events") is None
    assert counts == {"Desired": 1, "Placed": 3, "Running": 2, "Healthy": 1, "Unhealthy": 1}
    newest = make_allocation(job).modify_index
    assert status.headers["X-Nomad-Index"] == str(newest)


REFUSALS = [
    pytest.param("elastic", None, 400, "Request body is empty", id="no-body"),
    pytest.param(
        "elastic", {"Count": "3"}, 400,
        "json: cannot unmarshal string into Go struct field ScalingRequest.Count of type int64",
        id="text",
    ),
    pytest.param(
        "elastic", {"Count": 2**70}, 400,
        "json: cannot unmarshal number into Go struct field ScalingRequest.Count of type int64",
        id="huge",
    ),
    pytest.param(
        "elastic", {"Target": {"Job": "other"}}, 400, "job ID in payload did not match URL",
        id="D5-other-job",
    ),
    pytest.param(
        "elastic", {"Count": 1, "Target": {"Namespace": "x"}}, 400,
        "missing task group name for scaling action", id="D6-no-group",
    ),
    pytest.param(
        "elastic", {"Count": -1, "Target": {"Namespace": "x", "Group": "api"}}, 400,
        "namespace in payload did not match header", id="D5-other-namespace",
    ),
    pytest.param(
        "elastic", asked(-1, Error=True), 400,
        "scaling action should not contain count if error is true", id="D6-count-and-error",
    ),
    pytest.param(
        "elastic", asked(-1), 400, "scaling action count can't be negative", id="D6-negative"
    ),
    pytest.param(
        "nope", {"Count": 1, "Target": {"Group": "api"}}, 404, 'job "nope" not found',
        id="D7-unknown-job",
    ),
    pytest.param(
        "elastic", {"Count": 1, "Target": {"Group": "x"}}, 400,
        'task group "x" specified for scaling does not exist in job', id="D7-unknown-group",
    ),
    pytest.param(
        "elastic", asked(0), 400, "group count was less than scaling policy minimum: 0 < 1",
        id="D8-below",
    ),
    pytest.param(
        "elastic", asked(5), 400, "group count was greater than scaling policy maximum: 5 > 4",
        id="D8-above",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job_id", "body", "status", "text"), REFUSALS)
async def test_each_refusal_is_answered_with_its_text(api, job_id, body, status, text):
    await register(api)
    answer = await api.put(f"/v1/job/{job_id}/scale", body)
    assert (answer.status, answer.text) == (status, text)
    groups = (await api.get("/v1/job/elastic/scale")).json["TaskGroups"]
    assert [each["Events"] for each in groups.values()] == [None, None]


ODD = [
    pytest.param(b'{"Message":"\\ud800"}', {"Message": "\ufffd"}, id="half-a-character"),
    pytest.param(b'{"Meta":{"a":' + b"9" * 30 + b"}}", {"Meta": {"a": 1e30}}, id="large-number"),
    pytest.param(b'{"Meta":{"\\udfff":[{"a":null}]}}', {"Meta": {"\ufffd": [{"a": None}]}},
                 id="half-a-name"),
    pytest.param(b'{"Message":"a\\u0000b"}', {"Message": "a\0b"}, id="NUL"),
]  # fmt: skip


@pytest.mark.parametrize(("odd", "kept"), ODD)
async def test_odd_texts_and_numbers_are_kept_as_far_as_they_can_be(api, odd, kept):
    await register(api)
    body = b'{"Target":{"Group":"api"},' + odd.removeprefix(b"{")
    assert (await api.put("/v1/job/elastic/scale", body)).status == 200
    (event,) = (await api.get("/v1/job/elastic/scale")).json["TaskGroups"]["api"]["Events"]
    assert {name: event[name] for name in kept} == kept


async def test_a_rollout_under_way_refuses_a_count(api, store):
    created = (await register(api))["Index"]
    running = Deployment(id="d1", job_id="elastic", job_create_index=created)
    await store.awrite_call(put, lambda change: put_found(change, running))
    answer = await api.put("/v1/job/elastic/scale", asked(3))
    expected = (400, "job scaling blocked due to active deployment")
    assert (answer.status, answer.text) == expected


async def test_wrong_methods_and_unknown_jobs(api):
    await register(api)
    assert (await api.delete("/v1/job/elastic/scale")).status == 405
    assert (await api.put("/v1/scaling/policies")).status == 405
    assert (await api.put("/v1/scaling/policy/x")).status == 405
    missing = await api.get("/v1/job/nope/scale")
    assert (missing.status, missing.text) == (404, "job not found")
    for path in ("/v1/scaling/policy/nope", "/v1/scaling/policy/"):
        answer = await api.get(path)
        assert (answer.status, answer.text) == (404, "policy not found")


async def test_a_waiting_status_wakes_on_an_event(api):
    await register(api)
    before = await api.get("/v1/job/elastic/scale")
    waiting = asyncio.ensure_future(
        api.get("/v1/job/elastic/scale", index=before.headers["X-Nomad-Index"], wait="60s")
    )
    await asyncio.sleep(0)
    await api.put("/v1/job/elastic/scale", {"Target": {"Group": "db"}, "Message": "why"})
    events = (await waiting).json["TaskGroups"]["db"]["Events"]
    assert [event["Message"] for event in events] == ["why"]


async def test_the_stream_tells_of_the_job_and_its_evaluation_and_of_no_note(api):
    first = (await register(api))["Index"]
    scaled = (await api.put("/v1/job/elastic/scale", asked(3))).json
    await api.put("/v1/job/elastic/scale", {"Target": {"Group": "db"}, "Message": "why"})
    last = (await register(api, elastic("other")))["Index"]

    stream = await api.get("/v1/event/stream", index=str(first + 1))
    _, frame, following = await first_lines(stream, 3)

    assert (frame["Index"], following["Index"]) == (scaled["Index"], last)
    told = [(each["Topic"], each["Key"], each["Type"]) for each in frame["Events"]]
    assert sorted(told) == [
        ("Evaluation", scaled["EvalID"], "JobRegistered"),
        ("Job", "elastic", "JobRegistered"),
    ]


async def test_policies_are_listed_and_read(api):
    created = (await register(api))["Index"]
    listed = await api.get("/v1/scaling/policies")

    (stub,) = listed.json
    target = {"Namespace": "default", "Job": "elastic", "Group": "api"}
    numbers = {"CreateIndex": created, "ModifyIndex": created}
    facts = {"Enabled": True, "ID": stub["ID"], "Type": "horizontal", "Target": target}
    assert stub == facts | numbers
    assert listed.headers["X-Nomad-Index"] == str(created)
    one = await api.get(f"/v1/scaling/policy/{stub['ID']}")
    rest = {"Min": 1, "Max": 4, "Policy": {"cooldown": "1m"}}
    assert one.json == facts | numbers | rest
    assert one.headers["X-Nomad-Index"] == str(created)
    job = (await api.get("/v1/job/elastic")).json
    assert job["TaskGroups"][0]["Scaling"] == one.json


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ({}, ["elastic", "other"]),
        ({"job": "other"}, ["other"]),
        ({"job": "nope"}, []),
        ({"type": "horiz"}, ["elastic", "other"]),
        ({"type": "vertical_cpu"}, []),
        ({"prefix": "zz"}, []),
        ({"filter": 'Target.Job == "other"'}, ["other"]),
        ({"namespace": "team"}, ["apart"]),
        ({"namespace": "*"}, ["apart", "elastic", "other"]),
        ({"namespace": "nowhere"}, []),
    ],
)
async def test_policies_are_found_by_job_type_id_and_namespace(api, tenant, query, jobs):
    await register(api)
    await register(api, elastic("other"))
    await register(api, elastic("apart", Namespace="team"))
    listed = (await api.get("/v1/scaling/policies", **query)).json
    assert sorted(stub["Target"]["Job"] for stub in listed) == jobs


async def test_policies_are_found_by_the_beginning_of_their_id(api):
    await register(api)
    (stub,) = (await api.get("/v1/scaling/policies")).json
    for length in (1, 9, 36):
        found = await api.get("/v1/scaling/policies", prefix=stub["ID"][:length])
        assert found.json == [stub]


async def test_an_autoscaler_waits_for_policies_that_change_and_nothing_else(api):
    await register(api)
    index = (await api.get("/v1/scaling/policies")).headers["X-Nomad-Index"]
    waiting = asyncio.ensure_future(api.get("/v1/scaling/policies", index=index, wait="60s"))
    await asyncio.sleep(0)
    await register(api, elastic(Priority=60))
    await api.put("/v1/job/elastic/scale", asked(3))
    assert (await api.get("/v1/scaling/policies")).headers["X-Nomad-Index"] == index

    await api.delete("/v1/job/elastic")

    answer = await waiting
    assert [stub["Enabled"] for stub in answer.json] == [False]
    assert int(answer.headers["X-Nomad-Index"]) > int(index)


async def test_an_autoscaler_notices_that_a_job_is_purged(api):
    await register(api)
    (stub,) = (await api.get("/v1/scaling/policies")).json
    path = f"/v1/scaling/policy/{stub['ID']}"
    waiting = asyncio.ensure_future(api.get(path, index=str(stub["ModifyIndex"]), wait="60s"))
    await asyncio.sleep(0)
    await api.delete("/v1/job/elastic", purge="true")
    assert (await waiting).text == "policy not found"
    assert (await api.get("/v1/scaling/policies")).json == []


@pytest.mark.parametrize(
    ("capabilities", "shown"),
    [
        ('"list-scaling-policies", "read-scaling-policy"', ["apart"]),
        ('"list-jobs", "read-job"', ["apart"]),
        ('"read-job"', []),
    ],
)
async def test_every_namespace_shows_what_a_caller_may_list(
    api, store, stranger, capabilities, shown
):
    def add(change):
        change.put(NAMESPACES, Namespace(name="team", create_index=1))

    await store.awrite_call(put, add)
    await register(api)
    await register(api, elastic("apart", Namespace="team"))
    rules = f'namespace "team" {{ capabilities = [{capabilities}] }}'
    policy = AclPolicy(name="anonymous", rules=rules)
    await store.awrite_call(put_policy, policy, by=MANAGER, now=NOW)

    listed = (await stranger.get("/v1/scaling/policies", namespace="*")).json
    assert [stub["Target"]["Job"] for stub in listed] == shown
    every = (await api.get("/v1/scaling/policies", namespace="*")).json
    for stub in every:
        read = await stranger.get(f"/v1/scaling/policy/{stub['ID']}", namespace="team")
        expected = 200 if stub["Target"]["Job"] in shown else 404 if shown else 403
        assert read.status == expected
