"""The public keys that an auth method trusts.

In: its configuration. Out: keys, each with its name if it has one. They are asked for anew at each
login, so that a key that was taken back is felt at once.
"""

import ssl
from collections.abc import Iterable
from typing import Any, NamedTuple

import httpx
import jwt
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from cluster.logins.errors import KeysUnreachable
from scheduler.structs.acl_auth import AuthConfig

_TIMEOUT_S = 10.0
_LARGEST_BYTES = 1024 * 1024
_WELL_KNOWN = "/.well-known/openid-configuration"
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class PublicKey(NamedTuple):
    """A key, and what tokens call it; "" when they do not."""

    key: Any
    name: str = ""


def public_keys(config: AuthConfig) -> list[PublicKey]:
    """The keys of a method. Raises KeysUnreachable."""
    if config.jwt_validation_pub_keys:
        return [PublicKey(_from_pem(text)) for text in config.jwt_validation_pub_keys]
    if config.jwks_url:
        return _from_set(config.jwks_url, (config.jwks_ca_cert,) if config.jwks_ca_cert else ())
    described = discovered(config)
    return _from_set(str(described.get("jwks_uri") or ""), config.discovery_ca_pem)


def discovered(config: AuthConfig) -> dict[str, Any]:
    """What a provider says of itself. Raises KeysUnreachable."""
    issuer = config.oidc_discovery_url.rstrip("/")
    found = fetch_json(issuer + _WELL_KNOWN, config.discovery_ca_pem)
    if str(found.get("issuer") or "").rstrip("/") != issuer:
        raise KeysUnreachable(
            f"{issuer}{_WELL_KNOWN}: its issuer is {found.get('issuer')!r}, not {issuer!r}"
        )
    return found


def fetch_json(url: str, certificates: Iterable[str]) -> dict[str, Any]:
    """The JSON object behind an address. Raises KeysUnreachable."""
    if not url.startswith(("https://", "http://")):
        raise KeysUnreachable(f"{url!r} is no http address")
    try:
        with (
            httpx.Client(
                verify=_trusting(certificates), timeout=_TIMEOUT_S, follow_redirects=False
            ) as client,
            client.stream("GET", url) as answer,
        ):
            answer.raise_for_status()
            content = b""
            for part in answer.iter_bytes():
                content += part
                if len(content) > _LARGEST_BYTES:
                    raise KeysUnreachable(f"{url}: the answer is longer than a set of keys")
        found = httpx.Response(200, content=content).json()
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, ValueError) as error:
        raise KeysUnreachable(f"{url}: {error}") from None
    if not isinstance(found, dict):
        raise KeysUnreachable(f"{url}: the answer is no JSON object")
    return found


def _from_set(url: str, certificates: Iterable[str]) -> list[PublicKey]:
    try:
        keys = jwt.PyJWKSet.from_dict(fetch_json(url, certificates)).keys
    except jwt.PyJWTError as error:
        raise KeysUnreachable(f"{url}: {error}") from None
    return [PublicKey(key.key, key.key_id or "") for key in keys]


def _from_pem(text: str) -> Any:
    try:
        if _CERTIFICATE in text:
            return load_pem_x509_certificate(text.encode()).public_key()
        return load_pem_public_key(text.encode())
    except ValueError:
        raise KeysUnreachable("JWTValidationPubKeys holds a text that is no public key") from None


def _trusting(certificates: Iterable[str]) -> ssl.SSLContext:
    own = "\n".join(certificates)
    return ssl.create_default_context(cadata=own or None)
