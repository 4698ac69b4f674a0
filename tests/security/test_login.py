"""Coming in: guessing is slowed down, links work once, a new session each time."""

import pytest
from django.conf import settings

from cluster.failed_guesses import FORGET_S, OwnGuesses
from cluster.runtime.clock import SystemClock
from cluster.store.tokens import create_login
from dashboard.throttle import FREE_OF_ADDRESS, FREE_OF_NAME, GUESSES, keys_of
from tests.security.world import PASSWORD

SECRET = "a" * 32
WRONG = "wrong"


@pytest.fixture(autouse=True)
def nobody_failed():
    GUESSES.own.clear()
    yield
    GUESSES.own.clear()


@pytest.fixture
def browser(site, store):
    return lambda **headers: site(
        cookies={settings.CSRF_COOKIE_NAME: SECRET}, headers={"X-CSRFToken": SECRET} | headers
    )


async def tries(client, count, name="root", password=WRONG, path="/login/"):
    form = {"username": name, "password": password}
    return [(await client.post(path, data=form)) for _ in range(count)]


async def test_after_a_few_wrong_tries_not_even_the_right_one_is_looked_at(browser, staff):
    async with browser() as client:
        wrong = await tries(client, FREE_OF_NAME + 1)
        right = (await tries(client, 1, password=PASSWORD))[0]
        other = (await tries(client, 1, name="kim"))[0]
    assert [one.status_code for one in wrong] == [200] * FREE_OF_NAME + [429]
    assert right.status_code == 429
    assert 0 < int(right.headers["retry-after"]) <= 2
    assert "Try again in" in right.text
    assert other.status_code == 200


async def test_the_admin_has_no_form_of_its_own_to_guess_at(browser, staff):
    async with browser() as client:
        right = (await tries(client, 1, password=PASSWORD, path="/admin/login/"))[0]
    assert right.headers["location"].startswith("/login/?next=")
    assert settings.SESSION_COOKIE_NAME not in right.cookies


async def test_a_forwarded_address_is_believed_only_from_a_named_proxy(browser, staff):
    async with browser() as client:
        for number in range(FREE_OF_NAME + 1):
            client.headers["X-Forwarded-For"] = f"10.0.0.{number}"
            last = (await tries(client, 1))[0]
    assert last.status_code == 429


async def test_the_right_password_forgives(browser, staff):
    async with browser() as client:
        await tries(client, FREE_OF_NAME)
        assert (await tries(client, 1, password=PASSWORD))[0].status_code == 302
    assert GUESSES.own.wait_s(keys_of("127.0.0.1", "root"), 0.0) == 0


def test_waits_double_up_to_a_bound_and_are_forgotten():
    failures, now, waits = OwnGuesses(), 0.0, []
    for _ in range(FREE_OF_NAME + 12):
        failures.note(keys_of("a", "root"), now)
        waits.append(failures.wait_s(keys_of("a", "root"), now))
        now += waits[-1]
    assert waits[FREE_OF_NAME : FREE_OF_NAME + 4] == [2, 4, 8, 16]
    assert waits[-1] == 300
    assert failures.wait_s(keys_of("a", "root"), now + FORGET_S) == 0


def test_an_address_that_tries_many_names_waits_for_all():
    failures = OwnGuesses()
    for number in range(FREE_OF_ADDRESS + 1):
        failures.note(keys_of("a", f"name-{number}"), 0.0)
    assert failures.wait_s(keys_of("a", "another"), 0.0) > 0
    assert failures.wait_s(keys_of("b", "another"), 0.0) == 0


@pytest.fixture
def link(store, staff):
    return create_login(store, staff.pk, now=SystemClock().now(), valid_for=10**12)


async def test_a_link_signs_in_once_and_only_by_get(site, link):
    secret = link
    async with site() as client:
        assert (await client.head(f"/login/once/{secret}")).status_code == 410
        first = await client.get(f"/login/once/{secret}")
        assert (first.status_code, first.headers["location"]) == (302, "/")
        client.cookies.clear()
        assert (await client.get(f"/login/once/{secret}")).status_code == 410
        for wrong in ("x", "%00", "a" * 5000, "..%2f", secret[:-1]):
            assert (await client.get(f"/login/once/{wrong}")).status_code in (400, 404, 410), wrong


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"],
)
async def test_signing_in_leads_to_our_own_pages_only(address, browser, staff):
    async with browser() as client:
        form = {"username": "root", "password": PASSWORD, "next": address}
        response = await client.post(f"/login/?next={address}", data=form)
    assert (response.status_code, response.headers["location"]) == (302, "/")
