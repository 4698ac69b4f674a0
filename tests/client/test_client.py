"""The typed client against a real web process: values, pages, waits, streams, errors."""

import inspect
import itertools
import threading
import typing

import httpx
import msgspec
import pytest

from bivouac.client import (
    Answer,
    AsyncClient,
    BivouacError,
    Client,
    Conflict,
    NotAllowed,
    NotBuilt,
    NotFound,
    Refused,
    Unreachable,
    ask,
)
from bivouac.client.decode import decode, instant, span
from bivouac.client.errors import Away, ServerFault, TooMany, refusal
from bivouac.client.exchange import answer_of
from cluster.api.encode import instant_text
from cluster.runtime.embedded import free_port
from scheduler.structs.job import Job, Namespace
from scheduler.structs.node import NodeEligibility
from scheduler.structs.task_group import Task, TaskGroup
from tests.cluster.api.conformance import document
from tests.cluster.api.test_shapes import ALLOC, EVAL, NODE, SECOND_NODE


@pytest.fixture
def client(served):
    address, secret = served
    with Client(address, token=secret) as found:
        yield found


def job(job_id, **fields):
    task = Task(name="main", driver="mock_driver")
    group = TaskGroup(name="main", count=1, tasks=(task,))
    return Job(id=job_id, name=job_id, type="batch", task_groups=(group,), **fields)


ARGUMENTS = {
    "job": job("a"), "namespace": Namespace(name="team"), "group": "web", "count": 1, "version": 0,
    "items": {"a": "b"}, "text": 'job "a" {}', "method": "GET", "below_v1": "jobs",
    "eligible": True,
}  # fmt: skip
REQUESTS = {
    name: function
    for name, function in inspect.getmembers(ask, inspect.isfunction)
    if function.__module__ == ask.__name__ and name != "plain"
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_is_one_of_the_document(name):
    """By path, method, parameters and the fields of its body."""
    function = REQUESTS[name]
    needed = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty
    ]
    request = function(**{each: ARGUMENTS.get(each, "x") for each in needed})

    found = [
        (path, item[request.method.lower()])
        for path, item in document()["paths"].items()
        if request.method.lower() in item and _is_of(path, f"/v1/{request.path}")
    ]
    path, operation = max(found, key=lambda each: each[0].count("/") * 100 - each[0].count("{"))
    known = {each["$ref"].rpartition("/")[2] for each in operation["parameters"]}
    optional = set(inspect.signature(function).parameters) & {
        "prefix", "filter", "meta", "job", "status", "purge", "cas",
    }  # fmt: skip
    if request.method == "GET" or name in {"deregister_job", "write_variable"}:
        assert optional - {"job"} <= known, path
    assert set(request.query) <= known, path
    if isinstance(request.body, dict) and "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        schema = content["schema"]
        while "$ref" in schema:
            schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert set(request.body) <= set(schema["properties"]), path
        assert set(schema.get("required", ())) <= set(request.body), path


def _is_of(path, address):
    here, there = path.split("/"), address.split("/")
    return len(here) == len(there) and all(
        one == other or one.startswith("{") for one, other in zip(here, there, strict=True)
    )


READS = {
    "job": ask.read_job("web"),
    "jobs": ask.list_jobs(meta=True),
    "summary": ask.job_summary("web"),
    "versions": ask.job_versions("twice"),
    "allocations of a job": ask.job_allocations("web"),
    "evaluations of a job": ask.job_evaluations("web"),
    "deployments of a job": ask.job_deployments("web"),
    "evaluation": ask.read_evaluation(EVAL),
    "evaluations": ask.list_evaluations(job="web"),
    "lifecycle": ask.evaluation_lifecycle(EVAL),
    "explanation": ask.evaluation_explanation(EVAL),
    "allocations of an evaluation": ask.evaluation_allocations(EVAL),
    "allocation": ask.read_allocation(ALLOC),
    "allocations": ask.list_allocations(filter='JobID == "web"'),
    "deployment": ask.read_deployment("dddddddd-0000-0000-0000-000000000001"),
    "deployments": ask.list_deployments(),
    "node": ask.read_node(NODE),
    "nodes": ask.list_nodes(),
    "allocations of a node": ask.node_allocations(NODE),
    "pools": ask.list_pools(),
    "namespaces": ask.list_namespaces(),
    "settings": ask.scheduler_settings(),
    "services": ask.list_services(),
    "service": ask.read_service("web"),
    "variables": ask.list_variables(),
}
#: Nothing of it is in the record that is served.
EMPTY = {"lifecycle", "explanation", "services", "service", "variables"}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_is_of_its_type(client, name):
    answer = client.send(READS[name])

    kind = READS[name].kind
    wanted, values = kind, [answer.value]
    if typing.get_origin(kind) is list:
        (wanted,), values = typing.get_args(kind), answer.value
    assert all(type(each) is wanted for each in values)
    assert bool(values) is (name not in EMPTY)
    assert answer.index > 0


def test_what_the_record_holds_comes_back_as_it_is(client, served):
    """Every field that the wire tells, against plain JSON of the same read."""
    node, alloc = client.send(ask.read_node(NODE)).value, client.send(ask.read_allocation(ALLOC))
    assert node.attributes
    assert node.drivers["mock_driver"].update_time == 1_750_000_000_000_000_000
    assert alloc.value.task_states["web"].started_at == 1_750_000_000_000_000_000
    assert alloc.value.metrics.score_meta_data[0].scores == {"binpack": 0.5}
    found = client.send(ask.read_job("web")).value
    plain = client.send(ask.plain("GET", "job/web")).value
    again = msgspec.to_builtins(found)
    for name, value in plain.items():
        if value is not None and name in again and not isinstance(value, dict | list):
            assert again[name] == value, name


def test_a_job_is_planned_registered_scaled_gone_back_and_stopped(client):
    one = job("client-job", meta={"a": "b"})
    assert client.send(ask.validate_job(one)).value.validation_errors == ()
    planned = client.send(ask.plan_job(one)).value
    assert planned.annotations.desired_updates["main"].place == 1

    written = client.send(ask.register_job(one))
    assert (written.index > 0, len(written.value.eval_id)) == (True, 36)
    stored = client.send(ask.read_job("client-job")).value
    assert (stored.meta, stored.task_groups[0].tasks[0].driver) == ({"a": "b"}, "mock_driver")
    with pytest.raises(Refused, match="Enforcing job modify index"):
        client.send(ask.register_job(one, enforce_index=1))
    client.send(ask.register_job(stored, enforce_index=stored.job_modify_index))
    client.send(ask.scale_job("client-job", "main", 3, message="more"))
    assert client.send(ask.read_job("client-job")).value.task_groups[0].count == 3
    assert client.send(ask.evaluate_job("client-job")).value.eval_id
    client.send(ask.revert_job("client-job", 0))
    versions = client.send(ask.job_versions("client-job")).value
    assert [each.version for each in versions] == [2, 1, 0]
    client.send(ask.deregister_job("client-job", purge=True))
    with pytest.raises(NotFound, match="job not found"):
        client.send(ask.read_job("client-job"))


def test_a_child_is_dispatched(client):
    child = client.send(ask.dispatch_job("etl", payload="aGk=")).value
    assert child.dispatched_job_id.startswith("etl/dispatch-")
    found = client.send(ask.read_job(child.dispatched_job_id)).value
    assert (found.parent_id, found.dispatched) == ("etl", True)


def test_nodes_deployments_and_allocations_are_steered(client):
    assert client.send(ask.drain_node(SECOND_NODE, deadline_ns=10**12)).value.node_modify_index
    assert client.send(ask.read_node(SECOND_NODE)).value.drain_strategy.deadline == 10**12
    client.send(ask.stop_drain(SECOND_NODE))
    client.send(ask.set_eligibility(SECOND_NODE, eligible=False))
    found = client.send(ask.list_nodes(prefix=SECOND_NODE)).value
    assert [each.scheduling_eligibility for each in found] == [NodeEligibility.INELIGIBLE]
    assert client.send(ask.stop_allocation(ALLOC)).value.eval_id
    for verb in (ask.promote_deployment, ask.pause_deployment, ask.fail_deployment):
        with pytest.raises(Refused):
            client.send(verb("dddddddd-0000-0000-0000-000000000001"))


def test_variables_and_namespaces_are_written(client):
    client.send(ask.write_namespace(Namespace(name="team", description="theirs")))
    names = {each.name: each.description for each in client.send(ask.list_namespaces()).value}
    assert names["team"] == "theirs"
    client.send(ask.plain("PUT", "operator/keyring/rotate"))
    made = client.send(ask.write_variable("app/db", {"user": "x"}, cas=0)).value
    assert client.send(ask.read_variable("app/db")).value == made
    with pytest.raises(Conflict):
        client.send(ask.write_variable("app/db", {"user": "y"}, cas=0))
    assert [each.path for each in client.send(ask.list_variables(prefix="app")).value] == [
        "app/db"
    ]
    assert client.send(ask.delete_variable("app/db")).value is None


def test_a_namespace_of_the_client_is_that_of_its_requests(served):
    address, secret = served
    with Client(address, token=secret, namespace="nowhere") as client:
        assert client.send(ask.list_jobs()).value == []


def test_pages_follow_each_other(client):
    whole = [each.id for each in client.send(ask.list_jobs()).value]
    assert len(whole) > 2
    assert [each.id for each in client.pages(ask.list_jobs(), per_page=1)] == whole


def test_a_follower_is_answered_when_something_changes(client, served):
    address, secret = served
    answers = client.follow(ask.read_job("twice"))
    first = next(answers)

    def change():
        with Client(address, token=secret) as other:
            other.send(ask.register_job(msgspec.structs.replace(first.value, priority=77)))

    later = threading.Timer(0.3, change)
    later.start()
    second = next(answers)
    later.join()

    assert second.index > first.index
    assert second.value.priority == 77


def test_events_are_told_as_they_happen_and_from_an_index_on(client):
    job_id = "told-job"
    written = client.send(ask.register_job(job(job_id)))
    (event,) = itertools.islice(client.events(f"Job:{job_id}"), 1)
    assert (event.topic, event.type, event.index) == ("Job", "JobRegistered", written.index)
    assert isinstance(event.value, Job)
    gone = client.send(ask.deregister_job(job_id)).index
    (event,) = itertools.islice(client.events(f"Job:{job_id}", index=written.index), 1)
    assert event.index == gone


@pytest.mark.parametrize(
    ("request_", "kind", "text"),
    [
        (ask.read_job("none"), NotFound, "job not found"),
        (ask.plain("PUT", "operator/utilization"), NotBuilt, "Enterprise"),
        (ask.plain("GET", "jobs", wait="x"), Refused, "Invalid wait time"),
    ],
)
def test_a_refusal_is_an_exception_with_the_servers_sentence(client, request_, kind, text):
    with pytest.raises(kind, match=text) as caught:
        client.send(request_)
    assert type(caught.value) is kind


def test_who_may_not_is_told(served):
    with Client(served[0]) as client, pytest.raises(NotAllowed, match="Permission denied"):
        client.send(ask.list_jobs())
    with Client(served[0]) as client, pytest.raises(NotAllowed):
        next(client.events("Job"))


def test_no_answer_is_said_so():
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(Unreachable):
        client.send(ask.list_jobs())


def test_an_answer_that_is_not_understood_names_its_request():
    broken = httpx.Response(200, content=b'{"ID": 5}')
    with pytest.raises(BivouacError, match=r"GET /v1/job/web answered .*ID"):
        answer_of(ask.read_job("web"), broken)
    with pytest.raises(BivouacError, match="Versions"):
        answer_of(ask.job_versions("web"), httpx.Response(200, content=b"{}"))


def test_statuses_are_exceptions_of_their_own():
    told = {status: type(refusal(status, "no")) for status in (404, 409, 429, 500, 501, 503, 418)}
    assert told == {
        404: NotFound, 409: Conflict, 429: TooMany, 500: ServerFault, 501: NotBuilt, 503: Away,
        418: Refused,
    }  # fmt: skip
    assert refusal(429, "x", "7").retry_after == 7
    assert str(refusal(502, "")) == "status 502"


@pytest.mark.parametrize("at", [1, 1_750_000_000_000_000_000, 1_750_000_000_123_456_789])
def test_instants_are_read_as_they_are_written(at):
    assert instant(instant_text(at)) == at


def test_spans_are_read():
    texts = {"1h30m": 5_400 * 10**9, "15s": 15 * 10**9, "1.5ms": 1_500_000, "-2s": -2 * 10**9}
    assert {text: span(text) for text in texts} == texts
    assert decode({"a": 1}, typing.Any) == {"a": 1}


async def test_the_same_with_an_event_loop(served):
    address, secret = served
    async with AsyncClient(address, token=secret) as client:
        assert isinstance(await client.send(ask.read_job("web")), Answer)
        whole = [each.id for each in (await client.send(ask.list_nodes())).value]
        assert [each.id async for each in client.pages(ask.list_nodes(), per_page=1)] == whole
        async for answer in client.follow(ask.read_node(NODE)):
            assert answer.value.id == NODE
            break
        written = await client.send(ask.register_job(job("async-job")))
        async for event in client.events("Job:async-job"):
            assert event.index == written.index
            break
        with pytest.raises(NotFound):
            await client.send(ask.read_job("none"))
    async with AsyncClient(f"http://127.0.0.1:{free_port()}") as client:
        with pytest.raises(Unreachable):
            await client.send(ask.list_jobs())
    async with AsyncClient(address) as client:
        with pytest.raises(NotAllowed):
            await anext(client.events("Job"))
