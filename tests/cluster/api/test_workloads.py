"""A running task and its identity: signed for its own node alone, and what it may do by it."""

import pytest
from msgspec.structs import replace

from cluster.keyring.tokens import unproved
from cluster.operations.acl_policies import put_policy
from cluster.operations.errors import NotAllowed, NotFound
from cluster.operations.workload_identities import sign_workload_identity
from scheduler.access.caller import AGENTS, CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.acl_policy import AclPolicy, JobAcl
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.root_key import RootKeyState
from scheduler.structs.task_group import Identity
from tests.builders import (
    CountingIDs,
    make_allocation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, Client, put
from tests.root_keys import put_keys, root_key

ITEMS = {"Items": {"word": "sesame"}}
#: Identities of its task that have names: for one, for two, and for nobody.
FURTHER = (
    Identity(name="vault", audience=("vault.io",), ttl=3600 * 10**9),
    Identity(name="two", audience=("a", "b")),
    Identity(name="bare"),
)
JOB = make_job(task_groups=(make_task_group(tasks=(make_task(identities=FURTHER),)),))
OWN = ("nomad/jobs", "nomad/jobs/web", "nomad/jobs/web/group", "nomad/jobs/web/group/web")


@pytest.fixture
def alloc(store):
    put_keys(store, root_key())
    held = []

    def fill(change):
        job = write_job(change, JOB)
        put_found(change, make_node(1))
        put_found(change, make_node(2))
        alloc = make_allocation(job, node_id=make_node(1).id, client_status=ClientStatus.RUNNING)
        put_found(change, alloc)
        held[:] = [alloc]

    put(store, fill)
    return held[0]


async def sign(store, alloc, task="web", name="", *, node=1, by=CLUSTER, secret=""):
    return await store.aread(
        lambda reader: sign_workload_identity(
            reader,
            make_node(node).id,
            alloc.id,
            task,
            name,
            secret=secret,
            region="global",
            by=by,
            now=NOW,
            ids=CountingIDs(),
        )
    )


def group_of(alloc):
    return alloc.task_group


async def test_a_task_reads_its_own_variables_and_no_others(api, store, alloc):
    task = Client(await sign(store, alloc))
    paths = [path.replace("group", group_of(alloc)) for path in OWN]
    others = ("nomad/jobs/other", f"{paths[2]}/sibling", "app")
    for path in (*paths, *others):
        assert (await api.put(f"/v1/var/{path}", ITEMS)).status == 200
    listed = (await task.get("/v1/vars")).json
    assert [each["Path"] for each in listed] == sorted(paths)
    assert [(await task.get(f"/v1/var/{path}")).status for path in paths] == [200] * 4
    assert [(await task.get(f"/v1/var/{path}")).status for path in others] == [403] * 3
    assert (await task.put(f"/v1/var/{paths[1]}", ITEMS)).status == 403
    assert (await task.get("/v1/services")).status == 200
    assert (await task.get("/v1/jobs")).status == 403


async def test_policies_of_its_job_are_its_own(store, alloc):
    task = Client(await sign(store, alloc))
    rules = 'namespace "default" { capabilities = ["list-jobs"] }'
    elsewhere = JobAcl(namespace="default", job_id="web", group=alloc.task_group, task="other")
    policy = AclPolicy(name="p", rules=rules, job_acl=elsewhere)
    await store.awrite_call(put_policy, policy, by=MANAGER, now=NOW)
    assert (await task.get("/v1/jobs")).status == 403
    mine = replace(policy, job_acl=JobAcl(namespace="default", job_id="web"))
    await store.awrite_call(put_policy, mine, by=MANAGER, now=NOW)
    assert (await task.get("/v1/jobs")).status == 200


async def test_an_identity_ends_with_its_allocation_and_with_its_key(store, alloc):
    task = Client(await sign(store, alloc))
    assert (await task.get("/v1/vars")).status == 200
    await store.acall(lambda: put_keys(store, root_key(state=RootKeyState.DEPRECATED)))
    assert (await task.get("/v1/vars")).status == 403
    await store.acall(lambda: put_keys(store, root_key()))
    over = alloc.changed(client_status=ClientStatus.COMPLETE)
    await store.acall(lambda: put(store, lambda change: put_found(change, over)))
    assert (await task.get("/v1/vars")).status == 403
    with pytest.raises(NotFound):
        await sign(store, alloc)


async def test_only_the_node_of_an_allocation_is_given_its_identities(store, alloc):
    with pytest.raises(NotAllowed, match="is not on node"):
        await sign(store, alloc, node=2)
    with pytest.raises(NotAllowed):
        await sign(store, alloc, by=AGENTS, secret="wrong")
    with pytest.raises(NotFound, match="has no task"):
        await sign(store, alloc, "nope")


async def test_a_changed_token_proves_nothing(store, alloc):
    token = await sign(store, alloc)
    head, body, signature = token.split(".")
    for bad in (f"{head}.{body}.", f"{head}.{body}.{signature[::-1]}", "a.b.c"):
        assert (await Client(bad).get("/v1/vars")).status == 403


async def test_a_further_identity_is_for_whom_its_block_says_and_ends_when_it_says(store, alloc):
    told = unproved(await sign(store, alloc, name="vault"))

    assert told["aud"] == "vault.io"
    assert told["exp"] - told["iat"] == 3600
    assert told["sub"] == f"global:default:web:{group_of(alloc)}:web:vault"
    assert (told["nomad_allocation_id"], told["nomad_task"]) == (alloc.id, "web")
    assert unproved(await sign(store, alloc, name="two"))["aud"] == ["a", "b"]
    assert "exp" not in unproved(await sign(store, alloc, name="two"))


async def test_a_further_identity_opens_nothing_here(store, alloc):
    for name in ("vault", "two", "bare"):
        shown = Client(await sign(store, alloc, name=name))
        assert (await shown.get("/v1/vars")).status == 403


async def test_only_identities_that_a_task_asks_for_are_signed(store, alloc):
    with pytest.raises(NotFound, match="asks for no identity 'other'"):
        await sign(store, alloc, name="other")
