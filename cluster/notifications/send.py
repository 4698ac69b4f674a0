"""One message over HTTP to an address that an operator gave: signed, bounded, without redirects.

In: the address, the lines, the present. Out: nothing, or `NotSent` that says why. Addresses inside
the network are refused unless a setting allows them: what is behind one is not the operator's to
reach by way of this server. The name is looked up once, and what was looked at is connected to.
"""

import hashlib
import hmac
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
import msgspec

TIMEOUT_S = 5.0
_LONGEST_URL = 2048
_SECOND = 1_000_000_000


class NotSent(Exception):
    """The message did not arrive, or nobody said that it did; the text says why."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What goes out."""

    id: str
    lines: tuple[str, ...]
    #: Signs the body; "": nothing does.
    secret: str = ""


def address_problem(url: str) -> str:
    """Why nothing can be sent to an address; "" when it can."""
    if not url or len(url) > _LONGEST_URL or not url.isprintable():
        return f"URL must have 1 to {_LONGEST_URL} characters that can be printed"
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return "URL is not an address"
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        return "URL must begin with http:// or https:// and name a host"
    if parts.username or parts.password:
        return "URL must not hold a name or a password"
    return ""


def shown_host(url: str) -> str:
    """Of an address what may be shown: those of chat services hold a secret in their paths."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def send(url: str, message: Message, *, now: int, allows_private: bool) -> None:
    """Send it once. `now` in ns. Raises NotSent."""
    problem = address_problem(url)
    if problem:
        raise NotSent(problem)
    parts = urlsplit(url)
    host = parts.hostname or ""
    place = _place_of(host, parts.port or (443 if parts.scheme == "https" else 80), allows_private)
    at = f"[{place}]" if ":" in place else place
    port = f":{parts.port}" if parts.port else ""
    body = msgspec.json.encode({"text": "\n".join(message.lines)})
    headers = {
        "Host": f"{host}{port}",
        "Content-Type": "application/json",
        "Idempotency-Key": message.id,
    }
    if message.secret:
        headers["X-Bivouac-Signature"] = signature(message.secret, body, now)
    try:
        with (
            httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "POST",
                parts._replace(netloc=f"{at}{port}", fragment="").geturl(),
                content=body,
                headers=headers,
                extensions={"sni_hostname": host},
            ) as answer,
        ):
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise NotSent(f"{type(error).__name__}: {error}".rstrip(": ")[:200]) from None
    if 300 <= status < 400:
        raise NotSent(f"it answers {status}: redirects are not followed")
    if not 200 <= status < 300:
        raise NotSent(f"it answers {status}")


def signature(secret: str, body: bytes, now: int) -> str:
    """`t=<seconds>,v1=<hex>`: HMAC-SHA-256 over the seconds, a dot and the body."""
    seconds = str(now // _SECOND)
    signed = hmac.new(secret.encode(), seconds.encode() + b"." + body, hashlib.sha256)
    return f"t={seconds},v1={signed.hexdigest()}"


def _place_of(host: str, port: int, allows_private: bool) -> str:  # noqa: FBT001 - a rule
    """The address behind a name. Raises NotSent."""
    try:
        found: Sequence[str] = [
            str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        ]
    except (OSError, UnicodeError):
        raise NotSent(f"no address is known for {host}") from None
    if not allows_private:
        for each in found:
            if not ip_address(each.partition("%")[0]).is_global:
                raise NotSent(f"{host} is an address inside the network")
    return found[0]
