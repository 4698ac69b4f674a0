"""The public keys that an auth method trusts.

In: its configuration. Out: keys, each with its name if it has one. They are asked for anew at each
login, so that a key that was taken back is felt at once.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from cluster.logins.errors import IssuerUnreachable
from cluster.logins.fetch import fetch_json
from scheduler.structs.acl_auth import AuthConfig

_WELL_KNOWN = "/.well-known/openid-configuration"
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class PublicKey(NamedTuple):
    """A key, and what tokens call it; "" when they do not."""

    key: Any
    name: str = ""


def public_keys(config: AuthConfig) -> list[PublicKey]:
    """The keys of a method. Raises IssuerUnreachable."""
    if config.jwt_validation_pub_keys:
        return [PublicKey(_from_pem(text)) for text in config.jwt_validation_pub_keys]
    if config.jwks_url:
        return keys_at(config.jwks_url, (config.jwks_ca_cert,) if config.jwks_ca_cert else ())
    described = discovered(config)
    return keys_at(str(described.get("jwks_uri") or ""), config.discovery_ca_pem)


def discovered(config: AuthConfig) -> dict[str, Any]:
    """What a provider says of itself. Raises IssuerUnreachable."""
    issuer = config.oidc_discovery_url.rstrip("/")
    found = fetch_json(issuer + _WELL_KNOWN, config.discovery_ca_pem)
    if str(found.get("issuer") or "").rstrip("/") != issuer:
        raise IssuerUnreachable(
            f"{issuer}{_WELL_KNOWN}: its issuer is {found.get('issuer')!r}, not {issuer!r}"
        )
    return found


def keys_at(url: str, certificates: Iterable[str]) -> list[PublicKey]:
    """The keys of the set behind an address. Raises IssuerUnreachable."""
    try:
        keys = jwt.PyJWKSet.from_dict(fetch_json(url, certificates)).keys
    except jwt.PyJWTError as error:
        raise IssuerUnreachable(f"{url}: {error}") from None
    return [PublicKey(key.key, key.key_id or "") for key in keys]


def _from_pem(text: str) -> Any:
    try:
        if _CERTIFICATE in text:
            return load_pem_x509_certificate(text.encode()).public_key()
        return load_pem_public_key(text.encode())
    except ValueError:
        raise IssuerUnreachable(
            "JWTValidationPubKeys holds a text that is no public key"
        ) from None
