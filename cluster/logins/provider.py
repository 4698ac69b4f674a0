"""An OpenID provider as its client sees it: where to sign in, and a code exchanged for claims.

In: the configuration of a client (an auth method, or the settings of the pages) and what the
browser brought back. Out: addresses, or claims that are proved. Who remembers state, nonce and
verifier between the two is not this module's business.
"""

import base64
import hashlib
import hmac
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from msgspec.structs import replace

from cluster.logins.errors import IssuerUnreachable, LoginRefused
from cluster.logins.fetch import fetch_json, post_form
from cluster.logins.keys import discovered, keys_at
from cluster.logins.verify import verified_claims
from scheduler.structs.acl_auth import AuthConfig

_OPENID = "openid"
#: Of an id token, never overwritten by what the user-info endpoint says.
_KEPT = ("iss", "sub")


class Provider(NamedTuple):
    """What a provider says of itself; an address it does not have is empty."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str
    end_session_endpoint: str
    jwks_uri: str
    #: Whether a client's secret is sent in the form; in the header otherwise.
    takes_secret_in_form: bool


class Ask(NamedTuple):
    """One sign-in under way: what was sent along, and must come back."""

    redirect_uri: str
    nonce: str
    #: Empty: sent without a proof that the same client asks for both (PKCE).
    verifier: str


def provider_of(config: AuthConfig) -> Provider:
    """The provider of a client, asked anew. Raises IssuerUnreachable."""
    said = discovered(config)
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not isinstance(said.get(name), str):
            raise IssuerUnreachable(f"{config.oidc_discovery_url}: it names no {name}")
    # What is left out means the header, as the standard says.
    ways = said.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Provider(
        issuer=str(said["issuer"]),
        authorization_endpoint=said["authorization_endpoint"],
        token_endpoint=said["token_endpoint"],
        userinfo_endpoint=str(said.get("userinfo_endpoint") or ""),
        end_session_endpoint=str(said.get("end_session_endpoint") or ""),
        jwks_uri=said["jwks_uri"],
        takes_secret_in_form="client_secret_basic" not in ways,
    )


def sign_in_address(provider: Provider, config: AuthConfig, ask: Ask, state: str) -> str:
    """Where a browser signs in, to come back with a code."""
    fields = {
        "response_type": "code",
        "scope": " ".join(dict.fromkeys((_OPENID, *config.oidc_scopes))),
        "client_id": config.oidc_client_id,
        "redirect_uri": ask.redirect_uri,
        "state": state,
        "nonce": ask.nonce,
    }
    if ask.verifier:
        fields["code_challenge"] = challenge_of(ask.verifier)
        fields["code_challenge_method"] = "S256"
    mark = "&" if "?" in provider.authorization_endpoint else "?"
    return f"{provider.authorization_endpoint}{mark}{urlencode(fields)}"


def challenge_of(verifier: str) -> str:
    """What is shown of a verifier before it is shown itself (RFC 7636, S256)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def claims_of_code(
    provider: Provider, config: AuthConfig, ask: Ask, code: str, *, now: int
) -> dict[str, Any]:
    """Who came back with a code: the claims of the id token, and of the user-info endpoint.

    `now` in ns. Waits for the provider. Raises IssuerUnreachable, LoginRefused.
    """
    tokens = _exchanged(provider, config, ask, code)
    id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
    if not isinstance(id_token, str):
        raise LoginRefused("the provider sent no id token")
    claims = _proved(provider, config, ask, id_token, now=now)
    if config.oidc_disable_user_info or not provider.userinfo_endpoint or not access_token:
        return claims
    bearer = {"Authorization": f"Bearer {access_token}"}
    told = fetch_json(provider.userinfo_endpoint, config.discovery_ca_pem, bearer)
    if told.get("sub") != claims.get("sub"):
        raise LoginRefused("the provider tells of another person than its id token")
    return {**claims, **told, **{name: claims[name] for name in _KEPT if name in claims}}


def _exchanged(provider: Provider, config: AuthConfig, ask: Ask, code: str) -> dict[str, Any]:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": ask.redirect_uri}
    headers = {"Accept": "application/json"}
    if ask.verifier:
        form["code_verifier"] = ask.verifier
    if not config.oidc_client_secret or provider.takes_secret_in_form:
        form["client_id"] = config.oidc_client_id
    if config.oidc_client_secret and provider.takes_secret_in_form:
        form["client_secret"] = config.oidc_client_secret
    elif config.oidc_client_secret:
        pair = f"{quote_plus(config.oidc_client_id)}:{quote_plus(config.oidc_client_secret)}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return post_form(provider.token_endpoint, config.discovery_ca_pem, form, headers)


def _proved(
    provider: Provider, config: AuthConfig, ask: Ask, id_token: str, *, now: int
) -> dict[str, Any]:
    keys = keys_at(provider.jwks_uri, config.discovery_ca_pem)
    issuers = config.bound_issuer or (provider.issuer,)
    claims = verified_claims(id_token, replace(config, bound_issuer=issuers), keys, now=now)
    audience = claims.get("aud")
    if config.oidc_client_id not in (audience if isinstance(audience, list) else [audience]):
        raise LoginRefused("the id token is for another client")
    if claims.get("azp") not in (None, config.oidc_client_id):
        raise LoginRefused("the id token was made for another client")
    if not hmac.compare_digest(str(claims.get("nonce") or "").encode(), ask.nonce.encode()):
        raise LoginRefused("the id token belongs to another sign-in")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise LoginRefused("the id token names nobody")
    return claims
