"""Who sends too much is told when to come again; others, managers and agents go on."""

import asyncio

import pytest
from django.conf import settings as site_settings

from cluster import request_rates
from cluster.client_address import address_of
from cluster.request_rates import RequestRates
from cluster.store.audit import AuditFilter, read_audit
from tests.cluster.api.clients import make_token
from tests.security.world import NODE_SECRET, signed_in


@pytest.fixture(autouse=True)
def three_at_once(settings, monkeypatch):
    """Three requests, and then one in a quarter of an hour."""
    settings.BIVOUAC_RATE = 0.001
    settings.BIVOUAC_BURST = 3
    fresh = RequestRates("redis://127.0.0.1:1/0")
    for module in ("cluster.api.pace", "dashboard.page_rates"):
        monkeypatch.setattr(f"{module}.RATES", fresh)


async def token_of(store, name, **rights):
    return await asyncio.to_thread(make_token, store, name, **rights)


async def statuses(client, path, count, **options):
    return [(await client.get(path, **options)).status_code for _ in range(count)]


async def test_a_token_that_sends_too_much_is_told_when_to_come_again(world, site, store):
    secret = await token_of(store, "busy", default="read")
    async with site(headers={"X-Nomad-Token": secret}) as client:
        assert await statuses(client, "/v1/jobs", 3) == [200] * 3
        refused = await client.get("/v1/jobs")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 1000
    assert refused.text.startswith("Too many requests: 0.001 a second are allowed, 3 at once;")


async def test_another_token_and_a_manager_are_not_slowed_down(world, site, store):
    busy = await token_of(store, "busy", default="read")
    other = await token_of(store, "other", default="read")
    manager = await token_of(store, "manager")
    async with site() as client:
        await statuses(client, "/v1/jobs", 5, headers={"X-Nomad-Token": busy})
        assert await statuses(client, "/v1/jobs", 3, headers={"X-Nomad-Token": other}) == [200] * 3
        told = await statuses(client, "/v1/jobs", 20, headers={"X-Nomad-Token": manager})
    assert told == [200] * 20


async def test_managers_are_slowed_down_where_a_setting_says_so(world, site, store, settings):
    settings.BIVOUAC_RATE_MANAGEMENT = 2
    secret = await token_of(store, "manager")
    async with site(headers={"X-Nomad-Token": secret}) as client:
        assert 429 in await statuses(client, "/v1/jobs", 50)


async def test_bad_tokens_are_counted_by_address_and_do_no_harm_to_a_good_one(world, site, store):
    good = await token_of(store, "good", default="read")
    async with site() as client:
        for number, expected in enumerate([403, 403, 403, 429, 429]):
            answer = await client.get("/v1/jobs", headers={"X-Nomad-Token": f"guess-{number}"})
            assert answer.status_code == expected
        answer = await client.get("/v1/jobs", headers={"X-Nomad-Token": good})
    assert answer.status_code == 200


async def test_agents_are_never_slowed_down(world, site):
    headers = {"X-Bivouac-Node": world.node.id, "Authorization": f"Bearer {NODE_SECRET}"}
    async with site(headers=headers) as client:
        assert await statuses(client, "/v1/fleet/allocations", 20) == [200] * 20


async def test_a_person_who_asks_for_too_many_pages_is_told_when_to_come_again(world, site, staff):
    mary = await asyncio.to_thread(signed_in, "mary")
    async with site(cookies=staff.cookies) as client:
        seen = await statuses(client, "/nodes/", 3)
        refused = await client.get("/admin/")
    async with site(cookies=mary.cookies) as client:
        other = await statuses(client, "/help/states/", 1)
    assert 429 not in (*seen, *other)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "Too many requests" in refused.text


async def test_whoever_is_not_signed_in_is_counted_by_address(store, site):
    async with site() as client:
        assert await statuses(client, "/login/", 5) == [200, 200, 200, 429, 429]


async def test_too_many_requests_are_in_the_audit_once_with_their_count(world, site, store):
    secret = await token_of(store, "busy", default="read")
    async with site(headers={"X-Nomad-Token": secret}) as client:
        await statuses(client, "/v1/jobs", 9)

    def read():
        store.audit.flush()
        return read_audit(store, AuditFilter(), limit=10).rows

    [row] = await store.acall(read)
    told = (row.who_name, row.act, row.result, row.reason, row.count)
    assert told == ("busy", "many acts", "refused", "too many requests", 6)


def test_no_limit_is_the_default_of_managers_alone():
    assert site_settings.BIVOUAC_RATE_MANAGEMENT == 0
    assert request_rates.rate_of() is not None
    assert request_rates.rate_of(is_management=True) is None


@pytest.mark.parametrize(
    ("proxied", "expected"), [(None, "10.0.0.9"), (("HTTP_X", "https"), "203.0.113.7")]
)
def test_only_a_named_proxy_is_asked_for_the_address(rf, settings, proxied, expected):
    settings.SECURE_PROXY_SSL_HEADER = proxied
    asked = rf.get(
        "/", headers={"X-Forwarded-For": "1.1.1.1, 203.0.113.7"}, REMOTE_ADDR="10.0.0.9"
    )
    assert address_of(asked) == expected
