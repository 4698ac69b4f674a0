import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from dashboard.security import content_security_policy, security_headers


def answered(view):
    return security_headers(view)(RequestFactory().get("/", HTTP_HOST="localhost"))


def test_a_page_allows_neither_inline_script_nor_inline_style():
    policy = answered(lambda request: HttpResponse())["Content-Security-Policy"]
    assert policy == (
        "default-src 'self'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self' ws://localhost; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'; style-src 'self'"
    )


def test_only_a_page_that_reads_its_nonce_may_mount_styles():
    told = []

    def editor(request):
        told.append(str(request.csp_nonce))
        return HttpResponse()

    first, second = answered(editor), answered(editor)
    assert first["Content-Security-Policy"].endswith(f"style-src 'self' 'nonce-{told[0]}'")
    assert told[0] != told[1]
    assert second["X-Frame-Options"] == "DENY"


def test_a_header_that_a_view_has_set_stays():
    def view(request):
        return HttpResponse(headers={"Referrer-Policy": "no-referrer"})

    assert answered(view)["Referrer-Policy"] == "no-referrer"


async def test_async_views_get_the_same_headers():
    async def view(request):
        return HttpResponse()

    response = await security_headers(view)(RequestFactory().get("/", HTTP_HOST="localhost"))
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(("is_secure", "scheme"), [(True, "wss"), (False, "ws")])
def test_the_socket_has_the_scheme_of_the_page(is_secure, scheme):
    assert f" {scheme}://b.example;" in content_security_policy(
        host="b.example", is_secure=is_secure
    )
