"""What Go programs ask by the reference's own client: its headers, spellings and bodies.

The client itself was run against Bivouac; what it does and wants is kept here, so that it is held
without it (`tests/live/go_client.py`). Streams and terminals are beside.
"""

import base64
import hashlib
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.live.go_bodies import go_batch, go_job, registration
from tests.live.go_client import GoClient, Unexpected
from tests.live.world import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

NOBODY = "00000000-0000-0000-0000-000000000000"
#: What its encoder writes otherwise in a body, and what a path carries as it is or as a code.
JOB = "go<habits>&"
PATH = "go%3Chabits%3E&"


@pytest.fixture(scope="module")
def go(world):
    world.open(world.node("first"))
    client = GoClient(world.stack.address, world.stack.token)
    yield client
    client.close()


@pytest.fixture(scope="module")
def job(go):
    """The name of a job, as a path carries it, of which one allocation runs."""
    body = registration(go_job(JOB, "sleep 3600"))
    told, meta = go.put("/v1/jobs", body)
    assert meta.index == told["Index"] >= told["JobModifyIndex"] > 0

    def has_ended():
        rollout = go.query(f"/v1/job/{PATH}/deployment")[0]
        return rollout is not None and rollout["Status"] == "successful"

    until(has_ended, "its first rollout", 60)
    yield PATH
    go.delete(f"/v1/job/{PATH}?purge=true&global=false&eval_priority=0&no_shutdown_delay=false")


def refused(call, status):
    with pytest.raises(Unexpected) as raised:
        call()
    assert raised.value.status == status, raised.value
    return raised.value.body


def test_a_job_is_planned_checked_and_kept_as_it_was_given(go, job):
    given = go_job(JOB, "sleep 3601")
    plan, _ = go.put(f"/v1/job/{job}/plan", {"Job": given, "Diff": True, "PolicyOverride": False})
    assert plan["Diff"]["Type"] == "Edited"
    checked, _ = go.put("/v1/validate/job", {"Job": given} | {"Region": "", "SecretID": ""})
    assert (checked["Error"], checked["ValidationErrors"]) == ("", None)
    kept, meta = go.query(f"/v1/job/{job}", stale=True)
    assert (kept["ID"], kept["TaskGroups"][0]["Count"]) == (JOB, 1)
    assert (meta.has_leader, meta.contact_ms) == (True, 0)
    # What was nil stays nil, or has its default: never an empty text.
    assert kept["VersionTag"] is kept["Periodic"] is kept["Multiregion"] is None
    enforced = registration(given, EnforceIndex=True, JobModifyIndex=1)
    assert "Enforcing job modify index" in refused(lambda: go.put("/v1/jobs", enforced), 400)
    assert refused(lambda: go.query("/v1/job/nope"), 404) == "job not found"


def test_a_read_waits_for_what_is_newer(go, job):
    _, first = go.query(f"/v1/job/{job}")
    began = time.monotonic()
    _, again = go.query(f"/v1/job/{job}", wait_index=first.index, wait_s=0.4)
    assert 0.35 < time.monotonic() - began < 20
    assert again.index == first.index
    began = time.monotonic()
    _, newer = go.query(f"/v1/job/{job}", wait_index=first.index - 1, wait_s=60, stale=True)
    assert (newer.index, time.monotonic() - began < 20) == (first.index, True)
    assert refused(lambda: go.query("/v1/jobs", params={"wait": "soon"}), 400)


def test_lists_come_in_pages_filtered_and_never_as_null(go, job):
    for name in ("go-page-1", "go-page-2", "go-page-3"):
        go.put("/v1/jobs", registration(go_batch(name, Periodic=_yearly())))
    first, meta = go.query("/v1/jobs", prefix="go-page", per_page=2, params={"meta": "true"})
    rest, last = go.query("/v1/jobs", prefix="go-page", per_page=2, next_token=meta.next_token)
    assert [each["ID"] for each in first + rest] == ["go-page-1", "go-page-2", "go-page-3"]
    assert (bool(meta.next_token), last.next_token) == (True, "")
    some, _ = go.query("/v1/jobs", filter='ID matches "go-page-[12]"', reverse=True)
    assert [each["ID"] for each in some] == ["go-page-2", "go-page-1"]
    assert refused(lambda: go.query("/v1/jobs", filter="ID = "), 400)
    for path in ("jobs", "allocations", "evaluations", "deployments", "services", "volumes"):
        assert go.query(f"/v1/{path}", namespace="nobodys")[0] == []
    assert go.query("/v1/volumes?type=csi")[0] == go.query("/v1/plugins?type=csi")[0] == []
    for name in ("go-page-1", "go-page-2", "go-page-3"):
        go.delete(f"/v1/job/{name}?purge=true")


def _yearly():
    return {
        "Enabled": True, "Spec": "0 0 1 1 *", "Specs": None, "SpecType": "cron",
        "ProhibitOverlap": None, "TimeZone": None,
    }  # fmt: skip


def test_a_name_with_a_slash_and_a_payload(go):
    go.put("/v1/jobs", registration(go_batch("go-yearly", Periodic=_yearly())))
    go.put("/v1/job/go-yearly/periodic/force")
    taken = {"Payload": "optional", "MetaRequired": None, "MetaOptional": ["a"]}
    go.put("/v1/jobs", registration(go_batch("go-sent", ParameterizedJob=taken)))
    body = {
        "JobID": "go-sent", "Meta": {"a": "1"}, "IdPrefixTemplate": "", "Priority": 0,
        "Payload": base64.b64encode(b"payload").decode(),
    }  # fmt: skip
    sent, _ = go.put("/v1/job/go-sent/dispatch", body)
    child = sent["DispatchedJobID"].replace("/", "%2F")
    assert go.query(f"/v1/job/{child}")[0]["Payload"] == body["Payload"]
    assert go.query(f"/v1/job/{child}/allocations")[0] is not None
    # The one address for which its client leaves a slash as it is.
    assert go.query(f"/v1/job/{sent['DispatchedJobID']}/services")[0] == []
    for name in ("go-yearly", "go-sent"):
        for each in go.query("/v1/jobs", prefix=f"{name}/")[0]:
            go.delete(f"/v1/job/{each['ID'].replace('/', '%2F')}?purge=true")
        go.delete(f"/v1/job/{name}?purge=true")


def test_versions_and_what_is_done_with_them(go, job):
    go.put("/v1/jobs", registration(go_job(JOB, "sleep 3600", Meta={"v": "2"})))
    told, _ = go.query(f"/v1/job/{job}/versions?diff_tag=&diff_version=0&diffs=true")
    assert [each["Version"] for each in told["Versions"]] == [1, 0]
    assert told["Diffs"][0]["Type"] == "Edited"
    back = {"JobID": JOB, "JobVersion": 0, "EnforcePriorVersion": None}
    assert go.put(f"/v1/job/{job}/revert", back)[0]["EvalID"]
    go.put(f"/v1/job/{job}/stable", {"JobID": JOB, "JobVersion": 0, "Stable": True})
    tag = {"Version": 0, "Description": "d"}
    go.put(f"/v1/job/{job}/versions/golden/tag", tag, out=False)
    go.delete(f"/v1/job/{job}/versions/golden/tag", out=False)
    evaluation = go.put(f"/v1/job/{job}/evaluate")[0]["EvalID"]
    assert "RelatedEvals" in go.query(f"/v1/evaluation/{evaluation}?related=true")[0]
    missing = refused(lambda: go.query(f"/v1/job/{job}/submission?version=0"), 404)
    assert missing == "job source not found"
    for path in ("summary", "evaluations", "deployments?all=true", "allocations?all=true"):
        assert go.query(f"/v1/job/{job}/{path}")[0]


def test_an_autoscaler_follows_policies_and_scales(go, job):
    def ask(**fields):
        target = {"Job": JOB, "Group": "g"}
        plain = {"Count": None, "Error": False, "Meta": None, "Message": "", "Region": "",
                 "PolicyOverride": False, "JobModifyIndex": 0, "Target": target}  # fmt: skip
        return go.put(f"/v1/job/{job}/scale", {**plain, **fields})[0]

    listed, _ = go.query("/v1/scaling/policies", namespace="*")
    (policy,) = (each for each in listed if each["Target"]["Job"] == JOB)
    read, meta = go.query(f"/v1/scaling/policy/{policy['ID']}")
    assert (read["Min"], read["Max"], read["Policy"]) == (1, 5, {"cooldown": "1m"})
    assert go.query(f"/v1/scaling/policy/{policy['ID']}", wait_index=meta.index, wait_s=0.2)
    assert refused(lambda: go.query(f"/v1/scaling/policy/{NOBODY}"), 404) == "policy not found"
    until(lambda: _is_calm(go, job), "no rollout in its way", 60)
    why = {"nomad_autoscaler.reason.prev": 1, "ratio": 1.5}
    scaled = ask(Count=2, Message="scaling up because metric is 1.5", Meta=why)
    assert scaled["EvalID"]
    assert ask(Error=True, Message="no metrics")["EvalID"] == ""
    body = {"Count": 100, "Target": {"Group": "g"}}
    assert refused(lambda: go.put(f"/v1/job/{job}/scale", body), 400)
    status, _ = go.query(f"/v1/job/{job}/scale")
    group = status["TaskGroups"]["g"]
    assert (group["Desired"], group["Events"][1]["Meta"]) == (2, why)
    assert refused(lambda: go.query("/v1/recommendations"), 501)


def _is_calm(go, job):
    return go.query(f"/v1/job/{job}/deployment")[0]["Status"] == "successful"


def test_nodes_are_read_closed_and_named(go, world):
    listed, _ = go.query("/v1/nodes", params={"resources": "true", "os": "true"})
    node = next(each for each in listed if each["Name"] == "first")
    assert node["NodeResources"]["Memory"]["MemoryMB"] > 0
    ident = node["ID"]
    assert go.query("/v1/nodes", prefix=ident[:8])[0][0]["ID"] == ident
    assert go.query(f"/v1/node/{ident}/allocations")[0] is not None
    assert go.query(f"/v1/client/stats?node_id={ident}")[0]["Memory"]["Total"] > 0
    go.put(f"/v1/node/{ident}/evaluate")
    for eligibility in ("ineligible", "eligible"):
        asked = {"NodeID": ident, "Eligibility": eligibility}
        assert go.put(f"/v1/node/{ident}/eligibility", asked)[0]["Index"] > 0
    meta = {"NodeID": ident, "Meta": {"go": "yes"}}
    assert go.post("/v1/client/metadata", meta)[0]["Meta"]["go"] == "yes"
    go.post("/v1/client/metadata", {"NodeID": ident, "Meta": {"go": None}})
    assert "go" not in go.query("/v1/client/metadata", params={"node_id": ident})[0]["Meta"]
    # Nothing is decoded: an answer with a body would be an error there.
    assert go.query(f"/v1/client/gc?node_id={ident}", out=False)[0] is None
    assert go.query("/v1/agent/host", params={"node_id": ident})[0]["AgentID"]


def test_variables_conflict_and_lock(go):
    mine = {"namespace": "go-ns"}
    go.put("/v1/namespace", {"Name": "go-ns", "Description": "", "Quota": ""}, out=False)
    made = {
        "Namespace": "go-ns", "Path": "go/var", "CreateIndex": 0, "ModifyIndex": 0,
        "CreateTime": 0, "ModifyTime": 0, "Items": {"k": "a & <b>"},
    }  # fmt: skip
    read, _ = go.put("/v1/var/go/var", made, **mine)
    assert read["Items"] == made["Items"]
    conflict, _ = go.put("/v1/var/go/var?cas=0", made, takes=(200, 204, 409), **mine)
    assert conflict["ModifyIndex"] == read["ModifyIndex"]
    assert go.query("/v1/vars", prefix="go/", **mine)[0][0]["Path"] == "go/var"
    missing = refused(lambda: go.query("/v1/var/go/nope", **mine), 404)
    assert "variable not found" in missing
    lock = {**made, "Path": "go/lock", "Items": {}, "Lock": {"TTL": "15s", "LockDelay": "1s"}}
    held, _ = go.put("/v1/var/go/lock?lock-acquire", lock, **mine)
    lock["Lock"]["ID"] = held["Lock"]["ID"]
    assert go.put("/v1/var/go/lock?lock-renew", lock, **mine)[0]["Path"] == "go/lock"
    assert go.put("/v1/var/go/lock?lock-release", lock, **mine)[0]["Path"] == "go/lock"
    for path in ("go/lock", "go/var"):
        go.delete(f"/v1/var/{path}", takes=(200, 204), out=False, **mine)
    go.delete("/v1/namespace/go-ns", out=False)


def test_a_token_works_in_either_header_and_only_as_far_as_its_policy(go, world):
    rules = 'namespace "default" { policy = "read" }'
    policy = {"Name": "go-reads", "Description": "", "Rules": rules, "JobACL": None}
    go.put("/v1/acl/policy/go-reads", policy | {"CreateIndex": 0, "ModifyIndex": 0}, out=False)
    wanted = {
        "AccessorID": "", "SecretID": "", "Name": "go", "Type": "client", "Roles": None,
        "Policies": ["go-reads"], "Global": False, "ExpirationTTL": "1h0m0s", "CreateIndex": 0,
        "CreateTime": "0001-01-01T00:00:00Z", "ModifyIndex": 0,
    }  # fmt: skip
    token, _ = go.put("/v1/acl/token", wanted)
    bearer = {"Authorization": f"Bearer {token['SecretID']}"}
    body = registration(go_job("go-never", "true"))
    for client in (
        GoClient(world.stack.address, token["SecretID"]),
        GoClient(world.stack.address, headers=bearer),
    ):
        assert client.query("/v1/jobs")[0] is not None
        assert refused(lambda to=client: to.put("/v1/jobs", body), 403) == "Permission denied"
        client.close()
    basic = GoClient(world.stack.address, headers={"Authorization": "Basic Z286Z28="})
    assert refused(lambda: basic.query("/v1/jobs"), 403) == "Permission denied"
    basic.close()
    go.delete(f"/v1/acl/token/{token['AccessorID']}", out=False)
    go.delete("/v1/acl/policy/go-reads", out=False)


def test_a_cluster_is_searched_looked_after_and_saved(world, go, job):
    asked = {"Prefix": "go", "Context": "jobs"}
    found, _ = go.put("/v1/search", asked)
    assert JOB in found["Matches"]["jobs"]
    fuzzy, _ = go.put("/v1/search/fuzzy", {"Text": "<habits>", "Context": "all"})
    assert JOB in [each["ID"] for each in fuzzy["Matches"]["jobs"]]
    config, _ = go.query("/v1/operator/scheduler/configuration")
    held = config["SchedulerConfig"]
    done, _ = go.put(f"/v1/operator/scheduler/configuration?cas={held['ModifyIndex']}", held)
    assert done["Updated"]
    # A leader that another test has made new has yet to hear of the others.
    until(
        lambda: httpx.get(f"{world.stack.address}/v1/agent/health").is_success,
        "a healthy server",
        30,
    )
    for path in ("operator/raft/configuration", "operator/autopilot/health", "status/peers",
                 "agent/self", "agent/members", "agent/health", "regions", "metrics"):  # fmt: skip
        assert go.query(f"/v1/{path}", params={"stale": ""})[0]
    go.put("/v1/system/gc", {}, out=False)
    go.put("/v1/system/reconcile/summaries", {}, out=False)
    with go.raw("/v1/operator/snapshot") as answer:
        content = answer.read()
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        assert answer.headers["Digest"] == f"sha-256={digest}"
    # A file's length is not known to it, so that the body comes in pieces; a wrong one is refused.
    whole = (content[at : at + 4096] for at in range(0, len(content) - 4096, 4096))
    assert "snapshot" in refused(lambda: go.send("/v1/operator/snapshot", whole), 500)


def test_an_exporter_walks_all_there_is(go, job):
    """As exporters do each quarter of a minute: every list, and of each item what it holds."""
    servers = go.query("/v1/operator/raft/configuration", stale=True)[0]["Servers"]
    assert go.query("/v1/status/leader")[0] in [each["Address"] for each in servers]
    assert [each["Status"] for each in go.query("/v1/agent/members")[0]["Members"]] == ["alive"]
    for node in go.query("/v1/nodes")[0]:
        assert go.query(f"/v1/node/{node['ID']}")[0]["NodeResources"]["Cpu"]["CpuShares"] > 0
        go.query(f"/v1/node/{node['ID']}/allocations")
    for each in go.query("/v1/jobs", namespace="*")[0]:
        assert each["JobSummary"]["Summary"] is not None
    read = 0
    for alloc in go.query("/v1/allocations", filter='ClientStatus == "running"')[0]:
        usage, _ = go.query(f"/v1/client/allocation/{alloc['ID']}/stats")
        read += usage["ResourceUsage"]["MemoryStats"]["RSS"] >= 0
    assert read > 0
    for path in ("evaluations", "deployments", "scaling/policies"):
        assert go.query(f"/v1/{path}", namespace="*", per_page=5)[0] is not None


def test_prometheus_reads_the_metrics_as_it_asks_for_them(world):
    """The headers of its scrape; the text is parsed by its own library."""
    accepted = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5"
    headers = {
        "Accept": accepted, "Accept-Encoding": "gzip", "User-Agent": "Prometheus/2.42.0",
        "X-Prometheus-Scrape-Timeout-Seconds": "10",
        "Authorization": f"Bearer {world.stack.token}",
    }  # fmt: skip
    address = f"{world.stack.address}/v1/metrics"
    told = httpx.get(address, params={"format": "prometheus"}, headers=headers)
    assert told.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert told.headers["Content-Encoding"] == "gzip"
    families = {each.name: each for each in text_string_to_metric_families(told.text)}
    assert families["bivouac_leader_present"].samples[0].value == 1
    assert families["nomad_nomad_broker_wait_time"].type == "summary"
    nodes = families["nomad_client_allocated_cpu"].samples
    assert {each.labels["node_status"] for each in nodes} >= {"ready"}


def test_large_answers_are_compressed_and_small_ones_say_their_length(go, job):
    with go.raw("/v1/openapi.json") as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.read(2) == b"\x1f\x8b"
    with go.raw("/v1/regions") as answer:
        assert answer.headers["Content-Length"] == str(len(answer.read()))
    for path in ("agent/pprof/profile", "recommendations", "sentinel/policies"):
        assert refused(lambda at=path: go.query(f"/v1/{at}"), 501)
