"""Who may call what: each route by every kind of caller, over the real application and record."""

import logging
import re

import msgspec
import pytest
from django.urls import resolve

from cluster.api import urls
from cluster.api.request import unknown_path
from cluster.operations.acl_policies import delete_policy, put_policy
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.story import Story, StoryKind
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, Client, put
from tests.rights import (
    ALLOC,
    ANYBODY,
    CALLERS,
    DEPLOYMENT,
    DOCUMENT,
    EVAL,
    MANAGEMENT,
    STORY,
    STORY_OF_NODE,
    STORY_OF_OPERATOR,
    TABLE,
    document,
    granted_by,
    idle_rights,
    passes,
    policy_of,
    single_rights,
)

DENIED = "Permission denied"
BAD_TOKENS = {
    "unknown": "c0ffee00-0000-0000-0000-000000000000",
    "malformed": "abc",
    "long": "x" * 10_000,
}
#: What answers whatever token is shown (access.md 9.3).
OPEN = {
    "openapi.json", "metrics",
    "status/leader", "status/peers", "regions", "agent/health", "acl/auth-methods", "acl/login",
    "acl/bootstrap", "acl/token/onetime/exchange", "acl/oidc/auth-url", "acl/oidc/complete-auth",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    """Thousands of answers of 501 are not worth a line each."""
    logger = logging.getLogger("django.request")
    before, logger.disabled = logger.disabled, True
    yield
    logger.disabled = before


@pytest.fixture
def world(store):
    """A job, an evaluation, a node, an allocation and a deployment of `default`."""

    def fill(change):
        job = write_job(change, make_job())
        put_found(change, make_node(1))
        put_found(change, make_evaluation(id=EVAL, status=EvalStatus.COMPLETE, snapshot_index=1))
        put_found(
            change,
            make_allocation(job, id=ALLOC, eval_id=EVAL, deployment_id=DEPLOYMENT),
        )
        put_found(
            change, Deployment(id=DEPLOYMENT, job_id="web", task_groups={"group": GroupRollout()})
        )
        change.put(NAMESPACES, Namespace(name="team", create_index=1))
        change.put(STORIES, Story(id=STORY, namespace="default", job_id="web"))
        change.put(STORIES, Story(id=STORY_OF_NODE, kind=StoryKind.DRAIN))
        change.put(STORIES, Story(id=STORY_OF_OPERATOR, kind=StoryKind.CONFIGURATION))
        change.put(QUOTAS, QuotaSpec(name="small", create_index=1))

    put(store, fill)
    return store


async def grant(store, *rules):
    """Let whoever shows no token have these rights, and no others."""
    policy = AclPolicy(name="anonymous", rules="\n".join(rules))
    await store.awrite_call(put_policy, policy, by=MANAGER, now=NOW)


async def answer_to(client, row, method):
    path = f"/v1/{row.path}"
    answer = await client.send(method, path, row.body if method != "GET" else None)
    if hasattr(answer, "streaming_content"):
        if not row.path.startswith(("event/stream", "agent/monitor")):
            async for _ in answer.streaming_content:
                pass
        return answer.status_code, "", None
    return answer.status, answer.text, answer.json


def methods_of(row):
    """A route that takes PUT takes POST for it."""
    methods = row.methods.split()
    strict = row.path.startswith("system/")
    return methods if strict or "PUT" not in methods or "POST" in methods else [*methods, "POST"]


def _faults_of(row):
    """Answers that say something broke.

    503 is what health says of a cluster that stands still, 500 what the reference answers to a
    body that is no snapshot.
    """
    return {"agent/health": {500}, "operator/snapshot": {503}}.get(row.path, {500, 503})


async def faults_of(client, granted, rows=None, methods=methods_of):
    """Of a caller with these rights, the answers that are not those of the table."""
    faults = []
    for row in TABLE if rows is None else rows:
        for method in methods(row):
            status, text, body = await answer_to(client, row, method)
            told = f"{method} {row.path}: {status} {text[:60]!r}"
            if not passes(row.right, granted):
                wanted = 404 if row.is_hidden and "read-job" not in granted else 403
                if status != wanted or (status == 403 and text != DENIED):
                    faults.append(f"{told}, wanted {wanted}")
            elif status == 403 or (row.is_hidden and status == 404) or status in _faults_of(row):
                faults.append(f"{told}, wanted to be let in")
            elif row.entries and bool(body) is not passes(row.entries, granted):
                faults.append(f"{told}, wanted {'an entry' if not body else 'nothing'}")
    return faults


def routes():
    """Each route of the API with its methods; POST goes with PUT."""
    for pattern in urls.urlpatterns:
        for method in getattr(pattern.callback, "methods", ()):
            if method != "POST" or "PUT" not in pattern.callback.methods:
                yield pattern, method


def test_every_route_has_a_row():
    rows = {
        (resolve(f"/{row.path.partition('?')[0]}", urlconf=urls).func, method)
        for row in TABLE
        for method in row.methods.split()
    }
    missing = {
        f"{method} {each.pattern}"
        for each, method in routes()
        if (each.callback, method) not in rows
    }
    assert missing == set()


def test_every_row_is_of_a_route():
    for row in TABLE:
        view = resolve(f"/{row.path.partition('?')[0]}", urlconf=urls).func
        assert view is not unknown_path, row.path
        assert set(row.methods.split()) <= view.methods, row.path


async def test_nobody_is_shown_anything(world, stranger):
    assert await faults_of(stranger, CALLERS["nobody"]) == []


@pytest.mark.parametrize("right", single_rights())
async def test_one_right_alone_opens_what_it_says(world, stranger, right):
    await grant(world, policy_of(right))

    # POST goes the way of PUT, which other callers show.
    def methods(row):
        return row.methods.split()

    assert await faults_of(stranger, granted_by(right), methods=methods) == []


async def test_capabilities_that_no_route_asks_for_open_nothing(world, stranger):
    await grant(world, *map(policy_of, idle_rights()))
    assert await faults_of(stranger, {"any right", "any in default"}) == []


@pytest.mark.parametrize("level", ["read", "write"])
async def test_a_level_of_a_namespace_opens_what_it_stands_for(world, stranger, level):
    await grant(world, f'namespace "default" {{ policy = "{level}" }}')
    assert await faults_of(stranger, CALLERS[level]) == []


async def test_rights_that_are_needed_together_are_enough_together(world, stranger):
    for row in TABLE:
        for alternative in row.right.split("|"):
            parts = [part.strip() for part in alternative.split("+")]
            if len(parts) > 1:
                await grant(world, *map(policy_of, parts))
                granted = frozenset().union(*map(granted_by, parts))
                assert await faults_of(stranger, granted, [row]) == []


async def test_a_manager_passes_everywhere(world, api):
    assert await faults_of(api, {MANAGEMENT}) == []


async def test_rights_of_another_namespace_open_nothing_of_this_one(world, stranger):
    await grant(world, 'namespace "team" { policy = "write" }')
    rows = [row for row in TABLE if row.right != ANYBODY]
    assert await faults_of(stranger, {"any right"}, rows) == []


async def test_a_denied_namespace_is_closed_whatever_a_wider_policy_grants(world, stranger):
    rules = 'namespace "*" { policy = "write" }', 'namespace "default" { policy = "deny" }'
    await grant(world, *rules)
    rows = [row for row in TABLE if row.right != ANYBODY]
    assert await faults_of(stranger, {"any right"}, rows) == []


@pytest.mark.parametrize("kind", [*BAD_TOKENS, "expired"])
async def test_a_token_that_is_not_good_opens_what_everybody_may_know(world, expired, kind):
    """Also where a caller without any token would be let in."""
    await grant(world, 'namespace "*" { policy = "write" }', policy_of("node:write"))
    client = expired if kind == "expired" else Client(BAD_TOKENS[kind])
    wrong = []
    for row in TABLE:
        for method in methods_of(row):
            status, text, _ = await answer_to(client, row, method)
            if row.path in OPEN:
                wanted = status not in {403, *_faults_of(row)}
            else:
                wanted = (status, text) == (403, DENIED)
            if not wanted:
                wrong.append(f"{method} {row.path}: {status} {text[:60]!r}")
    assert wrong == []


async def test_who_loses_the_right_is_refused_with_the_next_request(world, stranger):
    await grant(world, policy_of("list-jobs"))
    assert (await stranger.get("/v1/jobs")).status == 200

    await world.awrite_call(delete_policy, "anonymous", by=MANAGER, now=NOW)

    assert (await stranger.get("/v1/jobs")).status == 403


def test_the_document_is_what_the_table_says():
    assert DOCUMENT.read_text() == document(), "python -m tests.rights"
    assert msgspec.json.encode(document()).isascii()
    assert re.findall(r"`[^`\n]*[^/`]<name>[^`]*`", document()) == []
