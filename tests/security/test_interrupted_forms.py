"""Forms that could not be taken: what was typed comes back, with the reason and a way on."""

import html
import re

import pytest
from django.conf import settings

from cluster.store.health import HEALTH, RECORD
from scheduler.structs.moment import Moment
from tests.cluster.api.clients import NOW
from tests.security.test_own_faults import record_held
from tests.security.world import PASSWORD

TEXT = 'job "<kept>" {\n  type = "batch"\n}\n'
ORIGIN = {"Origin": "http://localhost"}


@pytest.fixture(autouse=True)
def own_origin(settings):
    settings.CSRF_TRUSTED_ORIGINS = ["http://localhost"]


def token_in(page):
    return re.search(r'name="csrfmiddlewaretoken" value="([^"]*)"', page.text)[1]


def kept_fields(page):
    """What the form on the page would send again."""
    fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page.text))
    text = re.search(r'<textarea[^>]*name="text"[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL)
    if text:
        fields["text"] = text[1]
    return {name: html.unescape(value) for name, value in fields.items()}


async def opened(client):
    """A token as the editor's page holds it."""
    return token_in(await client.get("/jobs/new/"))


async def sent(client, **fields):
    return await client.post("/jobs/new/", data={"step": "plan", **fields}, headers=ORIGIN)


async def test_a_form_with_an_old_token_keeps_the_text_and_can_be_sent_again(site, staff):
    async with site(cookies=staff.cookies) as client:
        await opened(client)
        refused = await sent(client, csrfmiddlewaretoken="x" * 64, text=TEXT, variables="a = 1")
        kept = kept_fields(refused)
        again = await client.post("/jobs/new/", data=kept, headers=ORIGIN)
    assert refused.status_code == 403
    assert "What you wrote is here." in refused.text
    assert (kept["text"], kept["variables"], kept["step"]) == (TEXT, "a = 1", "plan")
    assert again.status_code != 403
    assert html.escape(TEXT) in again.text


async def test_an_expired_session_keeps_the_text_until_one_is_back(site, staff):
    async with site() as client:
        client.cookies.update(staff.cookies)
        token = await opened(client)
        client.cookies.delete(settings.SESSION_COOKIE_NAME)
        refused = await sent(client, csrfmiddlewaretoken=token, text=TEXT)
        client.cookies.update(staff.cookies)
        again = await client.post("/jobs/new/", data=kept_fields(refused), headers=ORIGIN)
    assert refused.status_code == 401
    assert "You are signed out" in refused.text
    assert '<a href="/login/' in refused.text
    assert html.escape(TEXT) in again.text


async def test_a_foreign_page_gets_no_button_to_send_its_text(site, staff):
    async with site(cookies=staff.cookies) as client:
        await opened(client)
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
            refused = await client.post("/jobs/new/", data={"text": TEXT}, headers=headers)
            assert refused.status_code == 403
            assert "kept" not in refused.text
            assert "<form" not in refused.text


async def test_a_password_is_never_written_into_a_page(site, staff):
    async with site() as client:
        await client.get("/login/")
        fields = {"username": "root", "password": PASSWORD, "csrfmiddlewaretoken": "x" * 64}
        refused = await client.post("/login/", data=fields, headers=ORIGIN)
    assert refused.status_code == 403
    assert PASSWORD not in refused.text
    assert "root" in refused.text


async def test_a_button_pressed_while_the_record_is_locked_says_why(site, staff, world):
    async with site(cookies=staff.cookies) as client:
        token = await opened(client)
        with record_held():
            fields = {"csrfmiddlewaretoken": token, "namespace": "default", "job": "web"}
            answer = await client.post("/jobs/evaluate/", data=fields, headers=ORIGIN)
            page = await client.get("/jobs/default/web/")
    assert answer.status_code == 503
    assert "another writer holds the record" in answer.text
    assert "Nothing was changed" in answer.text
    assert int(answer.headers["Retry-After"]) <= 5
    assert kept_fields(answer)["job"] == "web"
    assert page.status_code == 200


async def test_every_page_says_what_does_not_work_until_it_is_over(site, staff, world):
    alloc = world.allocations["default"].id
    pages = [
        "/",
        "/jobs/",
        "/jobs/default/web/",
        "/evaluations/",
        f"/allocations/{alloc}/",
        "/nodes/",
    ]
    reason = "no space is left on the disk of the record"
    HEALTH.note(RECORD, reason, Moment(NOW, 1.0))
    try:
        async with site(cookies=staff.cookies) as client:
            during = [(await client.get(page)).text for page in pages]
            HEALTH.note(RECORD, "", Moment(NOW, 2.0))
            after = [(await client.get(page)).text for page in pages]
    finally:
        HEALTH.forget()
    told = f"Nothing can be changed since 15:06:40: {reason}."
    assert [told in text for text in during] == [True] * len(pages)
    assert [told in text for text in after] == [False] * len(pages)
