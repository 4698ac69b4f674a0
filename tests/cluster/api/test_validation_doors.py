"""What the doors for jobs refuse before a job is judged, and what only registering asks."""

import pytest

from tests.cluster.api.clients import document


def with_task(**fields):
    task = {"Name": "main", "Driver": "mock_driver", **fields}
    return document(TaskGroups=[{"Name": "g", "Volumes": {"v": None}, "Tasks": [task]}])


@pytest.mark.parametrize("path", ["job/web/plan", "validate/job", "jobs/parse"])
async def test_jobs_are_put_or_posted(api, path):
    answer = await api.get(f"/v1/{path}")

    assert (answer.status, answer.text) == (405, "Invalid method")


@pytest.mark.parametrize("path", ["jobs", "job/web/plan", "validate/job"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Request body is empty"),
        (b'{"Job"', "unexpected EOF"),
        ({}, "Job must be specified"),
        ({"Job": None}, "Job must be specified"),
        (
            {"Job": {"ID": "web", "Priority": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field Job.Job.Priority of type int",
        ),
        (
            {"Job": {"ID": "web", "Spreads": [{"SpreadTarget": [{"Percent": 256}]}]}},
            (
                "json: cannot unmarshal number 256 into Go struct field"
                " SpreadTarget.Job.Spreads.SpreadTarget.Percent of type uint8"
            ),
        ),
    ],
)
async def test_a_body_that_cannot_be_read_is_told_apart(api, path, body, text):
    answer = await api.put(f"/v1/{path}", body)

    assert (answer.status, answer.text) == (400, text)


async def test_unknown_keys_and_other_cases_are_taken(api):
    body = {"job": document(Sparkle=1) | {"tYPE": "sysbatch"}, "Colour": "red"}

    assert (await api.put("/v1/jobs", body)).status == 200
    assert (await api.get("/v1/job/web")).json["Type"] == "sysbatch"


@pytest.mark.parametrize(
    ("path", "job", "text"),
    [
        ("jobs", document(ID=None), "Job ID hasn't been provided"),
        ("job/web/plan", document(ID=None), "Job must have a valid ID"),
        ("job/other", document(), "Job ID does not match name"),
        ("job/other/plan", document(), "Job ID does not match"),
    ],
)
async def test_each_door_wants_its_id(api, path, job, text):
    answer = await api.put(f"/v1/{path}", {"Job": job})

    assert (answer.status, answer.text) == (400, text)


async def test_a_system_job_with_scaling_is_refused_at_registration_only(api):
    task = {"Name": "main", "Driver": "mock_driver"}
    scaled = [{"Name": "g", "Scaling": {"Min": 0, "Max": 1}, "Tasks": [task]}]
    body = {"Job": document(Type="system", TaskGroups=scaled)}

    refused = await api.put("/v1/jobs", body)

    text = "Task groups with job type system do not support scaling blocks"
    assert (refused.status, refused.text) == (400, text)
    assert (await api.put("/v1/job/web/plan", body)).status == 200
    assert (await api.put("/v1/validate/job", body)).json["ValidationErrors"] is None


@pytest.mark.parametrize(("priority", "status"), [(0, 200), (None, 200), (-1, 400), (101, 400)])
async def test_priorities_of_evaluations(api, priority, status):
    answer = await api.put("/v1/jobs", {"Job": document(), "EvalPriority": priority})

    assert answer.status == status
    if status == 400:
        assert answer.text == "Eval priority must be between 1 and 100 inclusively"


@pytest.mark.parametrize(
    ("job", "status"),
    [
        pytest.param(document(TaskGroups=[None]), 400, id="group"),
        pytest.param(document(Constraints=[None]), 400, id="constraint"),
        pytest.param(with_task(Templates=[None]), 400, id="template"),
        pytest.param(with_task(VolumeMounts=[{"Volume": "v"}]), 400, id="mount nowhere"),
        pytest.param(with_task(VolumeMounts=[{}]), 200, id="mount of nothing"),
        pytest.param(with_task(Identities=[None]), 200, id="identity"),
    ],
)
async def test_holes_in_lists(api, job, status):
    assert (await api.put("/v1/jobs", {"Job": job})).status == status


async def test_a_child_registered_as_it_was_read_is_no_child(api):
    family = document(ParameterizedJob={}, Dispatched=True, ParentID="x", Version=7)

    assert (await api.put("/v1/jobs", {"Job": family})).status == 200

    stored = (await api.get("/v1/job/web")).json
    assert (stored["Dispatched"], stored["ParentID"], stored["Version"]) == (False, "", 0)
    again = await api.put("/v1/jobs", {"Job": document(Dispatched=True)})
    text = "cannot update parameterized job to being non-parameterized"
    assert (again.status, again.text) == (400, text)


async def test_validation_looks_at_the_jobs_own_namespace_only(api):
    body = {"Job": document(), "Namespace": "nowhere"}

    answer = await api.put("/v1/validate/job", body, namespace="nowhere")

    assert (answer.status, answer.json["ValidationErrors"]) == (200, None)
    empty = await api.put("/v1/validate/job", {"Job": document(Namespace="")})
    text = 'mismatched request namespace in request: "default", ""'
    assert (empty.status, empty.text) == (400, text)


async def test_validation_wants_a_region(api):
    answer = await api.put("/v1/validate/job", {"Job": document(Region="")})

    assert answer.json["ValidationErrors"] == ["Missing job region"]
    assert (await api.put("/v1/jobs", {"Job": document(Region="")})).status == 200
