"""Jobs with their allocations and rollouts in one list: items, pages, waiting, who sees what."""

import asyncio

import pytest

from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import purge_job, write_job
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.identity import JobKey
from scheduler.structs.job import ParameterizedJob, Periodic
from tests.builders import make_allocation, make_job
from tests.cluster.api.clients import put

STATUSES = "/v1/jobs/statuses"


async def written(store, *jobs):
    """Jobs, each in a write of its own; the indexes."""
    return [
        await store.awrite_call(put, lambda change, job=job: write_job(change, job))
        for job in jobs
    ]


async def stored(store):
    return await store.aread(lambda reader: reader.job(make_job().key))


async def ids(client, **query):
    return [item["ID"] for item in (await client.get(STATUSES, **query)).json]


async def test_an_item_says_what_a_list_of_jobs_shows(api, store):
    (created,) = await written(store, make_job(meta={"pack.name": "web"}))
    job = await stored(store)
    rollout = Deployment(
        id="d1",
        job_id="web",
        status_description="Deployment is running but requires manual promotion",
        task_groups={"web": GroupRollout(desired_canaries=1), "b": GroupRollout()},
        modify_index=created + 7,
    )
    alloc = make_allocation(
        job,
        job_create_index=created,
        client_status=ClientStatus.FAILED,
        deployment_status=DeploymentHealth(healthy=False, canary=True),
        followup_eval_id="e2",
        modify_index=created + 3,
    )
    older = make_allocation(job, number=2, job_create_index=1)
    pending = make_allocation(job, number=3, job_create_index=created, modify_index=created)
    for row in (rollout, alloc, older, pending):
        await store.awrite_call(put, lambda change, row=row: put_found(change, row))

    answer = await api.get(STATUSES)

    def of(alloc, canary, healthy, followup=""):
        return {
            "ID": alloc.id,
            "Group": "web",
            "ClientStatus": alloc.client_status.value,
            "NodeID": alloc.node_id,
            "DeploymentStatus": {"Canary": canary, "Healthy": healthy},
            "JobVersion": 0,
            "FollowupEvalID": followup,
            "HasPausedTask": False,
        }

    (item,) = answer.json
    allocs = item.pop("Allocs")
    expected = [of(alloc, True, False, "e2"), of(pending, False, None)]
    assert sorted(allocs, key=lambda each: each["ID"]) == sorted(
        expected, key=lambda each: each["ID"]
    )
    assert item == {
        "ID": "web",
        "Namespace": "default",
        "Name": "web",
        "Type": "service",
        "NodePool": "default",
        "Datacenters": ["*"],
        "Priority": 50,
        "Version": 0,
        "ParentID": "",
        "SubmitTime": job.submit_time,
        "ModifyIndex": job.modify_index,
        "GroupCountSum": 1,
        "ChildStatuses": None,
        "LatestDeployment": {
            "ID": "d1",
            "IsActive": True,
            "JobVersion": 0,
            "Status": "running",
            "StatusDescription": rollout.status_description,
            "AllAutoPromote": False,
            "RequiresPromotion": True,
        },
        "Stop": False,
        "IsPack": True,
        "Status": job.status,
    }
    assert answer.headers["X-Nomad-Index"] == str(created + 7)


CANARY = {"desired_canaries": 1}


@pytest.mark.parametrize(
    ("status", "groups", "promotes", "waits"),
    [
        pytest.param("running", {"a": {}}, True, False, id="no-canaries"),
        pytest.param("running", {"a": {**CANARY, "auto_promote": True}}, True, True, id="auto"),
        pytest.param("running", {"a": {**CANARY, "promoted": True}}, False, False, id="promoted"),
        pytest.param("successful", {"a": {**CANARY, "auto_promote": True}}, False, False,
                     id="over"),
        pytest.param("running", {}, False, False, id="no-groups"),
    ],
)  # fmt: skip
async def test_a_rollout_says_whether_somebody_must_promote_it(
    api, store, status, groups, promotes, waits
):
    await written(store, make_job())
    rollout = Deployment(
        id="d1",
        job_id="web",
        status=DeploymentStatus(status),
        task_groups={name: GroupRollout(**fields) for name, fields in groups.items()},
    )
    await store.awrite_call(put, lambda change: put_found(change, rollout))
    latest = (await api.get(STATUSES)).json[0]["LatestDeployment"]
    assert (latest["AllAutoPromote"], latest["RequiresPromotion"]) == (promotes, waits)


PARENT = make_job(id="nightly", type="batch", periodic=Periodic(spec="0 3 * * *"))
CHILDREN = [
    make_job(id=f"nightly/periodic-{number}", parent_id="nightly", type="batch")
    for number in range(3)
]


async def test_a_parent_tells_of_its_children_which_are_hidden_themselves(api, store):
    empty = make_job(id="resize", type="batch", parameterized_job=ParameterizedJob())
    await written(store, PARENT, empty, *CHILDREN)
    listed = (await api.get(STATUSES)).json
    assert [(item["ID"], item["Allocs"], item["ChildStatuses"]) for item in listed] == [
        ("resize", None, []),
        ("nightly", None, ["pending"] * 3),
    ]
    every = await api.get(STATUSES, include_children="true")
    assert [(item["ID"], item["ParentID"], item["ChildStatuses"]) for item in every.json[:3]] == [
        (child.id, "nightly", None) for child in reversed(CHILDREN)
    ]


async def test_a_change_of_a_child_moves_the_index(api, store):
    indexes = await written(store, PARENT, CHILDREN[0], make_job(id="other"), CHILDREN[1])
    assert (await api.get(STATUSES)).headers["X-Nomad-Index"] == str(indexes[-1])


async def test_the_newest_change_comes_first_and_pages_follow_it(api, store):
    indexes = await written(store, *(make_job(id=f"j{number}") for number in range(5)))
    first = await api.get(STATUSES, per_page="2")
    assert [item["ID"] for item in first.json] == ["j4", "j3"]
    token = first.headers["X-Nomad-NextToken"]
    assert token == str(indexes[2])
    second = await api.get(STATUSES, per_page="2", next_token=token)
    assert [item["ID"] for item in second.json] == ["j2", "j1"]
    last = await api.get(STATUSES, per_page="2", next_token=second.headers["X-Nomad-NextToken"])
    assert [item["ID"] for item in last.json] == ["j0"]
    assert "X-Nomad-NextToken" not in last.headers
    assert await ids(api, reverse="true") == ["j0", "j1", "j2", "j3", "j4"]
    assert await ids(api, reverse="true", next_token=token) == ["j2", "j3", "j4"]


@pytest.mark.parametrize("reverse", ["", "true"])
@pytest.mark.parametrize("per_page", ["1", "2", "3"])
async def test_pages_hold_each_job_once_also_those_of_one_write(api, store, per_page, reverse):
    def several(change):
        for number in range(5):
            write_job(change, make_job(id=f"same-{number}"))

    await written(store, make_job(id="before"))
    await store.awrite_call(put, several)
    await written(store, make_job(id="after"))
    found, token = [], ""
    for _ in range(7):
        answer = await api.get(STATUSES, per_page=per_page, next_token=token, reverse=reverse)
        found += [item["ID"] for item in answer.json]
        token = answer.headers.get("X-Nomad-NextToken", "")
        if not token:
            break
    expected = ["after", *(f"same-{number}" for number in range(4, -1, -1)), "before"]
    assert found == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"filter": 'Type == "batch"'}, ["b"]),
        ({"filter": 'Name matches "^[ab]$"', "per_page": "1"}, ["b"]),
        ({"prefix": "a"}, ["b", "a"]),
        ({"namespace": "team"}, ["apart"]),
        ({"namespace": "*"}, ["apart", "b", "a"]),
    ],
)
async def test_filters_and_namespaces(api, tenant, store, query, found):
    await written(store, make_job(id="a"), make_job(id="b", type="batch"))
    await written(store, make_job(id="apart", namespace="team"))
    assert await ids(api, **query) == found
    assert await ids(tenant, namespace="*") == ["apart"]


@pytest.mark.parametrize("token", ["x", "-1", "1" * 30])
async def test_a_token_that_is_no_index_is_refused_or_finds_all(api, store, token):
    await written(store, make_job())
    answer = await api.get(STATUSES, next_token=token)
    assert answer.status in {200, 400}
    if answer.status == 400:
        assert "is no index" in answer.text


async def test_named_jobs_in_any_case_and_unknown_ones_left_out(api, store):
    await written(store, make_job(id="a"), make_job(id="b"), PARENT, CHILDREN[0])
    await written(store, make_job(id="c", namespace="team"))
    names = [
        {"id": "a"},
        {"ID": "c", "Namespace": "team"},
        {"id": "nope", "namespace": "default"},
        {"id": CHILDREN[0].id},
    ]
    answer = await api.send("POST", STATUSES, {"jobs": names})
    assert [item["ID"] for item in answer.json] == ["c", "a"]
    every = await api.send("POST", STATUSES, {"Jobs": names, "Include_Children": True})
    assert [item["ID"] for item in every.json] == ["c", CHILDREN[0].id, "a"]
    assert (await api.send("POST", STATUSES)).json == (await api.get(STATUSES)).json


@pytest.mark.parametrize("name", [b"\\ud800", b"a\\u0000b"])
async def test_odd_names_are_of_no_job(api, store, name):
    await written(store, make_job(id="a"))
    answer = await api.send("POST", STATUSES, b'{"jobs":[{"id":"%s"}]}' % name)
    assert (answer.status, answer.json) == (200, [])


async def test_named_jobs_of_namespaces_without_the_right_are_left_out_or_refused(store, tenant):
    await written(store, make_job(id="a"), make_job(id="c", namespace="team"))
    mine, other = {"id": "c", "namespace": "team"}, {"id": "a"}
    both = await tenant.send("POST", STATUSES, {"jobs": [mine, other]})
    assert [item["ID"] for item in both.json] == ["c"]
    assert (await tenant.send("POST", STATUSES, {"jobs": [other]})).status == 403


UNREAD = "error decoding request:"
NO_LIST = (
    "json: cannot unmarshal string into Go struct field JobStatusesRequest.jobs"
    " of type []JobStatusesRequest"
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"jobs": []}, "no jobs in request"),
        ({}, "no jobs in request"),
        (
            {"jobs": "web"},
            f"{UNREAD} {NO_LIST}",
        ),
        (b"{x", f"{UNREAD} invalid character 'x' looking for beginning of object key string"),
    ],
)
async def test_a_body_that_names_nothing_is_refused(api, body, text):
    answer = await api.send("POST", STATUSES, body)
    assert (answer.status, answer.text) == (400, text)


async def test_other_methods_are_refused(api):
    assert (await api.put(STATUSES)).status == 405
    assert (await api.delete(STATUSES)).status == 405


async def waits_for(api, store, work, **query):
    """The answer to a wait from the present index that `work` ends."""
    index = (await api.get(STATUSES, **query)).headers["X-Nomad-Index"]
    waiting = asyncio.ensure_future(api.get(STATUSES, index=index, wait="60s", **query))
    await asyncio.sleep(0)
    await store.awrite_call(put, work)
    answer = await waiting
    assert int(answer.headers["X-Nomad-Index"]) > int(index)
    return answer.json


async def test_a_waiting_page_wakes_when_an_allocation_changes(api, store):
    (index,) = await written(store, make_job())
    alloc = make_allocation(
        await stored(store),
        job_create_index=index,
        modify_index=99,
    )
    (item,) = await waits_for(api, store, lambda change: put_found(change, alloc))
    assert [each["ID"] for each in item["Allocs"]] == [alloc.id]


async def test_a_waiting_page_wakes_when_a_job_comes_or_goes(api, store):
    await written(store, make_job(id="a"), make_job(id="b"))
    more = await waits_for(api, store, lambda change: write_job(change, make_job(id="c")))
    assert [item["ID"] for item in more] == ["c", "b", "a"]
    gone = await waits_for(api, store, lambda change: purge_job(change, JobKey("default", "a")))
    assert [item["ID"] for item in gone] == ["c", "b"]


@pytest.mark.parametrize(("gone", "left"), [("b", "a"), ("a", "b")], ids=["newest", "older"])
async def test_a_job_that_went_between_two_questions_is_told_at_once(api, store, gone, left):
    await written(store, make_job(id="a"), make_job(id="b"))
    index = (await api.get(STATUSES)).headers["X-Nomad-Index"]
    await store.awrite_call(put, lambda change: purge_job(change, JobKey("default", gone)))
    answer = await api.get(STATUSES, index=index, wait="60s")
    assert [item["ID"] for item in answer.json] == [left]
    after = answer.headers["X-Nomad-Index"]
    assert int(after) > int(index)
    again = await api.get(STATUSES, index=after, wait="10ms")
    assert again.headers["X-Nomad-Index"] == after


async def test_an_answer_without_jobs_has_an_index(api):
    answer = await api.get(STATUSES)
    assert (answer.json, answer.headers["X-Nomad-Index"]) == ([], "1")
