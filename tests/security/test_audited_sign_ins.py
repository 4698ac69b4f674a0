"""Coming in and going out is in the audit, refusals included, and no password ever is."""

import pytest
from django.conf import settings

from cluster.runtime.clock import SystemClock
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.tokens import create_login
from dashboard.throttle import FREE_OF_NAME, GUESSES
from tests.security.world import PASSWORD

SECRET = "a" * 32
MINUTE = 60 * 10**9


@pytest.fixture(autouse=True)
def nobody_failed():
    GUESSES.own.clear()
    yield
    GUESSES.own.clear()


@pytest.fixture
def browser(site, store):
    return site(cookies={settings.CSRF_COOKIE_NAME: SECRET}, headers={"X-CSRFToken": SECRET})


async def rows(store):
    """What the audit holds, oldest first."""

    def read():
        store.audit.flush()
        return read_audit(store, AuditFilter(), limit=100).rows[::-1]

    return await store.acall(read)


async def told(store, *parts):
    return [tuple(getattr(row, part) for part in parts) for row in await rows(store)]


async def signs_in(client, name, password):
    return await client.post("/login/", data={"username": name, "password": password})


async def test_a_sign_in_and_a_sign_out_are_told(browser, staff, store):
    async with browser as client:
        came_in = await signs_in(client, "root", PASSWORD)
        # A sign-in changes the token of forms.
        token = came_in.cookies[settings.CSRF_COOKIE_NAME]
        client.cookies.delete(settings.CSRF_COOKIE_NAME, domain="", path="/")
        await client.post("/logout/", headers={"X-CSRFToken": token})
    assert await told(store, "who_kind", "who_name", "door", "act", "result", "address") == [
        ("person", "root", "page", "sign in", "done", "127.0.0.1"),
        ("person", "root", "page", "sign out", "done", "127.0.0.1"),
    ]


async def test_wrong_passwords_are_told_under_the_account_and_counted(browser, staff, store):
    async with browser as client:
        for _ in range(FREE_OF_NAME + 2):
            await signs_in(client, "root", "wrong")
    seen = await told(store, "who_name", "act", "result", "reason")
    assert set(seen) == {
        ("root", "sign in", "refused", "wrong name or password"),
        ("root", "sign in", "refused", "too many wrong tries"),
    }
    assert sum(count for (count,) in await told(store, "count")) == FREE_OF_NAME + 2


async def test_a_password_typed_as_a_name_is_kept_nowhere(browser, staff, store):
    async with browser as client:
        await signs_in(client, PASSWORD, "kim")
        await signs_in(client, PASSWORD, PASSWORD)
    parts = ("who_kind", "who_name", "door", "result", "count")
    assert await told(store, *parts) == [("nobody", "", "page", "refused", 2)]
    assert PASSWORD not in str(await rows(store))


async def test_login_links_are_told_when_they_work_and_when_not(browser, staff, store):
    secret = await store.acall(
        lambda: create_login(store, staff.pk, now=SystemClock().now(), valid_for=MINUTE)
    )
    async with browser as client:
        assert (await client.get(f"/login/once/{secret}")).status_code == 302
        assert (await client.get(f"/login/once/{secret}")).status_code == 410
    assert await told(store, "who_name", "act", "result") == [
        ("root", "sign in by a link", "done"),
        ("", "sign in by a link", "refused"),
    ]
    assert secret not in str(await rows(store))
