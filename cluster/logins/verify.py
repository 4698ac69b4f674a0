"""Whether a signed token proves what it says: signature, issuer, audience, times.

In: the token, the keys of an auth method, the present. Out: its claims, or `LoginRefused`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from cluster.logins.errors import LoginRefused
from cluster.logins.keys import PublicKey
from scheduler.structs.acl_auth import AuthConfig

_SECOND = 1_000_000_000
#: Seconds, where a method says none.
_USUAL_LEEWAY = 150
_USUAL_SKEW = 60
_USUAL_ALGORITHMS = ("RS256",)
#: Signing ones: a key anyone may read must never be taken for a shared secret.
ALGORITHMS = frozenset(
    {
        "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA",
    }
)  # fmt: skip
_LONGEST_TOKEN = 64 * 1024
_SIGNATURE = "unable to verify signature of JWT token: "


def verified_claims(
    token: str, config: AuthConfig, keys: Sequence[PublicKey], *, now: int
) -> dict[str, Any]:
    """What the token says, now that it is proved. `now` in ns. Raises LoginRefused."""
    claims = _signed(token, config, keys)
    _check_times(claims, config, now / _SECOND)
    _check_audience(claims, config.bound_audiences)
    if config.bound_issuer and claims.get("iss") not in config.bound_issuer:
        raise LoginRefused(f"invalid JWT issuer: {claims.get('iss')}")
    return claims


def _signed(token: str, config: AuthConfig, keys: Sequence[PublicKey]) -> dict[str, Any]:
    if len(token) > _LONGEST_TOKEN:
        raise LoginRefused(f"{_SIGNATURE}the token is longer than {_LONGEST_TOKEN} characters")
    allowed = [each for each in config.signing_algs or _USUAL_ALGORITHMS if each in ALGORITHMS]
    reason = "no key of the auth method fits"
    for key in _candidates(token, keys):
        try:
            # Times and audience have leeways and words of their own below.
            claims = json.loads(jwt.PyJWS().decode(token, key.key, algorithms=allowed))
        except (jwt.PyJWTError, TypeError, ValueError, RecursionError) as error:
            reason = str(error)
            continue
        if isinstance(claims, dict):
            return claims
        reason = "its payload is no JSON object"
    raise LoginRefused(f"{_SIGNATURE}error verifying token signature: {reason}")


def _candidates(token: str, keys: Sequence[PublicKey]) -> list[PublicKey]:
    """The key that the token names, or all where it names none of them."""
    try:
        name = str(jwt.get_unverified_header(token).get("kid") or "")
    except jwt.PyJWTError as error:
        raise LoginRefused(f"{_SIGNATURE}error verifying token signature: {error}") from None
    return [key for key in keys if name and key.name == name] or list(keys)


def _check_times(claims: Mapping[str, Any], config: AuthConfig, now: float) -> None:
    issued, starts, ends = (_seconds(claims, name) for name in ("iat", "nbf", "exp"))
    if not issued and not starts and not ends:
        raise LoginRefused(
            f"{_SIGNATURE}no issued at (iat), not before (nbf), or expiration time (exp)"
            " claims in token"
        )
    # What the token leaves open follows from what it says.
    ends = ends or max(issued, starts) + _leeway(config.expiration_leeway, _USUAL_LEEWAY)
    starts = starts or issued or ends - _leeway(config.not_before_leeway, _USUAL_LEEWAY)
    skew = _leeway(config.clock_skew_leeway, _USUAL_SKEW)
    if now + skew < starts:
        raise LoginRefused(f"{_SIGNATURE}invalid not before (nbf) claim: token not yet valid")
    if now - skew > ends:
        raise LoginRefused(f"{_SIGNATURE}invalid expiration time (exp) claim: token is expired")
    if now + skew < issued:
        raise LoginRefused(
            f"{_SIGNATURE}invalid issued at (iat) claim: token issued in the future"
        )


def _check_audience(claims: Mapping[str, Any], bound: Sequence[str]) -> None:
    given = claims.get("aud")
    audiences = given if isinstance(given, list) else [given]
    if bound and not set(bound).intersection(each for each in audiences if isinstance(each, str)):
        raise LoginRefused(
            f"{_SIGNATURE}invalid audience (aud) claim: audience claim does not match any"
            " expected audience"
        )


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name, 0)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LoginRefused(f"{_SIGNATURE}the claim {name} is no number of seconds")
    return value


def _leeway(given: int, usual: int) -> float:
    if given == 0:
        return usual
    return max(given, 0) / _SECOND
