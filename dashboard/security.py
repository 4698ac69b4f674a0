"""The security headers of every page: a Content-Security-Policy without inline script or style.

The editor page alone mounts styles at run time; it reads `request.csp_nonce`, and only a response
whose request read the nonce allows it.
"""

import base64
import secrets
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.functional import SimpleLazyObject

_FIXED = (
    "default-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'{sockets}; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Response = HttpResponseBase


class _Nonce:
    """A nonce that is made when first read, so that unread ones never widen the policy."""

    def __init__(self) -> None:
        self.value = ""

    def read(self) -> str:
        if not self.value:
            self.value = base64.urlsafe_b64encode(secrets.token_bytes(18)).decode()
        return self.value


def content_security_policy(*, host: str, is_secure: bool, nonce: str = "") -> str:
    """The policy of one response. Older browsers do not read `'self'` for websockets."""
    sockets = f" {'wss' if is_secure else 'ws'}://{host}" if host else ""
    style = f"style-src 'self' 'nonce-{nonce}'" if nonce else "style-src 'self'"
    return f"{_FIXED.format(sockets=sockets)}; {style}"


@sync_and_async_middleware
def security_headers(
    get_response: Callable[[HttpRequest], Response | Awaitable[Response]],
) -> Callable[[HttpRequest], Response | Awaitable[Response]]:
    """Middleware: gives each request a lazy `csp_nonce` and each response the headers."""

    def prepare(request: HttpRequest) -> _Nonce:
        nonce = _Nonce()
        request.csp_nonce = SimpleLazyObject(nonce.read)  # type: ignore[attr-defined] # ours
        return nonce

    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> Response:
            nonce = prepare(request)
            answer = get_response(request)
            assert not isinstance(answer, HttpResponseBase), (
                "a coroutine function returns a coroutine"
            )
            return _with_headers(request, await answer, nonce)

        markcoroutinefunction(handle_async)
        return handle_async

    def handle(request: HttpRequest) -> Response:
        nonce = prepare(request)
        answer = get_response(request)
        assert isinstance(answer, HttpResponseBase), "a plain function returns a response"
        return _with_headers(request, answer, nonce)

    return handle


def _with_headers(request: HttpRequest, response: Response, nonce: _Nonce) -> Response:
    host = request.get_host() if response.status_code != 400 else ""
    response.headers.setdefault(
        "Content-Security-Policy",
        content_security_policy(host=host, is_secure=request.is_secure(), nonce=nonce.value),
    )
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        # What a signed-in person saw is not kept for who uses the browser next.
        response.headers.setdefault("Cache-Control", "no-store")
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
