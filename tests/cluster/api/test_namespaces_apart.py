"""A token for one namespace learns nothing of another: by id, list, count, search or stream."""

import msgspec
import pytest

from scheduler.state.writes.jobs import write_job
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import document, put

HIDDEN_ALLOC = "bbbbbbbb-0000-0000-0000-0000000000aa"
HIDDEN_EVAL = "cccccccc-0000-0000-0000-0000000000aa"
ABSENT = "dddddddd-0000-0000-0000-0000000000aa"
SECRET_WORD = "hidden-thing"


@pytest.fixture
def hidden(store, tenant):
    """Something in the namespace `default`, and the program that may only see `team`."""

    def fill(change):
        job = write_job(change, make_job(id=SECRET_WORD))
        change.put_node(make_node(1))
        change.put_allocation(make_allocation(job, id=HIDDEN_ALLOC, eval_id=HIDDEN_EVAL))
        change.put_evaluation(make_evaluation(id=HIDDEN_EVAL, job_id=SECRET_WORD))

    put(store, fill)
    return tenant


@pytest.mark.parametrize(
    "path",
    [
        "jobs",
        f"job/{SECRET_WORD}",
        f"job/{SECRET_WORD}/versions",
        f"job/{SECRET_WORD}/evaluations",
        f"job/{SECRET_WORD}/allocations",
        f"job/{SECRET_WORD}/summary",
        f"job/{SECRET_WORD}/deployment",
        "job/no-such-job",
        "evaluations",
        "evaluations/count",
        "allocations",
        "deployments",
        "event/stream",
        "namespace/default",
        "namespace/no-such-namespace",
    ],
)
async def test_another_namespace_is_closed_whether_or_not_it_holds_anything(hidden, path):
    answer = await hidden.get(f"/v1/{path}")

    assert (answer.status, answer.text) == (403, "Permission denied")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("evaluation/{}", (403, "Permission denied")),
        ("evaluation/{}/lifecycle", (403, "Permission denied")),
        ("evaluation/{}/explanation", (403, "Permission denied")),
        ("evaluation/{}/allocations", (403, "Permission denied")),
        ("allocation/{}", (404, "alloc not found")),
        ("allocation/{}/services", (403, "Permission denied")),
    ],
)
async def test_a_hidden_id_looks_like_an_absent_one(hidden, path, told):
    hidden_id = HIDDEN_EVAL if path.startswith("evaluation") else HIDDEN_ALLOC

    found = await hidden.get(f"/v1/{path.format(hidden_id)}")
    absent = await hidden.get(f"/v1/{path.format(ABSENT)}")

    assert (found.status, found.text) == told
    assert (absent.status, absent.text) == told
    assert found.headers.keys() == absent.headers.keys()


@pytest.mark.parametrize("path", ["client/allocation/{}/stats", "client/fs/ls/{}"])
async def test_nodes_are_not_asked_about_hidden_allocations(hidden, path):
    found = await hidden.get(f"/v1/{path.format(HIDDEN_ALLOC)}")
    absent = await hidden.get(f"/v1/{path.format(ABSENT)}")

    assert (found.status, found.text) == (403, "Permission denied")
    assert (absent.status, absent.text) == (404, f'Unknown allocation "{ABSENT}"')


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("jobs", {}),
        ("jobs", {"prefix": "hidden"}),
        ("jobs", {"filter": "Priority == 50"}),
        ("evaluations", {}),
        ("evaluations", {"job": SECRET_WORD}),
        ("evaluations", {"prefix": "cccccccc"}),
        ("allocations", {}),
        ("allocations", {"prefix": "bbbbbbbb"}),
        (f"evaluation/{HIDDEN_EVAL}/allocations", {}),
        ("node/aaaaaaaa-0000-0000-0000-000000000001/allocations", {}),
    ],
)
async def test_lists_of_everything_hold_only_what_is_seen(hidden, path, query):
    answer = await hidden.get(f"/v1/{path}", namespace="*", **query)

    assert (answer.status, answer.json) == (200, [])


async def test_counts_do_not_tell(hidden):
    answer = await hidden.get("/v1/evaluations/count", namespace="*")

    assert answer.json["Count"] == 0


async def test_namespaces_that_are_not_seen_are_not_listed(hidden):
    answer = await hidden.get("/v1/namespaces")

    assert [namespace["Name"] for namespace in answer.json] == ["team"]


async def test_search_finds_only_what_is_seen(hidden):
    for prefix in ("", "hidden", "bb", "cc"):
        answer = await hidden.put(
            "/v1/search", {"Prefix": prefix, "Context": "all"}, namespace="*"
        )

        matches = answer.json["Matches"]
        for context in ("jobs", "allocs", "evals", "deployment"):
            assert matches.get(context) is None
        assert SECRET_WORD not in answer.text


WRITES = [
    ("PUT", f"job/{SECRET_WORD}/evaluate", None),
    ("DELETE", f"job/{SECRET_WORD}", None),
    ("PUT", "jobs", {"Job": document()}),
    ("PUT", "job/web/plan", {"Job": document()}),
    ("PUT", "validate/job", {"Job": document()}),
    ("PUT", "namespace", {"Name": "mine"}),
    ("DELETE", "namespace/team", None),
    ("DELETE", "evaluations", {"Filter": 'Status == "complete"'}),
    ("PUT", "operator/scheduler/configuration", {}),
    ("PUT", "system/gc", None),
    ("PUT", "node/aaaaaaaa-0000-0000-0000-000000000001/drain", {"DrainSpec": {}}),
    ("PUT", "node/aaaaaaaa-0000-0000-0000-000000000001/eligibility", {}),
    ("PUT", "node/aaaaaaaa-0000-0000-0000-000000000001/evaluate", None),
    ("PUT", "node/aaaaaaaa-0000-0000-0000-000000000001/purge", None),
]


@pytest.mark.parametrize(
    ("method", "path", "body"), WRITES, ids=[f"{method}-{path}" for method, path, _ in WRITES]
)
async def test_nothing_outside_can_be_changed(hidden, store, method, path, body):
    before = await store.aread(lambda reader: reader.index)

    answer = await hidden.send(method, f"/v1/{path}", body)

    assert (answer.status, answer.text) == (403, "Permission denied")
    assert await store.aread(lambda reader: reader.index) == before


async def test_a_hidden_allocation_cannot_be_stopped_or_restarted(hidden):
    stop = await hidden.put(f"/v1/allocation/{HIDDEN_ALLOC}/stop")
    restart = await hidden.put(f"/v1/client/allocation/{HIDDEN_ALLOC}/restart")

    assert (stop.status, stop.text) == (404, "allocation not found")
    assert (restart.status, restart.text) == (403, "Permission denied")


async def test_ones_own_namespace_is_open(hidden):
    written = await hidden.put("/v1/jobs", {"Job": document()}, namespace="team")
    listed = await hidden.get("/v1/jobs", namespace="team")

    assert written.status == 200
    assert [job["ID"] for job in listed.json] == ["web"]
    assert (await hidden.delete("/v1/job/web", namespace="team")).status == 200


async def test_a_namespace_in_the_body_does_not_open_another(hidden):
    for body in (
        {"Job": document(Namespace="default")},
        {"Job": document(Namespace="team"), "Namespace": "default"},
    ):
        assert (await hidden.put("/v1/jobs", body)).status == 403


async def test_one_who_may_only_look_changes_nothing(store, reader):
    before = await store.aread(lambda each: each.index)

    for method, path, body in WRITES:
        if path == "validate/job":
            continue
        assert (await reader.send(method, f"/v1/{path}", body)).status == 403, path
    assert (await reader.get("/v1/jobs", namespace="*")).status == 200
    assert await store.aread(lambda each: each.index) == before


async def test_the_stream_of_every_namespace_asks_for_every_namespace(hidden):
    answer = await hidden.get("/v1/event/stream", namespace="*", topic="Job")

    assert (answer.status, answer.text) == (403, "Permission denied")


async def test_the_stream_carries_only_what_is_seen(hidden, api):
    await api.put("/v1/jobs", {"Job": document(ID=SECRET_WORD)})
    await api.put("/v1/jobs", {"Job": document(ID="ours")}, namespace="team")
    answer = await hidden.get("/v1/event/stream", namespace="team", topic="Job")

    lines = []
    async for line in answer.streaming_content:
        lines.append(line)
        if len(lines) == 2:
            break

    assert lines[0] == b"{}\n"
    assert SECRET_WORD.encode() not in lines[1]
    assert msgspec.json.decode(lines[1])["Events"][0]["Key"] == "ours"
