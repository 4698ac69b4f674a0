"""A field that nobody knows is refused by its path, or told; what says nothing does no harm."""

import pytest

from scheduler.state.nouns import ACL_TOKENS
from tests.cluster.jobspec.rules.places import group, job

POLICY = {"Name": "p", "Rules": 'namespace "*" { policy = "read" }'}
VOLUME = {"Name": "v", "Namespace": "default", "PluginID": "mkdir", "Requested": [1]}


def one(path, hint=""):
    return f"1 error occurred:\n\t* unknown field {path}{hint}\n\n"


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("quota", {"Name": "q", "Limts": {"CPU": 1}}, one("Limts", '. Did you mean "Limits"?')),
        (
            "quota",
            {"Name": "q", "Limits": [{"RegionLimit": {"CPUU": 5}}]},
            one("Limits[0].RegionLimit.CPUU", '. Did you mean "CPU"?'),
        ),
        ("webhook/w", {"Name": "w", "URL": "https://x.example", "Secrt": "s"},
         one("Secrt", '. Did you mean "Secret"?')),
        ("drains", {"NodeIDs": ["a"], "DrainSpec": {"Dedline": 5}},
         one("DrainSpec.Dedline", '. Did you mean "Deadline"?')),
        ("acl/token", {"Type": "client", "Policies": ["p"], "ExpiresIn": "1h"}, one("ExpiresIn")),
        ("acl/policy/p", POLICY | {"Rulez": "x"}, one("Rulez", '. Did you mean "Rules"?')),
        ("namespace", {"Name": "n", "Quotas": "q"}, one("Quotas", '. Did you mean "Quota"?')),
        ("operator/scheduler/configuration", {"PreemptionConfig": {"SystemEnabled": True}},
         one("PreemptionConfig.SystemEnabled")),
        ("var/a", {"Path": "a", "Items": {"k": "v"}, "Itemz": {"k": "v"}},
         one("Itemz", '. Did you mean "Items"?')),
        ("volume/host/create", {"Volume": VOLUME}, one("Volume.Requested")),
    ],
)  # fmt: skip
async def test_a_write_with_a_field_that_nobody_knows_is_refused_by_its_path(
    api, path, body, told
):
    index = (await api.get("/v1/namespaces")).headers["X-Nomad-Index"]
    refused = await api.put(f"/v1/{path}", body)
    assert (refused.status, refused.text) == (400, told)
    assert (await api.get("/v1/namespaces")).headers["X-Nomad-Index"] == index


async def test_all_of_them_are_named_at_once(api):
    refused = await api.put(
        "/v1/quota", {"Name": "q", "A1b2c3": 1, "Limits": [{"D4e5f6": {}, "G7": 1}]}
    )
    assert refused.text == (
        "2 errors occurred:\n\t* unknown field A1b2c3\n\t* unknown field Limits[0].G7\n\n"
    )


NODE = "00000000-0000-4000-8000-000000000001"
EVERY = {"Region": "global", "Namespace": "default", "SecretID": "s", "AuthToken": "t"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"node/{NODE}/eligibility", {"NodeID": NODE, "Eligibility": "eligible"}),
        (f"node/{NODE}/drain",
         {"NodeID": NODE, "DrainSpec": {"Deadline": 1, "IgnoreSystemJobs": True},
          "MarkEligible": True, "Meta": {"a": "b"}}),
        ("job/demo/revert",
         {"JobID": "demo", "JobVersion": 1, "EnforcePriorVersion": 1, "ConsulToken": "c",
          "VaultToken": "v"}),
        ("job/demo/stable", {"JobID": "demo", "JobVersion": 1, "Stable": True}),
        ("job/demo/versions/t/tag",
         {"JobID": "demo", "Name": "t", "Version": 1, "Description": "d"}),
        ("job/demo/evaluate", {"JobID": "demo", "EvalOptions": {"ForceReschedule": True}}),
        ("job/demo/scale",
         {"Count": 1, "Target": {"Job": "demo", "Group": "g"}, "Message": "m", "Error": False,
          "Meta": {"a": 1}, "PolicyOverride": True, "JobModifyIndex": 7}),
        ("job/demo/dispatch",
         {"JobID": "demo", "Payload": "aGk=", "Meta": {"a": "b"}, "IdPrefixTemplate": "x",
          "Priority": 60, "IdempotencyToken": "i"}),
        *((f"deployment/{verb}/{NODE}",
           {"DeploymentID": NODE, "All": True, "Groups": ["g"], "Pause": True})
          for verb in ("promote", "pause", "fail", "unblock")),
        (f"deployment/allocation-health/{NODE}",
         {"DeploymentID": NODE, "HealthyAllocationIDs": [NODE],
          "UnhealthyAllocationIDs": [NODE]}),
        (f"client/allocation/{NODE}/restart", {"AllocID": NODE, "TaskName": "t"}),
        (f"client/allocation/{NODE}/signal", {"AllocID": NODE, "Task": "t", "Signal": "HUP"}),
        *((f"var/a?{operation}",
           {"Path": "a", "Items": items,
            "Lock": {"ID": NODE, "TTL": "15s", "LockDelay": "15s"}})
          for operation, items in (("lock-acquire", {"k": "v"}), ("lock-renew", {"k": "v"}),
                                   ("lock-release", {}))),
        ("acl/login", {"AuthMethodName": "m", "LoginToken": "t"}),
        ("acl/token/onetime/exchange", {"OneTimeSecretID": "s"}),
    ],
)  # fmt: skip
async def test_the_fields_that_the_references_clients_send_are_known(api, path, body):
    told = await api.put(f"/v1/{path}", body | EVERY)
    assert "unknown field" not in told.text


@pytest.mark.parametrize("nothing", [None, False, 0, "", [], {}])
async def test_what_says_nothing_does_no_harm(api, nothing):
    body = {"Name": "team", "NewerField": nothing, "Region": "global", "ModifyIndex": 7}
    assert (await api.put("/v1/namespace", body)).status == 200


async def test_what_was_read_can_be_written_back(api, store):
    await api.put("/v1/quota", {"Name": "q", "Limits": {"CPU": 5}})
    await api.put("/v1/webhook/w", {"Name": "w", "URL": "https://x.example/", "Secret": "s"})
    await api.put("/v1/namespace", {"Name": "team", "Meta": {"a": "b"}})
    await api.put("/v1/node/pool/pool", {"Name": "pool"})
    await api.put("/v1/acl/policy/p", POLICY)
    await api.put("/v1/acl/token", {"Type": "client", "Policies": ["p"], "ExpirationTTL": "1h"})
    role = (await api.put("/v1/acl/role", {"Name": "r", "Policies": [{"Name": "p"}]})).json["ID"]
    (token,) = [
        each.accessor_id
        for each in await store.aread(lambda reader: reader.list_all(ACL_TOKENS))
        if each.policies == ("p",)
    ]
    same = ["quota/q", "webhook/w", "namespace/team", "node/pool/pool", "acl/policy/p"]
    for path in [*same, f"acl/role/{role}", f"acl/token/{token}"]:
        told = (await api.get(f"/v1/{path}")).json
        written = await api.put(f"/v1/{path}", told)
        assert (written.status, written.text) == (200, written.text), path
    settings = (await api.get("/v1/operator/scheduler/configuration")).json["SchedulerConfig"]
    assert (await api.put("/v1/operator/scheduler/configuration", settings)).status == 200


async def test_of_a_job_they_are_told_as_a_warning(api):
    document = job(TaskGroups=[group(Countt=3)]) | {"Prioritty": 7}
    told = "Not carried out: unknown fields Job.TaskGroups[0].Countt, Job.Prioritty"
    body = {"Job": document, "EnforceIndx": True}
    ignored = "Not carried out: unknown field EnforceIndx"
    for path in ("job/demo/plan", "jobs"):
        answer = await api.put(f"/v1/{path}", body)
        assert answer.status == 200
        assert [line for line in (told, ignored) if line not in answer.json["Warnings"]] == []
    assert told in (await api.put("/v1/validate/job", body)).json["Warnings"]
