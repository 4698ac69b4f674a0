"""Answers have the shapes of recorded ones: same keys, same JSON types, same index headers."""

import json
import re

import pytest
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.scaling_policies import with_policy_ids
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import name_version, write_job
from scheduler.state.writes.scaling import record_scaling
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import (
    ClientStatus,
    DeploymentHealth,
    NetworkStatus,
    TaskEvent,
    TaskState,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import VersionTag
from scheduler.structs.node import (
    DrainStrategy,
    DriverInfo,
    HostVolume,
    LastDrain,
    NodeEvent,
    NodeStatus,
)
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from scheduler.structs.scaling import ScalingEvent
from tests.builders import CountingIDs, make_allocation, make_evaluation, make_node
from tests.cluster.api.clients import NOW, document, put
from tests.cluster.api.shape_match import differences
from tests.vector_files import VECTORS

SHAPES = json.loads((VECTORS / "cli" / "shapes.json").read_text("utf-8"))

NODE = make_node(1).id
SECOND_NODE = make_node(2).id
ALLOC = "bbbbbbbb-0000-0000-0000-000000000001"
EVAL = "cccccccc-0000-0000-0000-000000000001"
#: The first that counting gives.
POLICY = "00000000-0000-0000-0000-000000000001"

TWICE = parse_job(document(ID="twice"))
RICH = document(
    Type="service",
    Meta={"owner": "team"},
    Constraints=[{"LTarget": "${attr.kernel.name}", "RTarget": "linux", "Operand": "="}],
    TaskGroups=[
        {
            "Name": "web",
            "Count": 1,
            "Networks": [{"DynamicPorts": [{"Label": "http"}]}],
            "Scaling": {"Max": 4, "Policy": {"cooldown": "1m"}},
            "Services": [
                {
                    "Name": "web",
                    "PortLabel": "http",
                    "Provider": "nomad",
                    "Tags": ["a"],
                    "Checks": [
                        {
                            "Type": "http",
                            "Path": "/",
                            "Interval": 10_000_000_000,
                            "Timeout": 2_000_000_000,
                        }
                    ],
                }
            ],
            "Volumes": {"data": {"Type": "host", "Source": "data"}},
            "Tasks": [
                {
                    "Name": "web",
                    "Driver": "mock_driver",
                    "Config": {"run_for": "10s", "args": ["a"]},
                    "Env": {"A": "b"},
                    "Templates": [{"EmbeddedTmpl": "x", "DestPath": "local/x"}],
                    "Actions": [{"Name": "hello", "Command": "/bin/echo", "Args": ["hi"]}],
                }
            ],
        }
    ],
)


def fill(change):
    job = write_job(change, with_policy_ids(parse_job(RICH), None, CountingIDs()))
    record_scaling(
        change,
        ScalingEvent(
            job_id="web", task_group="web", count=1, meta={"why": "load"}, eval_id=EVAL,
            create_index=change.index,
        ),
    )  # fmt: skip
    write_job(change, replace(TWICE, priority=60))
    index = change.index
    started = NodeEvent(message="Node registered", subsystem="Cluster", timestamp=NOW)
    for number in (1, 2):
        put_found(
            change,
            make_node(
                number,
                events=(started,),
                http_addr="10.0.0.1:4646",
                drivers={"mock_driver": DriverInfo(detected=True, update_time=NOW)},
                host_volumes={"data": HostVolume(name="data", path="/data")},
                last_drain=LastDrain(started_at=NOW, updated_at=NOW, status="complete"),
                drain_strategy=DrainStrategy(started_at=NOW) if number == 2 else None,
                create_index=index,
                modify_index=index,
            ),
        )
    state = TaskState(
        state="running",
        started_at=NOW,
        events=(TaskEvent(type="Started", time=NOW, details={"a": "b"}),),
    )
    put_found(
        change,
        make_allocation(
            job,
            id=ALLOC,
            eval_id=EVAL,
            client_status=ClientStatus.RUNNING,
            task_states={"web": state},
            deployment_status=DeploymentHealth(healthy=True, timestamp=NOW),
            network_status=NetworkStatus(address="10.0.0.1"),
            metrics=AllocMetric(
                nodes_available={"dc1": 2},
                score_meta_data=(NodeScore(node_id=NODE, scores={"binpack": 0.5}),),
            ),
            job_version=job.version,
            job_create_index=job.create_index,
            create_index=index,
            modify_index=index,
            alloc_modify_index=index,
            create_time=NOW,
            modify_time=NOW,
        ),
    )
    rollout = Deployment(
        id="dddddddd-0000-0000-0000-000000000001",
        job_id="web",
        job_create_index=job.create_index,
        status=DeploymentStatus.SUCCESSFUL,
        task_groups={"web": GroupRollout(desired_total=1)},
    )
    put_found(change, rollout)
    desired = PlanAnnotations(desired_updates={"web": DesiredUpdates(place=1)})
    done = make_evaluation(
        1,
        id=EVAL,
        status=EvalStatus.COMPLETE,
        plan_annotations=desired,
        blocked_eval="cccccccc-0000-0000-0000-000000000002",
        queued_allocations={"web": 1},
        snapshot_index=index,
        failed_task_groups={"web": AllocMetric(nodes_evaluated=2)},
        create_time=NOW,
        modify_time=NOW,
    )
    put_found(change, done)
    put_found(
        change,
        make_evaluation(
            2,
            status=EvalStatus.BLOCKED,
            previous_eval=EVAL,
            class_eligibility={"v1:1": True},
            snapshot_index=index,
            create_time=NOW,
            modify_time=NOW,
        ),
    )


@pytest.fixture
def filled(store, api):
    """A small cluster with one of everything."""
    put(store, fill_versions)
    put(store, fill)
    return api


def fill_versions(change):
    """The first of two versions, tagged; and a job to dispatch."""
    write_job(change, TWICE)
    name_version(change, TWICE.key, 0, VersionTag(name="first"))
    write_job(change, parse_job(document(ID="etl", Type="batch", ParameterizedJob={})))


READS = [
    ("agent/self", {}),
    ("agent/health", {}),
    ("agent/members", {}),
    ("agent/servers", {}),
    ("agent/schedulers/config", {}),
    (f"allocation/{ALLOC}", {}),
    ("allocations", {"resources": "true"}),
    ("deployments", {}),
    (f"evaluation/{EVAL}", {"related": "true"}),
    (f"evaluation/{EVAL}/allocations", {}),
    ("evaluations", {}),
    ("evaluations/count", {}),
    ("job/web", {}),
    ("job/web/actions", {}),
    ("job/web/allocations", {}),
    ("job/web/deployment", {}),
    ("job/web/deployments", {}),
    ("job/web/evaluations", {}),
    ("job/web/summary", {}),
    ("job/web/versions", {"diffs": "true"}),
    ("job/web/scale", {}),
    ("jobs", {"meta": "true"}),
    ("jobs/statuses", {}),
    ("namespace/default", {}),
    ("namespaces", {}),
    ("node/pool/default", {}),
    ("node/pools", {}),
    (f"node/{NODE}", {}),
    (f"node/{NODE}/allocations", {}),
    ("nodes", {"resources": "true", "os": "true"}),
    ("operator/scheduler/configuration", {}),
    ("regions", {}),
    ("scaling/policies", {}),
    (f"scaling/policy/{POLICY}", {}),
    ("status/leader", {}),
    ("status/peers", {}),
]

WRITES = [
    ("PUT", "jobs", {"Job": RICH}),
    ("PUT", "job/web/plan", {"Job": RICH, "Diff": True}),
    ("PUT", "job/web/evaluate", None),
    ("PUT", "job/web/scale", {"Count": 2, "Target": {"Group": "web"}}),
    ("PUT", "job/etl/dispatch", {"Payload": "aGk="}),
    ("PUT", "job/twice/revert", {"JobID": "twice", "JobVersion": 0}),
    ("PUT", "job/twice/stable", {"JobID": "twice", "JobVersion": 0, "Stable": True}),
    ("PUT", "job/twice/versions/good/tag", {"Version": 1, "Description": "d"}),
    ("DELETE", "job/twice/versions/first/tag", None),
    ("DELETE", "job/web", None),
    ("PUT", "validate/job", {"Job": RICH}),
    ("POST", "jobs/statuses", {"Jobs": [{"id": "web", "namespace": "default"}]}),
    ("PUT", "search", {"Prefix": "", "Context": "all"}),
    ("PUT", "search/fuzzy", {"Text": "we", "Context": "all"}),
    ("PUT", f"allocation/{ALLOC}/stop", None),
    ("PUT", f"node/{NODE}/drain", {"DrainSpec": {"Deadline": 1}, "Meta": {"why": "test"}}),
    ("PUT", f"node/{SECOND_NODE}/drain", {"DrainSpec": None, "MarkEligible": True}),
    ("PUT", f"node/{NODE}/eligibility", {"Eligibility": "ineligible"}),
    ("PUT", f"node/{NODE}/evaluate", None),
    ("PUT", "operator/scheduler/configuration", {"SchedulerAlgorithm": "spread"}),
]


def shape_of(method, path):
    """The recorded shape of a request, by its path template."""
    template = path
    for actual in (ALLOC, EVAL, NODE, SECOND_NODE, POLICY):
        template = template.replace(actual, "{id}")
    template = re.sub("job/(web|etl|twice)", "job/{job}", template)
    template = re.sub("versions/.*/tag", "versions/{tag}/tag", template)
    if not template.startswith("validate"):
        template = template.replace("namespace/default", "namespace/{name}")
    template = template.replace("pool/default", "pool/{name}")
    return SHAPES[f"{method} /v1/{template}"]


def index_headers(answer):
    return sorted(name.title() for name in answer.headers if name.title().startswith("X-Nomad-"))


@pytest.mark.parametrize(("path", "query"), READS, ids=[path for path, _ in READS])
async def test_what_is_read_has_the_recorded_shape(filled, path, query):
    answer = await filled.get(f"/v1/{path}", **query)

    recorded = shape_of("GET", path)
    assert answer.status == 200
    assert differences(recorded["Response"], answer.json) == []
    expected = [name for name in recorded["Headers"] if name != "X-Nomad-Nexttoken"]
    assert index_headers(answer) == expected


@pytest.mark.parametrize(
    ("method", "path", "body"), WRITES, ids=[f"{method}-{path}" for method, path, _ in WRITES]
)
async def test_what_is_written_is_answered_in_the_recorded_shape(filled, method, path, body):
    answer = await filled.send(method, f"/v1/{path}", body)

    recorded = shape_of(method, path)
    assert answer.status == 200, answer.text
    assert differences(recorded["Response"], answer.json) == []
    assert index_headers(answer) == recorded["Headers"]


async def test_lists_hold_something_here(filled):
    for path in ("allocations", "evaluations", "jobs", "nodes", f"node/{NODE}/allocations"):
        assert (await filled.get(f"/v1/{path}")).json != []


async def test_an_allocation_carries_its_job_and_the_older_resource_fields(filled):
    allocation = (await filled.get(f"/v1/allocation/{ALLOC}")).json

    resources = allocation["TaskResources"]["web"]
    assert allocation["Job"]["ID"] == "web"
    assert (resources["CPU"], resources["MemoryMB"]) == (100, 300)
    assert allocation["Resources"]["CPU"] == 100
    assert allocation["SharedResources"]["DiskMB"] == 300
    assert allocation["TaskStates"]["web"]["StartedAt"] == "2025-06-15T15:06:40Z"
    assert allocation["TaskStates"]["web"]["FinishedAt"] is None


async def test_a_nodes_secret_never_leaves(filled, store):
    leaked = make_node(3, secret_id="hash-of-a-secret", status=NodeStatus.READY)
    await store.awrite_call(put, lambda change: put_found(change, leaked))

    answer = await filled.get(f"/v1/node/{leaked.id}")

    assert answer.json["SecretID"] == ""
    assert "hash-of-a-secret" not in answer.text
    assert "hash-of-a-secret" not in (await filled.get("/v1/nodes", resources="true")).text


async def test_stubs_drop_what_was_not_asked_for(filled):
    plain = (await filled.get("/v1/allocations", task_states="false")).json[0]
    node = (await filled.get("/v1/nodes")).json[0]

    assert plain["TaskStates"] is None
    assert "AllocatedResources" not in plain
    assert {"NodeResources", "Attributes"}.isdisjoint(node)


async def test_relatives_of_an_evaluation_are_found_over_any_link(filled):
    answer = await filled.get(f"/v1/evaluation/{EVAL}", related="true")
    plain = await filled.get(f"/v1/evaluation/{EVAL}")

    ids = [related["ID"] for related in answer.json["RelatedEvals"]]
    assert ids == ["cccccccc-0000-0000-0000-000000000002"]
    assert "RelatedEvals" not in plain.json
