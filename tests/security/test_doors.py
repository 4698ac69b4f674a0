"""Every address of the URL map, by every method, for callers without the right: nothing moves."""

import asyncio
import hashlib

import pytest
from django.conf import settings

from tests.cluster.api.clients import make_token
from tests.security.world import NODE_SECRET, addresses, rows, samples

#: OPTIONS is left to the test of reads: it only ever tells methods.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
#: What a browser without a session may see.
OPEN = {"/login/", "/admin/jsi18n/"}
#: Answered without the middleware of pages.
OF_PROGRAMS = ("/v1/", "/.well-known/")
#: What every program may know, whatever token it shows (access.md 8.7).
OPEN_TO_PROGRAMS = {
    "/v1/openapi.json", "/v1/status/leader", "/v1/status/peers", "/v1/regions", "/v1/agent/health",
    # Asked before one signs in; and who one is without a token.
    "/v1/acl/auth-methods", "/v1/acl/token/self",
    # Sums; names in them are for who reads agents. That there is no license.
    "/v1/metrics", "/v1/operator/license",
    # Whoever is shown a signed token may check it.
    "/.well-known/jwks.json",
}  # fmt: skip
#: Lists that leave out what their reader may not see: a stranger's are empty (access.md 9.1).
EMPTY_TO_STRANGERS = {
    "/v1/namespaces", "/v1/node/pools", "/v1/plugins", "/v1/vars", "/v1/volumes",
    "/v1/acl/policies", "/v1/acl/roles",
}  # fmt: skip
#: Answers that show nothing and change nothing.
REFUSED = {301, 302, 307, 400, 401, 403, 404, 405, 410, 413, 501}
#: Would wait for ever for what it may read.
ENDLESS = {"/v1/event/stream", "/v1/agent/monitor"}
BODY = b'{"Job": {"ID": "web"}, "DrainSpec": {}, "Eligibility": "ineligible"}'


async def answers(client, where, methods=METHODS, **options):
    found = {}
    for method in methods:
        for path in where:
            response = await client.request(method, path, content=BODY, **options)
            found[method, path] = response
    return found


def of_api(world, namespace="default"):
    return [path for path in addresses(samples(world, namespace)) if path.startswith(OF_PROGRAMS)]


def of_pages(world, namespace="default"):
    every = addresses(samples(world, namespace))
    return [path for path in every if not path.startswith(OF_PROGRAMS)]


def statuses(found):
    """Of all answers but what every program may know."""
    told = (answer for (_, path), answer in found.items() if path not in OPEN_TO_PROGRAMS)
    return {answer.status_code for answer in told}


async def before():
    return await asyncio.to_thread(rows)


async def test_a_stranger_changes_nothing_and_sees_nothing(world, site):
    known = await before()
    async with site() as client:
        found = await answers(client, addresses(samples(world)))
    shown = {
        path
        for (method, path), response in found.items()
        if response.status_code not in REFUSED and response.content
    }
    assert shown <= OPEN | OPEN_TO_PROGRAMS | EMPTY_TO_STRANGERS
    assert {found["GET", path].text for path in EMPTY_TO_STRANGERS} == {"[]"}
    changed = {
        key
        for key, response in found.items()
        if key[0] not in ("GET", "HEAD") and response.status_code not in REFUSED
    }
    assert changed == set()
    assert await before() == known


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"X-Nomad-Token": "c0ffee00-0000-0000-0000-000000000000"}, id="unknown"),
        pytest.param({"X-Nomad-Token": "x" * 10_000}, id="long"),
        pytest.param({"X-Nomad-Token": "' OR 1=1 --"}, id="sql"),
        pytest.param({"X-Nomad-Token": b"\xff\xfe"}, id="not-text"),
        pytest.param({"Authorization": "Bearer wrong"}, id="bearer"),
    ],
)
async def test_a_wrong_token_is_none(headers, world, site):
    known = await before()
    async with site(headers=headers) as client:
        found = await answers(client, of_api(world), ("GET", "PUT", "POST", "DELETE"))
    assert statuses(found) <= {400, 403, 404, 405}
    assert await before() == known


async def test_a_password_of_basic_authentication_is_no_token(world, site):
    async with site(headers={"Authorization": "Basic cm9vdDpyb290"}) as client:
        found = await answers(client, set(of_api(world)) - EMPTY_TO_STRANGERS, ("GET", "PUT"))
    assert statuses(found) <= {400, 403, 404, 405, 501}


async def test_the_session_of_an_administrator_opens_no_door_of_programs(world, site, staff):
    known = await before()
    async with site(cookies=staff.cookies) as client:
        found = await answers(client, set(of_api(world)) - EMPTY_TO_STRANGERS)
    assert statuses(found) <= {400, 403, 404, 405, 501}
    assert await before() == known


async def test_a_token_opens_no_page_but_its_texts(world, site, store):
    secret = await asyncio.to_thread(make_token, store, "root")
    known = await before()
    headers = {"X-Nomad-Token": secret, "Authorization": f"Bearer {secret}"}
    async with site(headers=headers) as client:
        found = await answers(client, set(of_pages(world)) - OPEN)
    shown = {key for key, response in found.items() if response.status_code not in REFUSED}
    assert {method for method, _ in shown} <= {"GET", "HEAD"}
    assert {path.rpartition(".")[2] for _, path in shown} <= {"mmd", "json"}
    assert await before() == known


@pytest.mark.parametrize("rights", [{"team": "write"}, {"team": "read"}, {"*": "read"}])
async def test_a_token_changes_only_what_its_namespaces_hold(rights, world, site, store):
    secret = await asyncio.to_thread(make_token, store, "tenant", **rights)
    known = await before()
    async with site(headers={"X-Nomad-Token": secret}) as client:
        # Whoever has a token may hand it to a browser.
        where = set(of_api(world)) - {"/v1/acl/token/onetime"}
        found = await answers(client, where, ("PUT", "POST", "DELETE"))
    written = {key: answer for key, answer in found.items() if answer.status_code == 200}
    # Answers about what was sent along, not about what is stored.
    assert {path for _, path in written} <= {"/v1/search", "/v1/jobs/parse", "/v1/validate/job",
                                             "/v1/job/web/plan"}  # fmt: skip
    assert await before() == known


async def test_a_token_reads_nothing_of_other_namespaces(world, site, store):
    secret = await asyncio.to_thread(make_token, store, "tenant", team="write")
    hidden = (world.allocations["default"].id, world.evaluations["default"].id)
    async with site(headers={"X-Nomad-Token": secret}) as client:
        where = [path for path in of_api(world) if path not in ENDLESS]
        found = await answers(client, where, ("GET",), params={"namespace": "*"})
    leaks = {
        key[1]
        for key, response in found.items()
        if response.status_code == 200 and any(one in response.text for one in hidden)
    }
    assert leaks == set()
    texts = {response.status_code for response in found.values()}
    assert texts <= {200, 204, 400, 403, 404, 405, 501}


async def test_no_get_changes_anything(world, site, staff, store):
    secret = await asyncio.to_thread(make_token, store, "root")
    known = await before()
    async with site(headers={"X-Nomad-Token": secret}) as client:
        where = [path for path in of_api(world) if path not in ENDLESS]
        await answers(client, where, ("GET", "HEAD", "OPTIONS"))
    async with site(cookies=staff.cookies) as client:
        await answers(client, of_pages(world), ("GET", "HEAD", "OPTIONS"))
    assert await before() == known


async def test_no_page_takes_a_post_without_its_token(world, site, staff):
    known = await before()
    async with site(cookies=staff.cookies) as client:
        found = await answers(client, of_pages(world), ("POST", "PUT", "PATCH", "DELETE"))
        forged = {"Origin": "https://evil.example", "X-CSRFToken": "a" * 64}
        forged_found = await answers(client, of_pages(world), ("POST",), headers=forged)
    found = {
        (method, path): response.status_code
        for answered in (found, forged_found)
        for (method, path), response in answered.items()
    }
    wrong = {key: status for key, status in found.items() if status not in (403, 404, 405, 307)}
    assert wrong == {}
    assert await before() == known


async def test_a_person_of_one_namespace_sees_no_other_on_any_page(world, site, kim):
    hidden = (world.allocations["team"].id, world.evaluations["team"].id)
    async with site(cookies=kim.cookies) as client:
        found = await answers(client, of_pages(world, "team"), ("GET",))
    leaks = {
        key[1]
        for key, response in found.items()
        if response.status_code == 200 and any(one in response.text for one in hidden)
    }
    assert leaks == set()
    assert {r.status_code for r in found.values()} <= {200, 302, 307, 404, 405, 410, 403, 400}


async def test_buttons_reach_nothing_outside_ones_namespaces(world, site, kim):
    known = await before()
    secret = "a" * 32
    alloc = world.allocations["team"]
    form = {
        "csrfmiddlewaretoken": secret, "namespace": "team", "job": "web", "job_id": "web",
        "id": "web", "alloc": alloc.id, "alloc_id": alloc.id, "allocation": alloc.id,
        "eligibility": "ineligible", "eligible": "yes", "step": "run", "index": "0",
        "text": 'job "stolen" {\n namespace = "team"\n group "g" {\n task "t" {\n'
                ' driver = "mock_driver"\n }\n }\n}',
    }  # fmt: skip
    form["digest"] = hashlib.sha256(f"{form['text']}\0".encode()).hexdigest()
    cookies = kim.cookies | {settings.CSRF_COOKIE_NAME: secret}
    statuses = {}
    async with site(cookies=cookies) as client:
        for path in sorted(set(of_pages(world, "team")) - {"/logout/", "/login/"}):
            statuses[path] = (await client.post(path, data=form)).status_code
    assert statuses["/jobs/stop/"] != 403, "the form has its token"
    assert {path: status for path, status in statuses.items() if status >= 500} == {}
    assert await before() == known


async def test_an_agent_acts_for_its_own_node_only(world, site):
    """Without the node's secret, or with that of another node, every call is refused."""
    known = await before()
    fleet = [path for path in of_api(world) if path.startswith("/v1/fleet/")]
    wrong = [
        {"X-Bivouac-Node": world.node.id},
        {"X-Bivouac-Node": world.node.id, "Authorization": "Bearer wrong"},
        {"X-Bivouac-Node": "unknown", "Authorization": f"Bearer {NODE_SECRET}"},
        {"X-Bivouac-Node": world.node.id, "Authorization": f"Basic {NODE_SECRET}"},
    ]
    async with site() as client:
        for headers in wrong:
            typed = headers | {"Content-Type": "application/json"}
            found = await answers(client, fleet, headers=typed)
            assert {r.status_code for r in found.values()} <= {400, 403, 404, 405}
    assert await before() == known
