"""Dispatching through the API: exchanges as they were recorded, and every refusal of the route."""

import base64
import re

import pytest

from tests.cluster.api.clients import document

PATH = "/v1/job/resize/dispatch"


def parameterized(**fields):
    rules = {"Payload": "optional", "MetaRequired": ["image"], "MetaOptional": ["width"]}
    return document(**({"ID": "resize", "ParameterizedJob": rules} | fields))


@pytest.fixture
async def resize(api):
    answer = await api.put("/v1/jobs", {"Job": parameterized()})
    assert (answer.status, answer.json["EvalID"], answer.json["Warnings"]) == (200, "", "")
    return api


def asked(**fields):
    """As the reference's command line sends it."""
    plain = {"JobID": "resize", "Payload": None, "IdPrefixTemplate": "", "Priority": 0}
    return {**plain, "Meta": {"image": "cat.png"}, **fields}


async def test_a_dispatch_is_answered_as_it_was_recorded(resize):
    answer = await resize.put(PATH, asked(), namespace="default")

    index = answer.json["Index"]
    assert answer.status == 200
    assert re.fullmatch(r"resize/dispatch-\d{10}-[0-9a-f]{8}", answer.json["DispatchedJobID"])
    assert answer.json | {"DispatchedJobID": "", "EvalID": ""} == {
        "DispatchedJobID": "",
        "EvalCreateIndex": index,
        "EvalID": "",
        "Index": index,
        "JobCreateIndex": index,
    }
    assert answer.headers["X-Nomad-Index"] == str(index)
    assert "X-Nomad-KnownLeader" not in answer.headers
    evaluation = (await resize.get(f"/v1/evaluation/{answer.json['EvalID']}")).json
    assert (evaluation["TriggeredBy"], evaluation["Type"]) == ("job-register", "batch")
    assert evaluation["JobID"] == answer.json["DispatchedJobID"]


async def test_a_child_shows_what_was_recorded_of_one(resize):
    sent = asked(
        Payload="dGhlIHBheWxvYWQK", Meta={"image": "dog.png", "width": "40"}, IdPrefixTemplate="hi"
    )
    answer = await resize.put(PATH, sent)

    child = (await resize.get(f"/v1/job/{answer.json['DispatchedJobID']}")).json
    parent = (await resize.get("/v1/job/resize")).json
    assert child["ID"].startswith("resize/dispatch-hi-")
    differs = {name for name, value in child.items() if value != parent[name]}
    # Two instants may be one.
    assert differs | {"SubmitTime"} == {
        "CreateIndex", "Dispatched", "ID", "JobModifyIndex", "Meta", "ModifyIndex", "Name",
        "ParentID", "Payload", "Status", "SubmitTime",
    }  # fmt: skip
    assert child["Payload"] == "dGhlIHBheWxvYWQK"
    assert child["Meta"] == {"image": "dog.png", "width": "40"}
    assert (child["Dispatched"], child["ParentID"], child["Name"]) == (True, "resize", child["ID"])
    assert child["ParameterizedJob"] == parent["ParameterizedJob"]
    assert (child["Status"], child["DispatchIdempotencyToken"]) == ("pending", "")


async def test_without_a_payload_a_child_shows_none(resize):
    answer = await resize.put(PATH, asked())
    child = (await resize.get(f"/v1/job/{answer.json['DispatchedJobID']}")).json
    assert child["Payload"] is None


async def test_a_second_dispatch_with_the_token_is_answered_as_it_was_recorded(resize):
    first = await resize.put(PATH, asked(), idempotency_token="once")
    second = await resize.put(PATH, asked(), idempotency_token="once")

    assert second.json == first.json | {"EvalCreateIndex": 0, "EvalID": ""}
    child = (await resize.get(f"/v1/job/{first.json['DispatchedJobID']}")).json
    assert child["DispatchIdempotencyToken"] == "once"
    assert len((await resize.get("/v1/jobs", prefix="resize/dispatch-")).json) == 1


@pytest.mark.parametrize("field", ["idempotency_token", "IdempotencyToken"])
async def test_the_token_may_stand_in_the_body(resize, field):
    told = [(await resize.put(PATH, asked() | {field: "once"})).json for _ in range(2)]
    assert told[0]["DispatchedJobID"] == told[1]["DispatchedJobID"]


async def test_the_parent_counts_its_children(resize):
    for _ in range(3):
        await resize.put(PATH, asked())
    summary = (await resize.get("/v1/job/resize/summary")).json
    assert summary["Children"] == {"Dead": 0, "Pending": 3, "Running": 0}
    listed = (await resize.get("/v1/jobs", prefix="resize")).json
    parent = next(job for job in listed if job["ID"] == "resize")
    assert parent["JobSummary"]["Children"]["Pending"] == 3
    assert (parent["ParameterizedJob"], parent["Status"]) == (True, "running")
    # A child is what was dispatched, and takes no dispatch itself.
    assert {job["ParameterizedJob"] for job in listed if job["ParentID"]} == {False}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            asked(Meta={}), "Dispatch did not provide required meta keys: [image]", id="missing"
        ),
        pytest.param(
            asked(Meta={"colour": "red", "image": "x"}),
            "Dispatch request included unpermitted metadata keys: [colour]",
            id="unpermitted",
        ),
        pytest.param(asked(JobID="other"), "Job ID does not match", id="other job"),
        pytest.param(
            asked(Payload="!"), "illegal base64 data at input byte 0", id="no base64 at all"
        ),
        pytest.param(
            asked(Payload="aGk=aGk="), "illegal base64 data at input byte 4", id="base64 goes on"
        ),
        pytest.param(
            asked(Payload="aGkaG"), "illegal base64 data at input byte 4", id="base64 cut short"
        ),
        pytest.param(
            asked(Payload="aGka-G"), "illegal base64 data at input byte 4", id="other alphabet"
        ),
        pytest.param(
            asked(Payload=7),
            "json: cannot unmarshal number into Go struct field JobDispatchRequest.Payload"
            " of type []uint8",
            id="a payload that is a number",
        ),
        pytest.param(
            asked(Meta={"image": 1}),
            "json: cannot unmarshal number into Go struct field JobDispatchRequest.Meta"
            " of type string",
            id="metadata that is a number",
        ),
        pytest.param(
            asked(Priority=101), "dispatch job priority must be between [1, 100]", id="priority"
        ),
        pytest.param(
            asked(Payload=base64.b64encode(bytes(16_385)).decode()),
            "Payload exceeds maximum size; 16385 > 16384",
            id="too much",
        ),
        pytest.param(None, "Request body is empty", id="nothing"),
    ],
)
async def test_what_is_refused_and_leaves_nothing(resize, body, text):
    answer = await resize.put(PATH, body)

    assert (answer.status, answer.text) == (400, text)
    assert (await resize.get("/v1/jobs", prefix="resize/dispatch-")).json == []


async def test_a_body_is_the_payload_where_it_is_sent_so(api):
    rules = {"Payload": "required"}
    await api.put("/v1/jobs", {"Job": parameterized(ParameterizedJob=rules)})
    sent = bytes(range(256)) * 64

    answer = await api.send(
        "POST",
        f"{PATH}/payload",
        sent,
        idempotency_token="t",
        id_prefix_template="no",
        priority="7",
    )
    again = await api.send("PUT", f"{PATH}/payload", b"other", idempotency_token="t")
    too_much = await api.send("PUT", f"{PATH}/payload", sent + b"x")
    none = await api.send("PUT", f"{PATH}/payload", b"")

    child = (await api.get(f"/v1/job/{answer.json['DispatchedJobID']}")).json
    assert base64.b64decode(child["Payload"]) == sent
    assert re.fullmatch(r"resize/dispatch-\d+-[0-9a-f]+", child["ID"])
    assert child["Priority"] == 50
    assert again.json["DispatchedJobID"] == child["ID"]
    assert (too_much.status, too_much.text) == (400, "Payload exceeds maximum size; 16385 > 16384")
    assert (none.status, none.text) == (
        400,
        "Payload is not provided but required by parameterized job",
    )


async def test_a_body_alone_brings_no_metadata(resize):
    answer = await resize.send("PUT", f"{PATH}/payload", b"raw text")
    assert (answer.status, answer.text) == (
        400,
        "Dispatch did not provide required meta keys: [image]",
    )


@pytest.mark.parametrize("path", [PATH, f"{PATH}/payload"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
async def test_other_methods_are_not_known(resize, path, method):
    answer = await resize.send(method, path)
    assert (answer.status, answer.text) == (405, "Invalid method")


async def test_jobs_that_cannot_be_dispatched_say_why(resize):
    await resize.put("/v1/jobs", {"Job": document()})
    plain = await resize.put("/v1/job/web/dispatch", asked(JobID=""))
    unknown = await resize.put("/v1/job/nope/dispatch", asked(JobID=""))
    elsewhere = await resize.put(PATH, asked(), namespace="nowhere")
    child = (await resize.put(PATH, asked())).json["DispatchedJobID"]
    grandchild = await resize.put(f"/v1/job/{child}/dispatch", asked(JobID=child))
    await resize.delete("/v1/job/resize")
    stopped = await resize.put(PATH, asked())

    answers = [
        (each.status, each.text) for each in (plain, unknown, elsewhere, grandchild, stopped)
    ]
    assert answers == [
        (400, 'Specified job "web" is not a parameterized job'),
        (400, "parameterized job not found"),
        (400, "parameterized job not found"),
        (400, f'Specified job "{child}" is not a parameterized job'),
        (400, 'Specified job "resize" is stopped'),
    ]


async def test_j05_a_child_cannot_be_registered_as_it_was_read(resize):
    child = (await resize.put(PATH, asked())).json["DispatchedJobID"]
    read = (await resize.get(f"/v1/job/{child}")).json
    answer = await resize.put("/v1/jobs", {"Job": read})
    assert (answer.status, answer.text) == (
        400,
        "cannot update non-parameterized job to being parameterized",
    )


async def test_the_public_stream_calls_a_dispatch_a_registration(resize):
    answer = await resize.put(PATH, asked())
    name = answer.json["DispatchedJobID"]
    stream = await resize.get("/v1/event/stream", topic=f"Job:{name}", index="1")
    async for line in stream.streaming_content:
        if b"Events" in line:
            break
    assert b'"Type":"JobRegistered"' in line
    assert name.encode() in line
