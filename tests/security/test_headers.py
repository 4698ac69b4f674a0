"""The headers of every answer of a page, the admin and errors included; cookies; https."""

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from cluster.environment import env_origin
from tests.security.test_doors import answers, of_pages

PLAIN = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def policy_of(response):
    parts = (part.split() for part in response.headers["content-security-policy"].split(";"))
    return {words[0]: words[1:] for words in parts if words}


def assert_guarded(response, path):
    assert {name: response.headers.get(name) for name in PLAIN} == PLAIN, path
    policy = policy_of(response)
    assert policy["default-src"] == ["'self'"], path
    assert policy["script-src"] == ["'self'"], path
    for name in ("object-src", "base-uri", "frame-ancestors"):
        assert policy[name] == ["'none'"], path
    assert policy["form-action"] == ["'self'"], path
    assert "unsafe" not in response.headers["content-security-policy"], path


async def test_every_page_is_guarded_also_where_there_is_none(world, site, staff):
    async with site(cookies=staff.cookies) as client:
        where = [*of_pages(world), "/nothing/", "/jobs/default/nothing/", "/admin/nothing/"]
        found = await answers(client, where, ("GET",))
        refused = await answers(client, ["/jobs/stop/", "/login/"], ("POST",))
        wrong_host = await client.get("/", headers={"Host": "evil.example"})
    assert found["GET", "/jobs/"].headers["cache-control"] == "no-store"
    for (_, path), response in (*found.items(), *refused.items()):
        assert response.status_code < 500, path
        assert "no-store" in response.headers.get("cache-control", ""), path
        assert_guarded(response, path)
    assert wrong_host.status_code == 400
    assert_guarded(wrong_host, "a foreign Host")


async def test_markup_holds_neither_inline_script_nor_inline_style(world, site, staff):
    async with site(cookies=staff.cookies) as client:
        found = await answers(client, of_pages(world), ("GET",))
    for (_, path), response in found.items():
        if not response.headers.get("content-type", "").startswith("text/html"):
            continue
        text = response.text.lower()
        assert " style=" not in text or path.startswith("/admin/"), path
        for wrong in ("<style", "javascript:", " onclick=", " onload=", " onerror=", " onsubmit="):
            assert wrong not in text, (path, wrong)
        for tag in text.split("<script")[1:]:
            head = tag.split(">")[0]
            assert "src=" in head or "application/json" in head or "importmap" in head, path


async def test_a_fault_of_ours_shows_nothing_of_itself_and_is_guarded(
    world, site, kim, monkeypatch
):
    from dashboard import page

    def fail(user):
        raise RuntimeError("canary-in-a-traceback")

    monkeypatch.setattr(page, "person_of", fail)
    async with site(cookies=kim.cookies) as client:
        response = await client.get("/jobs/")
    assert response.status_code == 500
    assert "canary" not in response.text
    assert "Traceback" not in response.text
    assert_guarded(response, "500")


async def test_cookies_are_hidden_from_scripts_and_from_other_sites(world, site, staff):
    async with site() as client:
        opened = await client.get("/login/")
        token = opened.cookies[settings.CSRF_COOKIE_NAME]
        form = {"username": "root", "password": "correct horse battery"}
        client.headers["X-CSRFToken"] = token
        entered = await client.post("/login/", data=form)
    assert entered.status_code == 302
    cookies = entered.headers.get_list("set-cookie")
    session = next(c for c in cookies if c.startswith(settings.SESSION_COOKIE_NAME + "="))
    assert "HttpOnly" in session
    for cookie in (*cookies, *opened.headers.get_list("set-cookie")):
        assert "SameSite=Lax" in cookie
        assert "Domain=" not in cookie
        assert "Path=/" in cookie
    assert staff.cookies[settings.SESSION_COOKIE_NAME] not in session, "a new session at login"


HTTPS = """
import django
django.setup()
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from cluster.environment import env_origin
from django.test import Client
response = Client(SERVER_NAME="b.example").get("/help/states/", secure=True)
print(response.status_code, response.headers.get("Strict-Transport-Security"))
print(settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE)
print(settings.CSRF_COOKIE_NAME, settings.CSRF_COOKIE_SECURE)
print(settings.CSRF_TRUSTED_ORIGINS)
print(settings.SECURE_PROXY_SSL_HEADER)
"""


def run(code, tmp_path, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=settings.BASE_DIR, timeout=60, check=False,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "cluster.settings",
                          "BIVOUAC_DATA_DIR": str(tmp_path)} | environment,
    )  # fmt: skip


def test_behind_https_cookies_are_bound_to_the_host_and_browsers_stay_with_https(tmp_path):
    done = run(HTTPS, tmp_path, BIVOUAC_PUBLIC_URL="https://b.example:443/")
    assert done.stdout.splitlines() == [
        "302 max-age=31536000; includeSubDomains",
        "__Host-bivouac True",
        "__Host-bivouac-csrf True",
        "['https://b.example']",
        "None",
    ], done.stderr


@pytest.mark.parametrize(
    "url",
    ["b.example", "ftp://b.example", "https://", "https://x@b.example", "https://b.example/p"],
)
def test_a_public_address_that_is_none_is_refused_by_name(url, monkeypatch):
    monkeypatch.setenv("BIVOUAC_PUBLIC_URL", url)
    with pytest.raises(ImproperlyConfigured, match="BIVOUAC_PUBLIC_URL must"):
        env_origin("BIVOUAC_PUBLIC_URL", "")


@pytest.mark.parametrize("given", ["https", "https, http"])
async def test_only_a_named_proxy_is_believed_about_the_scheme(given, world, site):
    async with site() as client:
        response = await client.get("/login/", headers={"X-Forwarded-Proto": given})
    assert "strict-transport-security" not in response.headers
    assert "wss:" not in response.headers["content-security-policy"]
