"""Deployments by HTTP: reading them, and the verbs."""

import pytest

from scheduler.state.writes.jobs import write_job
from scheduler.structs.deployment import Deployment, GroupRollout
from tests.builders import make_job
from tests.cluster.api.clients import put

ID = "dddddddd-0000-0000-0000-000000000001"


@pytest.fixture
def rollout(store):
    """A job and its running deployment."""
    deployment = Deployment(id=ID, job_id="web", task_groups={"web": GroupRollout()})
    put(store, lambda change: write_job(change, make_job()))
    put(store, lambda change: change.put_deployment(deployment))


async def test_a_deployment_is_listed_and_read(rollout, api):
    listed = await api.get("/v1/deployments", prefix="dddd")
    read = await api.get(f"/v1/deployment/{ID}")
    assert [row["ID"] for row in listed.json] == [ID] == [read.json["ID"]]
    assert (await api.get(f"/v1/deployment/allocations/{ID}")).json == []


async def test_a_pause_and_a_failure_are_answered_with_what_they_wrote(rollout, api):
    paused = await api.put(f"/v1/deployment/pause/{ID}", {"DeploymentID": ID, "Pause": True})
    failed = await api.put(f"/v1/deployment/fail/{ID}", {})
    assert (paused.json["EvalID"], bool(failed.json["EvalID"])) == ("", True)
    assert failed.json["RevertedJobVersion"] is None
    assert (await api.get(f"/v1/deployment/{ID}")).json["Status"] == "failed"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(None, "Request body is empty", id="no-body"),
        pytest.param({"All": True}, "DeploymentID must be specified", id="no-id"),
        pytest.param({"DeploymentID": "x"}, "Deployment ID does not match", id="other-id"),
    ],
)
async def test_a_promotion_must_say_what_it_means(rollout, api, body, text):
    answer = await api.put(f"/v1/deployment/promote/{ID}", body)
    assert (answer.status, answer.text.strip()) == (400, text)


async def test_a_program_without_rights_sees_and_steers_none(rollout, tenant):
    assert (await tenant.get(f"/v1/deployment/{ID}")).status == 403
    assert (await tenant.put(f"/v1/deployment/fail/{ID}", {})).status == 403


async def test_letting_a_rollout_of_one_region_go_on_writes_nothing(rollout, api):
    answer = await api.put(f"/v1/deployment/unblock/{ID}", {"DeploymentID": ID})
    assert (answer.status, answer.json["Index"], answer.json["EvalID"]) == (200, 0, "")
    assert answer.headers["X-Nomad-Index"] == "0"
