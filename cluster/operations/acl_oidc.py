"""Sign in by a browser at a provider: where to go, and who came back (access.md 6.4).

In: an auth method of the type OIDC, what the command line asked and what the browser brought. Out:
an address, or proved claims. What must be remembered between the two travels along, sealed, as
`State`: any server can finish what another began, and one that nobody finishes leaves nothing.
"""

import hashlib
import secrets

import msgspec
from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.logins.claims import Claims, mapped_claims
from cluster.logins.errors import ClaimsUnreadable, IssuerUnreachable, LoginRefused
from cluster.logins.provider import Ask, Provider, claims_of_code, provider_of, sign_in_address
from cluster.operations.acl_login import NotProved
from cluster.operations.errors import OperationRefused
from cluster.seals import SealBroken, opened_in_time, opened_secret, sealed_for_a_while
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_AUTH_METHODS
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, AuthType

#: Seconds that a sign-in may take.
_LIFE_S = 60
_RANDOM_BYTES = 32
_UNKNOWN = "no OIDC request found for client nonce"


class ProviderFailed(OperationRefused):
    """The provider of a method does not do its part."""

    status = 502


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody sends who wants to sign in."""

    method: str
    redirect_uri: str
    client_nonce: str


class Coming(Going, frozen=True, kw_only=True):
    """What somebody sends whose browser came back."""

    state: str
    code: str
    #: Empty: the provider does not say who it is.
    issuer: str


class _Remembered(msgspec.Struct, frozen=True, array_like=True):
    """What travels along, sealed."""

    method: str
    ask: Ask
    #: Of the command line's own nonce, which the browser never sees.
    client: str


def oidc_method(reader: StateReader, asked: Going) -> AuthMethod:
    """The method that somebody asks to sign in by, once nothing is missing."""
    needed = {"auth method name": asked.method, "client nonce": asked.client_nonce}
    what = "auth-url"
    if isinstance(asked, Coming):
        what = "complete-auth"
        needed |= {"state": asked.state, "code": asked.code}
    needed["redirect URI"] = asked.redirect_uri
    missing = [f"missing {name}" for name, given in needed.items() if not given]
    if missing:
        raise OperationRefused(f"invalid OIDC {what} request: {error_text(missing)}")
    method = reader.get(ACL_AUTH_METHODS, asked.method)
    if method is None:
        raise OperationRefused(f'auth-method "{asked.method}" not found')
    if method.type != AuthType.OIDC:
        raise OperationRefused(f"unsupported auth-method type: {method.type}")
    return method


def begun(method: AuthMethod, going: Going, *, now: int) -> str:
    """Where the browser signs in. Waits for the provider."""
    config = _config_of(method)
    if going.redirect_uri not in config.allowed_redirect_uris:
        raise OperationRefused(
            f"unauthorized redirect URI: {going.redirect_uri} is none of AllowedRedirectURIs"
        )
    ask = Ask(
        redirect_uri=going.redirect_uri,
        nonce=secrets.token_urlsafe(_RANDOM_BYTES),
        verifier=secrets.token_urlsafe(_RANDOM_BYTES) if config.oidc_enable_pkce else "",
    )
    kept = _Remembered(method.name, ask, _mark_of(going.client_nonce))
    state = sealed_for_a_while(msgspec.json.encode(kept).decode(), now=now)
    return sign_in_address(_provider(config), config, ask, state)


def came_back(method: AuthMethod, coming: Coming, *, now: int) -> Claims:
    """What the provider says of who came back. Waits for the provider."""
    try:
        opened = opened_in_time(coming.state, life_s=_LIFE_S, now=now)
    except SealBroken:
        raise OperationRefused(_UNKNOWN) from None
    kept = msgspec.json.decode(opened, type=_Remembered)
    same = (method.name, coming.redirect_uri, _mark_of(coming.client_nonce))
    if (kept.method, kept.ask.redirect_uri, kept.client) != same:
        raise OperationRefused(_UNKNOWN)
    config = _config_of(method)
    provider = _provider(config)
    if coming.issuer not in {"", provider.issuer}:
        raise NotProved(f"the browser came from {coming.issuer}, not from {provider.issuer}")
    try:
        said = claims_of_code(provider, config, kept.ask, coming.code, now=now)
        return mapped_claims(said, config.claim_mappings, config.list_claim_mappings)
    except IssuerUnreachable as error:
        raise ProviderFailed(f"failed to exchange token with provider: {error}") from None
    except LoginRefused as error:
        raise NotProved(f"failed to exchange token with provider: {error}") from None
    except ClaimsUnreadable as error:
        raise OperationRefused(str(error)) from None


def _config_of(method: AuthMethod) -> AuthConfig:
    config = method.config or AuthConfig()
    try:
        return replace(config, oidc_client_secret=opened_secret(config.oidc_client_secret))
    except SealBroken as error:
        raise OperationRefused(
            f"OIDCClientSecret of {method.name} does not open: {error}"
        ) from None


def _provider(config: AuthConfig) -> Provider:
    try:
        return provider_of(config)
    except IssuerUnreachable as error:
        raise ProviderFailed(f"failed to generate OIDC provider: {error}") from None


def _mark_of(client_nonce: str) -> str:
    return hashlib.sha256(client_nonce.encode()).hexdigest()
