"""Registering, planning and validating name what of a job is not carried out."""

import pytest

from tests.cluster.jobspec.rules.places import group, job, task

ARTIFACT = (
    'Not carried out: artifact.source of task "g.t": only sources of http, https, git are fetched,'
    " so a real node fails the task before it starts"
)
OLD_FIELD = (
    'Not carried out: max_client_disconnect of group "g": it is dropped, as the reference does;'
    " the disconnect block says it now"
)
DELAY = (
    'group "g" defines services, but neither the group nor any of its tasks have'
    " shutdown_delay set"
)
TAGGED = (
    'Not carried out: service.meta of group "g": kept with the job; the provider `nomad` stores'
    " none of it"
)


def document(**fields):
    parts = group(Tasks=[task(Artifacts=[{"GetterSource": "s3::https://x/y"}])])
    return job(TaskGroups=[parts | fields])


def told(*warnings):
    head = "1 warning:" if len(warnings) == 1 else f"{len(warnings)} warnings:"
    return head + "\n\n" + "\n".join(f"* {text}" for text in warnings)


async def answers_to(api, body):
    """The warnings of validating, planning and registering, in this order."""
    return [
        (await api.put("/v1/validate/job", body)).json["Warnings"],
        (await api.put("/v1/job/demo/plan", body)).json["Warnings"],
        (await api.put("/v1/jobs", body)).json["Warnings"],
    ]


async def test_what_is_not_carried_out_is_named_at_every_door(api):
    assert await answers_to(api, {"Job": document()}) == [told(ARTIFACT)] * 3


async def test_the_references_own_warnings_come_first(api):
    served = {"Name": "s", "Provider": "nomad", "PortLabel": "p", "Meta": {"a": "b"}}
    network = {"DynamicPorts": [{"Label": "p"}]}
    body = {"Job": document(Services=[served], Networks=[network])}
    assert await answers_to(api, body) == [told(DELAY, ARTIFACT, TAGGED)] * 3


async def test_also_the_one_about_a_text_that_is_too_long(api):
    body = {"Job": document(), "Submission": {"Source": "x" * 2_000_000, "Format": "hcl2"}}
    answer = await api.put("/v1/jobs", body)
    dropped = "job source size of 2.0 MB exceeds maximum of 1.0 MB and will be discarded"
    assert answer.json["Warnings"] == told(dropped, ARTIFACT)


async def test_a_field_that_is_dropped_is_named_too(api):
    body = {"Job": document(MaxClientDisconnect=10**9)}
    assert await answers_to(api, body) == [told(ARTIFACT, OLD_FIELD)] * 3


@pytest.mark.parametrize("path", ["/v1/validate/job", "/v1/jobs"])
async def test_a_job_that_gets_all_it_asks_for_is_not_warned_about(api, path):
    answer = await api.put(path, {"Job": job()})
    assert answer.json["Warnings"] == ""
