"""Versions through the API: going back, stable, tags and differences, as they were recorded."""

import asyncio

import pytest

from tests.cluster.api.clients import document

NO_UNSIGNED = (
    "json: cannot unmarshal number into Go struct field JobRevertRequest.JobVersion of type uint64"
)


def no_version(text, problem):
    return (
        f'Failed to parse value of "diff_version" ({text}) as a uint64:'
        f' strconv.ParseUint: parsing "{text}": {problem}'
    )


def sent(version, **fields):
    """As the reference's command line sends it."""
    plain = {"JobID": "web", "JobVersion": version, "EnforcePriorVersion": None}
    return {**plain, "Region": "", "Namespace": "", "SecretID": "", **fields}


@pytest.fixture
async def twice(api):
    """A job with versions 0 and 1."""
    for priority in (10, 20):
        await api.put("/v1/jobs", {"Job": document(Type="service", Priority=priority)})
    return api


async def versions(api, **query):
    return (await api.get("/v1/job/web/versions", **query)).json


async def test_going_back_is_answered_as_it_was_recorded(twice):
    answer = await twice.put("/v1/job/web/revert", sent(0), namespace="default")

    index = answer.json["Index"]
    assert answer.status == 200
    assert answer.json | {"EvalID": ""} == {
        "EvalCreateIndex": index,
        "EvalID": "",
        "Index": index,
        "JobModifyIndex": index,
        "KnownLeader": False,
        "LastContact": 0,
        "NextToken": "",
        "Warnings": "",
    }
    assert answer.headers["X-Nomad-Index"] == str(index)
    assert answer.headers["X-Nomad-KnownLeader"] == "false"
    assert answer.headers["X-Nomad-LastContact"] == "0"
    job = (await twice.get("/v1/job/web")).json
    assert (job["Version"], job["Priority"], job["Stable"]) == (2, 10, False)


async def test_going_back_to_what_there_is_keeps_the_index_of_the_job(twice):
    first = (await twice.put("/v1/job/web/revert", sent(0))).json
    again = (await twice.put("/v1/job/web/revert", sent(0))).json
    assert again["JobModifyIndex"] == first["JobModifyIndex"] < again["Index"]
    assert again["EvalID"]
    assert (await twice.get("/v1/job/web")).json["Version"] == 2


async def test_tokens_of_consul_and_vault_mean_nothing(twice):
    body = sent(0, ConsulToken="c", VaultToken="v", EnforcePriorVersion=1)
    assert (await twice.put("/v1/job/web/revert", body)).status == 200


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("web/revert", sent(1), "can't revert to current version"),
        (
            "web/revert",
            sent(99),
            'job "web" in namespace "default" at version 99 not found',
        ),
        (
            "web/revert",
            sent(0, EnforcePriorVersion=7),
            "Current job has version 1; enforcing version 7",
        ),
        ("nope/revert", sent(0, JobID="nope"), 'job "nope" not found'),
        ("web/revert", sent(0, JobID=""), "JobID must be specified"),
        ("web/revert", sent(0, JobID="other"), "Job ID does not match"),
        (
            "web/revert",
            sent(-1),
            NO_UNSIGNED,
        ),
        ("web/revert", None, "Request body is empty"),
        (
            "web/stable",
            {"JobID": "web", "JobVersion": 9, "Stable": True},
            'job "web" in namespace "default" at version 9 not found',
        ),
        (
            "nope/stable",
            {"JobID": "nope", "JobVersion": 0, "Stable": True},
            'job "nope" in namespace "default" at version 0 not found',
        ),
        ("web/stable", {"JobVersion": 0}, "JobID must be specified"),
        ("web/stable", {"JobID": "x"}, "Job ID does not match"),
        ("web/stable", None, "Request body is empty"),
        ("nope/versions/v/tag", {}, 'job "nope" version 0 not found'),
        ("web/versions/v/tag", {"Version": 9}, 'job "web" version 9 not found'),
        ("web/versions/v/tag", None, "Request body is empty"),
    ],
)
async def test_what_is_refused_and_changes_nothing(twice, path, body, text):
    before = await versions(twice)
    answer = await twice.put(f"/v1/job/{path}", body)
    assert (answer.status, answer.text) == (400, text)
    assert await versions(twice) == before


async def test_stable_is_answered_as_it_was_recorded(twice):
    body = {"JobID": "web", "JobVersion": 0, "Stable": True}
    answer = await twice.put("/v1/job/web/stable", body)
    assert answer.json == {"Index": int(answer.headers["X-Nomad-Index"])}
    assert "X-Nomad-KnownLeader" not in answer.headers
    assert [each["Stable"] for each in (await versions(twice))["Versions"]] == [False, True]
    assert not (await twice.get("/v1/job/web")).json["Stable"]
    await twice.put("/v1/job/web/stable", body | {"Stable": False})
    assert [each["Stable"] for each in (await versions(twice))["Versions"]] == [False, False]


async def test_a_tag_is_set_and_taken_away_as_it_was_recorded(twice):
    answer = await twice.put("/v1/job/web/versions/good/tag", {"Version": 0, "Description": "d"})
    index = answer.json["Index"]
    tagged = answer.json["TaggedTime"]
    meta = {"Index": index, "KnownLeader": False, "LastContact": 0, "NextToken": ""}
    assert answer.json == meta | {"Name": "good", "Description": "d", "TaggedTime": tagged}
    assert tagged > 0
    assert not [name for name in answer.headers if name.startswith("X-Nomad-")]
    kept = (await versions(twice))["Versions"]
    tag = {"Name": "good", "Description": "d", "TaggedTime": tagged}
    assert [each["VersionTag"] for each in kept] == [None, tag]

    gone = await twice.delete("/v1/job/web/versions/good/tag")

    empty = {"Name": "", "Description": "", "TaggedTime": 0}
    assert gone.json == meta | empty | {"Index": index + 1}
    assert [each["VersionTag"] for each in (await versions(twice))["Versions"]] == [None, None]


async def test_an_empty_object_names_version_0_and_the_latest_goes_before_a_number(twice):
    await twice.put("/v1/job/web/versions/first/tag", {})
    await twice.put("/v1/job/web/versions/last/tag", {"Version": 0, "Latest": True})
    kept = (await versions(twice))["Versions"]
    assert [each["VersionTag"]["Name"] for each in kept] == ["last", "first"]


async def test_a_long_name_of_a_tag_is_a_name_too(twice):
    assert (await twice.put(f"/v1/job/web/versions/{'x' * 300}/tag", {})).status == 200


async def test_tags_that_are_taken_or_not_there(twice):
    await twice.put("/v1/job/web/versions/good/tag", {"Version": 0})
    taken = await twice.put("/v1/job/web/versions/good/tag", {"Version": 1})
    absent = await twice.delete("/v1/job/web/versions/bad/tag")
    nowhere = await twice.delete("/v1/job/nope/versions/v1/tag")
    assert [(each.status, each.text) for each in (taken, absent, nowhere)] == [
        (400, 'tag "good" already exists on a different version of job "web"'),
        (400, 'tag "bad" not found on job "web"'),
        (400, 'tag "v1" not found on job "nope"'),
    ]


async def test_every_version_is_compared_with_the_one_that_is_named(twice):
    await twice.put("/v1/job/web/versions/good/tag", {"Version": 0})
    await twice.put("/v1/jobs", {"Job": document(Type="service", Priority=30)})

    def changed(diffs):
        return [[(f["Name"], f["Old"], f["New"]) for f in diff["Fields"] or []] for diff in diffs]

    with_first = [[("Priority", "10", "30")], [("Priority", "10", "20")], []]
    assert changed((await versions(twice, diff_tag="good"))["Diffs"]) == with_first
    assert changed((await versions(twice, diff_version="0"))["Diffs"]) == with_first
    # The tag goes before the number.
    assert (
        changed((await versions(twice, diff_tag="good", diff_version="2"))["Diffs"]) == with_first
    )
    assert changed((await versions(twice, diff_version="2"))["Diffs"]) == [
        [],
        [("Priority", "30", "20")],
        [("Priority", "30", "10")],
    ]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"diff_tag": "x"}, 'tag "x" not found'),
        ({"diff_version": "7"}, "version 7 not found"),
        ({"diff_version": "x"}, no_version("x", "invalid syntax")),
        ({"diff_version": "-1"}, no_version("-1", "invalid syntax")),
        ({"diff_version": "9" * 20}, no_version("9" * 20, "value out of range")),
    ],
)
async def test_what_versions_cannot_be_compared_with(twice, query, text):
    answer = await twice.get("/v1/job/web/versions", **query)
    assert (answer.status, answer.text) == (400, text)


async def test_who_waits_for_versions_wakes_when_an_old_one_is_tagged(twice):
    index = (await versions(twice))["Index"]
    waiting = asyncio.ensure_future(
        twice.get("/v1/job/web/versions", index=str(index), wait="60s")
    )
    await asyncio.sleep(0)
    await twice.put("/v1/job/web/versions/good/tag", {"Version": 0})
    answer = (await waiting).json
    assert answer["Index"] > index
    assert answer["Versions"][1]["VersionTag"]["Name"] == "good"


@pytest.mark.parametrize("path", ["revert", "stable"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_other_methods_are_not_known(twice, path, method):
    assert (await twice.send(method, f"/v1/job/web/{path}")).status == 405


async def test_actions_of_tasks_are_listed(api):
    task = {
        "Name": "main",
        "Driver": "mock_driver",
        "Actions": [{"Name": "hello", "Command": "/bin/echo", "Args": ["hi"]}],
    }
    await api.put("/v1/jobs", {"Job": document(TaskGroups=[{"Name": "group", "Tasks": [task]}])})
    await api.put("/v1/jobs", {"Job": document(ID="none")})

    assert (await api.get("/v1/job/web/actions")).json == [
        {
            "Name": "hello",
            "Command": "/bin/echo",
            "Args": ["hi"],
            "TaskGroupName": "group",
            "TaskName": "main",
        }
    ]
    assert (await api.get("/v1/job/none/actions")).json == []
    unknown = await api.get("/v1/job/nope/actions")
    assert (unknown.status, unknown.text) == (400, 'Unknown job "nope"')
    bare = await api.get("/v1/job/web/action")
    assert (bare.status, bare.text) == (400, "websocket connection not found in context")
