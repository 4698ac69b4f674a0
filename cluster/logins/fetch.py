"""Asking an issuer over HTTP: JSON objects of a bounded size, in a bounded time, no redirects.

In: an address, the certificates that are trusted (none given: those of the system), what is
sent. Out: the object, or `IssuerUnreachable`, or `LoginRefused` where a form was refused.
"""

import ssl
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import httpx

from cluster.logins.errors import IssuerUnreachable, LoginRefused

_TIMEOUT_S = 10.0
_LARGEST_BYTES = 1024 * 1024
_LONGEST_REASON = 200


class _Answer(NamedTuple):
    status: int
    content: bytes


def fetch_json(
    url: str, certificates: Iterable[str], headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object behind an address. Raises IssuerUnreachable."""
    answer = _asked(url, certificates, "GET", headers)
    if answer.status != 200:
        raise IssuerUnreachable(f"{url}: it answers {answer.status}")
    return _object(url, answer)


def post_form(
    url: str, certificates: Iterable[str], form: Mapping[str, str], headers: Mapping[str, str]
) -> dict[str, Any]:
    """What answers a form. Raises IssuerUnreachable, LoginRefused."""
    answer = _asked(url, certificates, "POST", headers, form)
    if 400 <= answer.status < 500:
        reason = str(_object(url, answer).get("error") or answer.status)
        raise LoginRefused(f"the provider refused the code: {reason[:_LONGEST_REASON]}")
    if answer.status != 200:
        raise IssuerUnreachable(f"{url}: it answers {answer.status}")
    return _object(url, answer)


def _asked(
    url: str,
    certificates: Iterable[str],
    method: str,
    headers: Mapping[str, str] | None,
    form: Mapping[str, str] | None = None,
) -> _Answer:
    if not url.startswith(("https://", "http://")):
        raise IssuerUnreachable(f"{url!r} is no http address")
    try:
        with (
            httpx.Client(
                verify=_trusting(certificates), timeout=_TIMEOUT_S, follow_redirects=False
            ) as client,
            client.stream(method, url, data=form, headers=headers) as answer,
        ):
            content = b""
            for part in answer.iter_bytes():
                content += part
                if len(content) > _LARGEST_BYTES:
                    raise IssuerUnreachable(f"{url}: the answer is too long")
            return _Answer(answer.status_code, content)
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, ValueError) as error:
        raise IssuerUnreachable(f"{url}: {error}") from None


def _object(url: str, answer: _Answer) -> dict[str, Any]:
    try:
        found = httpx.Response(200, content=answer.content).json()
    except ValueError as error:
        raise IssuerUnreachable(f"{url}: {error}") from None
    if not isinstance(found, dict):
        raise IssuerUnreachable(f"{url}: the answer is no JSON object")
    return found


def _trusting(certificates: Iterable[str]) -> ssl.SSLContext:
    own = "\n".join(certificates)
    return ssl.create_default_context(cadata=own or None)
