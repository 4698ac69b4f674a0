"""Routes of jobs: what they do, and every refusal."""

import pytest

from scheduler.structs.job import JobSubmission
from tests.cluster.api.clients import document


async def register(api, **fields):
    answer = await api.put("/v1/jobs", {"Job": document(**fields)})
    assert answer.status == 200, answer.text
    return answer.json


@pytest.mark.parametrize(
    "path", ["etl/periodic-1", "etl%2Fperiodic-1"], ids=["raw-slash", "escaped-slash"]
)
async def test_ids_with_slashes_are_found_either_way(api, path):
    await register(api, ID="etl/periodic-1")

    assert (await api.get(f"/v1/job/{path}")).json["ID"] == "etl/periodic-1"
    assert (await api.get(f"/v1/job/{path}/summary")).json["JobID"] == "etl/periodic-1"


@pytest.mark.parametrize("job_id", ["evaluate", "a b%20c", "ünïcode", "a.b~c", "%2e%2e"])
async def test_odd_ids_are_just_ids(api, job_id):
    answer = await api.get(f"/v1/job/{job_id}")

    assert (answer.status, answer.text) == (404, "job not found")


async def test_an_empty_id_is_an_unknown_job(api):
    answer = await api.get("/v1/job/")

    assert (answer.status, answer.text) == (404, "job not found")


async def test_registering_answers_with_the_evaluation_it_made(api):
    answer = await register(api)

    evaluation = (await api.get(f"/v1/evaluation/{answer['EvalID']}")).json
    assert answer | {"EvalID": "", "Warnings": ""} == {
        "EvalID": "",
        "EvalCreateIndex": answer["Index"],
        "JobModifyIndex": answer["Index"],
        "Warnings": "",
        "Index": answer["Index"],
        "LastContact": 0,
        "KnownLeader": False,
        "NextToken": "",
    }
    assert evaluation["TriggeredBy"] == "job-register"
    assert {"Cause", "Story"} & evaluation.keys() == {"Story"}
    told = (await api.get(f"/v1/evaluation/{answer['EvalID']}", additions="")).json
    assert told["Cause"]["Kind"] == "job"


async def test_all_problems_of_a_job_are_named_and_nothing_is_written(api):
    task = {"Name": "t"}
    groups = [{"Name": "g", "Count": -1, "Tasks": [task]}]

    answer = await api.put("/v1/jobs", {"Job": document(TaskGroups=groups)})

    assert (answer.status, answer.text) == (
        400,
        (
            "1 error occurred:\n\t* Task group g validation failed: 2 errors occurred:\n"
            "\t* Task group count can't be negative\n"
            "\t* Task t validation failed: 1 error occurred:\n"
            "\t* Missing task driver\n\n\n\n\n\n"
        ),
    )
    assert (await api.get("/v1/jobs")).json == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"Job": document(), "EnforceIndex": True, "JobModifyIndex": 7},
            "Enforcing job modify index 7: job does not exist",
        ),
        (
            {"Job": document(), "EvalPriority": 101},
            "Eval priority must be between 1 and 100 inclusively",
        ),
        (
            {"Job": document(Namespace="nowhere")},
            '1 error occurred:\n\t* job "web" is in nonexistent namespace "nowhere"\n\n',
        ),
        ({"Job": document(), "Region": "mars"}, "No path to region"),
        (
            {"Job": document(Type="system", TaskGroups=[{"Name": "g", "Scaling": {"Max": 2}}])},
            "Task groups with job type system do not support scaling blocks",
        ),
        (
            {"Job": {"ID": "web", "TaskGroups": [{"Count": "two"}]}},
            (
                "json: cannot unmarshal string into Go struct field"
                " TaskGroup.Job.TaskGroups.Count of type int"
            ),
        ),
    ],
    ids=["enforce", "priority", "namespace", "region", "scaling", "type"],
)
async def test_what_registration_refuses(api, body, text):
    answer = await api.put("/v1/jobs", body)

    assert (answer.status, answer.text) == (400, text)


async def test_a_count_beyond_reason_is_refused(api):
    task = {"Name": "t", "Driver": "mock_driver"}
    groups = [{"Name": "g", "Count": 10**9, "Tasks": [task]}]

    answer = await api.put("/v1/jobs", {"Job": document(TaskGroups=groups)})

    assert answer.status == 400


async def test_unknown_fields_and_drivers_are_taken(api):
    task = {"Name": "t", "Driver": "teleport", "Sparkle": True}
    groups = [{"Name": "g", "Tasks": [task]}]

    assert await register(api, TaskGroups=groups, Colour="red")


async def test_the_namespace_of_the_query_goes_before_that_of_the_job(api):
    await api.put("/v1/namespace", {"Name": "team"})

    await api.put("/v1/jobs", {"Job": document(Namespace="default")}, namespace="team")

    assert (await api.get("/v1/job/web", namespace="team")).json["Namespace"] == "team"
    assert (await api.get("/v1/job/web")).status == 404
    assert (await api.get("/v1/job/web", namespace="*")).status == 404


async def test_updating_by_id_needs_the_same_id(api):
    answer = await api.put("/v1/job/other", {"Job": document()})

    assert (answer.status, answer.text) == (400, "Job ID does not match name")
    assert (await api.put("/v1/job/web", {"Job": document()})).status == 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Job ID must be specified"),
        ({"JobID": "other"}, "JobID not same as job name"),
    ],
)
async def test_what_evaluating_refuses(api, body, text):
    await register(api)

    answer = await api.put("/v1/job/web/evaluate", body)

    assert (answer.status, answer.text) == (400, text)


async def test_evaluating_an_unknown_job_is_refused(api):
    answer = await api.put("/v1/job/nobody/evaluate")

    assert (answer.status, answer.text) == (400, "job not found")


async def test_evaluating_makes_a_further_evaluation(api):
    await register(api)

    answer = await api.put(
        "/v1/job/web/evaluate", {"JobID": "web", "EvalOptions": {"ForceReschedule": True}}
    )

    evaluations = (await api.get("/v1/job/web/evaluations")).json
    assert [each["ID"] for each in evaluations][-1] == answer.json["EvalID"]
    assert len(evaluations) == 2


async def test_stopping_and_purging(api):
    await register(api)

    stopped = await api.delete("/v1/job/web")
    after_stop = (await api.get("/v1/job/web")).json
    purged = await api.delete("/v1/job/web", purge="true")

    assert (after_stop["Stop"], after_stop["Version"]) == (True, 1)
    assert stopped.json["EvalID"] != purged.json["EvalID"] != ""
    assert (await api.get("/v1/job/web")).status == 404


@pytest.mark.parametrize("priority", ["0", "", "-1"])
async def test_a_stop_that_names_no_priority_takes_the_jobs_own(api, priority):
    await register(api, Priority=70)

    answer = await api.delete("/v1/job/web", eval_priority=priority)

    assert answer.status == 200, answer.text
    evaluation = (await api.get(f"/v1/evaluation/{answer.json['EvalID']}")).json
    assert evaluation["Priority"] == 70
    assert (await api.get("/v1/job/web")).json["Stop"] is True


async def test_stopping_an_unknown_job_is_no_error(api):
    answer = await api.delete("/v1/job/nobody")

    assert answer.status == 200
    assert (answer.json["EvalID"], answer.json["JobModifyIndex"]) == ("", 0)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"eval_priority": "101"}, "Eval priority must be between 1 and 100 inclusively"),
        (
            {"eval_priority": "x"},
            (
                'Failed to parse value of "eval_priority" (x) as a int:'
                ' strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (
            {"purge": "maybe"},
            (
                'Failed to parse value of "purge" (maybe) as a bool:'
                ' strconv.ParseBool: parsing "maybe": invalid syntax'
            ),
        ),
    ],
)
async def test_what_stopping_refuses(api, query, text):
    await register(api)

    answer = await api.delete("/v1/job/web", **query)

    assert (answer.status, answer.text) == (400, text)
    assert (await api.get("/v1/job/web")).json["Stop"] is False


async def test_versions_come_newest_first(api):
    await register(api)
    await register(api, Priority=70)

    answer = await api.get("/v1/job/web/versions")

    assert [version["Version"] for version in answer.json["Versions"]] == [1, 0]
    assert answer.json["Diffs"] is None
    assert answer.json["Index"] == int(answer.headers["X-Nomad-Index"])


async def test_the_source_of_a_version_is_kept(api):
    body = {"Job": document(), "Submission": {"Source": "job {}", "Format": "hcl2"}}
    await api.put("/v1/jobs", body)

    answer = await api.get("/v1/job/web/submission", version="0")

    assert answer.json["Source"] == "job {}"
    assert set(answer.json) == {
        "Source",
        "Format",
        "VariableFlags",
        "Variables",
        "Namespace",
        "JobID",
        "Version",
        "JobModifyIndex",
    }
    assert JobSubmission(source=answer.json["Source"]).source == "job {}"


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ({}, 400, "Unable to parse job submission version parameter"),
        ({"version": "x"}, 400, "Unable to parse job submission version parameter"),
        ({"version": "9"}, 404, "job source not found"),
    ],
)
async def test_a_source_that_is_not_there(api, query, status, text):
    await register(api)

    answer = await api.get("/v1/job/web/submission", **query)

    assert (answer.status, answer.text) == (status, text)


async def test_a_job_without_a_deployment_answers_null(api):
    await register(api)

    answer = await api.get("/v1/job/web/deployment")

    assert (answer.status, answer.content) == (200, b"null")


async def test_validation_answers_200_for_a_bad_job(api):
    answer = await api.put("/v1/validate/job", {"Job": {"ID": "web", "TaskGroups": []}})

    assert answer.status == 200
    assert answer.json == {
        "DriverConfigValidated": True,
        "ValidationErrors": ["Missing job task groups"],
        "Error": "1 error occurred:\n\t* Missing job task groups\n\n",
        "Warnings": "",
    }


async def test_validation_does_not_look_at_the_region(api):
    answer = await api.put("/v1/validate/job", {"Job": document(Region="mars")})

    assert (answer.status, answer.json["ValidationErrors"]) == (200, None)


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("job/web/plan", {}, "Job must be specified"),
        ("job/web/plan", {"Job": {}}, "Job must have a valid ID"),
        ("job/other/plan", {"Job": document()}, "Job ID does not match"),
        (
            "job/web/plan",
            {"Job": document(TaskGroups=[])},
            "1 error occurred:\n\t* Missing job task groups\n\n",
        ),
        ("validate/job", {}, "Job must be specified"),
        ("jobs/parse", {}, "Job spec is empty"),
        ("jobs/parse", {"JobHCL": ""}, "Job spec is empty"),
    ],
)
async def test_what_previews_refuse(api, path, body, text):
    answer = await api.put(f"/v1/{path}", body)

    assert (answer.status, answer.text) == (400, text)


async def test_lists_by_prefix_filter_and_page(api):
    for job_id in ("web-1", "web-2", "db"):
        await register(api, ID=job_id)

    everything = await api.get("/v1/jobs")
    some = await api.get("/v1/jobs", prefix="web")
    first = await api.get("/v1/jobs", prefix="web", per_page="1")
    second = await api.get(
        "/v1/jobs", prefix="web", per_page="1", next_token=first.headers["X-Nomad-NextToken"]
    )
    none = await api.get("/v1/jobs", filter="Periodic is not nil")

    assert [job["ID"] for job in everything.json] == ["db", "web-1", "web-2"]
    assert [job["ID"] for job in some.json] == ["web-1", "web-2"]
    assert first.headers["X-Nomad-NextToken"] == "default.web-2"
    assert [job["ID"] for job in second.json] == ["web-2"]
    assert "X-Nomad-NextToken" not in second.headers
    assert none.json == []


async def test_an_unknown_namespace_lists_nothing(api):
    assert (await api.get("/v1/jobs", namespace="nowhere")).json == []


@pytest.mark.parametrize(
    "text",
    ["Nope == 1", "ID ==", "((((", "ID matches `(a+`", "ID == 'x'", "x" * 5000],
)
async def test_a_bad_filter_is_the_callers_fault(api, text):
    await register(api)

    assert (await api.get("/v1/jobs", filter=text)).status == 400


async def test_a_job_file_is_read(api):
    text = (
        'job "web" {\n  group "g" {\n    task "t" {\n      driver = "mock_driver"\n    }\n  }\n}'
    )

    plain = (await api.put("/v1/jobs/parse", {"JobHCL": text})).json
    canonical = (await api.put("/v1/jobs/parse", {"JobHCL": text, "Canonicalize": True})).json

    assert (plain["ID"], plain["Priority"], plain["TaskGroups"][0]["Count"]) == ("web", None, None)
    assert (canonical["Priority"], canonical["TaskGroups"][0]["Count"]) == (50, 1)
    assert (await api.put("/v1/jobs", {"Job": canonical})).status == 200


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('job "web" {', "2"),
        ('job "web" {\n  datacentres = ["dc1"]\n}', "datacentres"),
        ("not a job at all {{{", "1"),
    ],
)
async def test_a_job_file_that_cannot_be_read_is_refused(api, text, place):
    answer = await api.put("/v1/jobs/parse", {"JobHCL": text})

    assert answer.status == 400
    assert answer.text.startswith("Failed to parse job: ")
    assert place in answer.text


async def test_a_plan_tells_what_would_happen_and_writes_nothing(api, store):
    before = await store.aread(lambda reader: reader.index)

    answer = await api.put("/v1/job/web/plan", {"Job": document(), "Diff": True})
    without_diff = await api.put("/v1/job/web/plan", {"Job": document()})

    assert answer.json["Annotations"]["DesiredTGUpdates"]["group"]["Place"] == 2
    assert answer.json["FailedTGAllocs"]["group"]["NodesEvaluated"] == 0
    assert answer.json["Diff"]["Type"] == "Added"
    assert without_diff.json["Diff"] is None
    assert await store.aread(lambda reader: reader.index) == before


@pytest.mark.parametrize("job_type", ["service", "batch", "system", "sysbatch"])
async def test_a_job_sent_again_as_it_was_read_is_no_new_version(api, job_type):
    task = {"Name": "main", "Driver": "mock_driver"}
    groups = [{"Name": "group", "Count": 1, "Tasks": [task]}]
    await register(api, Type=job_type, TaskGroups=groups)

    answer = await api.put("/v1/jobs", {"Job": (await api.get("/v1/job/web")).json})

    assert answer.status == 200, answer.text
    assert (await api.get("/v1/job/web")).json["Version"] == 0


async def test_differences_of_versions(api):
    await register(api)
    await register(api, Priority=70)
    await register(api, Priority=90)

    stepwise = (await api.get("/v1/job/web/versions", diffs="true")).json["Diffs"]
    with_first = (await api.get("/v1/job/web/versions", diff_version="0")).json["Diffs"]
    unknown = await api.get("/v1/job/web/versions", diff_tag="x")

    fields = [(field["Old"], field["New"]) for diff in stepwise for field in diff["Fields"]]
    assert fields == [("70", "90"), ("50", "70")]
    assert [diff["Type"] for diff in with_first] == ["Edited", "Edited", "None"]
    assert (unknown.status, unknown.text) == (400, 'tag "x" not found')
