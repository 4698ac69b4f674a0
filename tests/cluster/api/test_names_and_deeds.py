"""Routes do what their names say: summaries, tags of versions, what belongs to a pool."""

import pytest
from msgspec.structs import replace

from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import TaskGroupSummary
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import put

RIGHT = {"web": TaskGroupSummary(queued=2, running=1, failed=1)}


@pytest.fixture
def counted(store):
    """A job with one running and one failed allocation, and two queued."""

    def fill(change):
        job = write_job(change, make_job(id="counted"))
        for number, status in enumerate((ClientStatus.RUNNING, ClientStatus.FAILED)):
            alloc = make_allocation(job, id=f"aaaaaaaa-0000-0000-0000-00000000000{number}")
            put_found(change, alloc.changed(client_status=status))
        summary = change.get(JOB_SUMMARIES, job.key)
        change.put(JOB_SUMMARIES, replace(summary, summary=RIGHT))

    put(store, fill)
    return make_job(id="counted")


async def summary_of(store, job):
    return await store.aread(lambda reader: reader.get(JOB_SUMMARIES, job.key))


@pytest.fixture
def miscounted(store, counted):
    """That job, with a summary that says otherwise."""
    wrong = {"web": TaskGroupSummary(queued=2, running=7)}

    def spoil(change):
        summary = change.get(JOB_SUMMARIES, counted.key)
        change.put(JOB_SUMMARIES, replace(summary, summary=wrong))

    put(store, spoil)
    return counted


async def test_reconciling_summaries_mends_wrong_counts_and_deletes_nothing(
    api, store, miscounted
):
    jobs = await store.aread(lambda reader: reader.jobs())

    answer = await api.put("/v1/system/reconcile/summaries")

    assert (answer.status, answer.content) == (200, b"")
    assert "X-Nomad-Index" not in answer.headers
    after = await summary_of(store, miscounted)
    assert after.summary == RIGHT
    index = await store.aread(lambda reader: reader.index)
    assert after.modify_index == index
    assert await store.aread(lambda reader: reader.jobs()) == jobs


async def test_reconciling_right_summaries_writes_nothing(api, store, counted):
    before = await store.aread(lambda reader: reader.index)
    assert (await api.put("/v1/system/reconcile/summaries")).status == 200
    assert await store.aread(lambda reader: reader.index) == before


@pytest.mark.parametrize(
    "path",
    ["counted/tag", "a/b/versions/gold/tag", "counted/versions//tag", "counted/named/gold/tag"],
)
async def test_a_tag_is_never_taken_for_a_job(api, store, counted, path):
    before = await store.aread(lambda reader: reader.index)
    for method in ("GET", "PUT", "POST", "DELETE"):
        answer = await api.send(method, f"/v1/job/{path}")
        assert (answer.status, answer.text) == (404, "invalid job tag endpoint")
    assert await store.aread(lambda reader: reader.index) == before


async def test_a_tag_cannot_be_read(api):
    assert (await api.get("/v1/job/counted/versions/gold/tag")).status == 405


@pytest.fixture
def pools(store):
    """Nodes and jobs of two pools; one job is in another namespace."""

    def fill(change):
        change.put_node(make_node(1))
        change.put_node(replace(make_node(2), node_pool="gpu"))
        write_job(change, make_job(id="plain"))
        write_job(change, make_job(id="drawn", node_pool="gpu"))
        write_job(change, make_job(id="theirs", node_pool="gpu", namespace="team"))

    put(store, fill)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("gpu/nodes", ["node-2"]),
        ("all/nodes", ["node-1", "node-2"]),
        ("nope/nodes", []),
        ("gpu/jobs", ["drawn"]),
        ("gpu/jobs?namespace=*", ["drawn", "theirs"]),
        ("default/jobs", ["plain"]),
        ("all/jobs", []),
        ("nope/jobs", []),
    ],
)
async def test_nodes_and_jobs_of_a_pool_are_listed(api, pools, path, names):
    answer = await api.get(f"/v1/node/pool/{path}")
    assert answer.status == 200
    assert [item.get("Name") or item["ID"] for item in answer.json] == names


@pytest.mark.parametrize("kind", ["nodes", "jobs"])
async def test_a_pool_is_not_searched_by_prefix(api, kind):
    answer = await api.get(f"/v1/node/pool/gpu/{kind}?prefix=a")
    assert (answer.status, answer.text) == (400, "prefix argument not allowed")


async def test_jobs_of_a_pool_keep_namespaces_apart(tenant, pools):
    assert (await tenant.get("/v1/node/pool/gpu/jobs")).json == []
    listed = await tenant.get("/v1/node/pool/gpu/jobs?namespace=*")
    assert [job["ID"] for job in listed.json] == ["theirs"]


SEEN_EVAL = "cccccccc-0000-0000-0000-000000000001"
HIDDEN_EVAL = "cccccccc-0000-0000-0000-000000000002"


@pytest.fixture
def beside(store, tenant):
    """An evaluation of the tenant's that was decided beside one it may not see."""

    def fill(change):
        change.put_evaluation(
            make_evaluation(
                id=SEEN_EVAL, namespace="team", job_id="mine", counted_evals=(HIDDEN_EVAL,)
            )
        )

    put(store, fill)
    return tenant


@pytest.mark.parametrize(
    "path", [f"evaluation/{SEEN_EVAL}", "evaluations", "job/mine/evaluations"]
)
async def test_an_evaluation_names_no_evaluation_of_a_hidden_namespace(api, beside, path):
    hidden = await beside.get(f"/v1/{path}?namespace=team&additions")
    shown = await api.get(f"/v1/{path}?namespace=team&additions")
    assert hidden.status == shown.status == 200
    assert SEEN_EVAL in hidden.text
    assert HIDDEN_EVAL not in hidden.text
    assert HIDDEN_EVAL in shown.text
