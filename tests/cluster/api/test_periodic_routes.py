"""Periodic jobs through the API: launched by hand, planned, listed."""

import msgspec
import pytest

from tests.cluster.api.clients import document

LATE = "0 0 1 1 * 2099"


def cron(**fields):
    periodic = {"Specs": ["@daily"], "TimeZone": "Asia/Kolkata"}
    return document(**{"ID": "cron", "Type": "batch", "Periodic": periodic} | fields)


async def register(api, job=None):
    answer = await api.put("/v1/jobs", {"Job": job or cron()})
    assert answer.status == 200, answer.text
    return answer.json


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("body", [None, b"not json"], ids=["no-body", "any-body"])
async def test_a_launch_by_hand_answers_with_its_evaluation(api, method, body):
    registered = await register(api)

    answer = await api.send(method, "/v1/job/cron/periodic/force", body)

    index = registered["Index"] + 1
    assert answer.status == 200
    assert answer.json == {
        "EvalID": answer.json["EvalID"],
        "EvalCreateIndex": index,
        "Index": index,
    }
    assert answer.headers["X-Nomad-Index"] == str(index)
    evaluation = (await api.get(f"/v1/evaluation/{answer.json['EvalID']}")).json
    assert evaluation["TriggeredBy"] == "periodic-job"
    child = (await api.get(f"/v1/job/{evaluation['JobID']}")).json
    assert child["ID"].startswith("cron/periodic-")
    assert (child["Name"], child["ParentID"], child["Periodic"]) == (child["ID"], "cron", None)


async def test_lists_tell_the_parent_from_its_children_and_count_them(api):
    await register(api)
    await api.put("/v1/job/cron/periodic/force")

    parents = (await api.get("/v1/jobs", filter="Periodic is not nil")).json
    children = (await api.get("/v1/jobs", prefix="cron/periodic-")).json

    assert [(job["ID"], job["Periodic"], job["Status"]) for job in parents] == [
        ("cron", True, "running")
    ]
    assert parents[0]["JobSummary"]["Children"] == {"Pending": 1, "Running": 0, "Dead": 0}
    assert [(job["ParentID"], job["Periodic"], job["Status"]) for job in children] == [
        ("cron", False, "pending")
    ]


@pytest.mark.parametrize(
    ("job", "text"),
    [
        pytest.param(None, "job not found", id="unknown"),
        pytest.param(
            document(ID="cron", Type="batch"),
            "can't force launch non-periodic job",
            id="not-periodic",
        ),
        pytest.param(
            cron(Periodic={"Specs": ["@daily"], "Enabled": False}),
            'force launch for job "cron" failed: '
            'can\'t force run non-tracked job "cron" (default)',
            id="disabled",
        ),
        pytest.param(
            cron(ParameterizedJob={"Payload": "optional"}),
            'force launch for job "cron" failed: '
            'can\'t force run non-tracked job "cron" (default)',
            id="parameterized-too",
        ),
    ],
)
async def test_what_cannot_be_launched_says_why_and_writes_nothing(api, job, text):
    if job is not None:
        await register(api, job)
    before = (await api.get("/v1/jobs")).json

    answer = await api.put("/v1/job/cron/periodic/force")

    assert (answer.status, answer.text) == (400, text)
    assert (await api.get("/v1/jobs")).json == before


async def test_a_stopped_job_is_not_launched_by_hand(api):
    await register(api)
    await api.delete("/v1/job/cron")
    answer = await api.put("/v1/job/cron/periodic/force")
    assert (answer.status, answer.text) == (
        400,
        'force launch for job "cron" failed: can\'t force run non-tracked job "cron" (default)',
    )


async def test_reading_a_launch_is_no_route(api):
    await register(api)
    assert (await api.get("/v1/job/cron/periodic/force")).status == 405


@pytest.mark.parametrize(
    ("periodic", "shown"),
    [
        pytest.param(
            {"Specs": [LATE], "TimeZone": "Asia/Kolkata"},
            "2099-01-01T00:00:00+05:30",
            id="zone-of-the-job",
        ),
        pytest.param({"Specs": [LATE]}, "2099-01-01T00:00:00Z", id="utc"),
        pytest.param({"Specs": [LATE, "0 7 1 1 * 2098"]}, "2098-01-01T07:00:00Z", id="first"),
        pytest.param({"Spec": "0 0 1 1 * 2020"}, None, id="never-again"),
        pytest.param({"Specs": [LATE], "Enabled": False}, None, id="off"),
        pytest.param(None, None, id="not-periodic"),
    ],
)
async def test_a_plan_tells_the_next_launch(api, periodic, shown):
    answer = await api.put("/v1/job/cron/plan", {"Job": cron(Periodic=periodic)})
    assert answer.status == 200, answer.text
    assert answer.json["NextPeriodicLaunch"] == shown


async def test_a_periodic_job_is_registered_without_a_warning(api):
    assert (await register(api))["Warnings"] == ""


async def test_the_public_stream_calls_a_launch_a_registration(api):
    await register(api)
    answer = await api.put("/v1/job/cron/periodic/force")
    evaluation = (await api.get(f"/v1/evaluation/{answer.json['EvalID']}")).json
    stream = await api.get("/v1/event/stream", topic=f"Job:{evaluation['JobID']}", index="1")
    async for line in stream.streaming_content:
        if b"Events" in line:
            break
    (event,) = msgspec.json.decode(line)["Events"]
    assert (event["Topic"], event["Type"], event["Index"]) == (
        "Job",
        "JobRegistered",
        answer.json["Index"],
    )
