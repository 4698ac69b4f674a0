"""Tokens that the cluster signs and believes: JSON Web Tokens under its root keys.

In: claims, a key, the present. Out: a token; or its claims, once they are proved.
"""

import json
from collections.abc import Mapping
from typing import Any

import jwt

from cluster.keyring.root_keys import SIGNING, private_half, public_half
from scheduler.structs.root_key import RootKey

#: For whom the tokens are that the cluster itself takes.
AUDIENCE = "nomadproject.io"
_SECOND = 1_000_000_000
#: Longer than any of ours; longer ones are not even parsed.
_LONGEST = 8 * 1024
#: Seconds by which the clocks of two servers may differ.
_SKEW_S = 30


class TokenRefused(Exception):
    """The token does not prove what it says; the message says why."""


def is_token(text: str) -> bool:
    """Whether a text has the form of a signed token, which no secret of ours has."""
    return text.count(".") == 2


def signed(claims: Mapping[str, Any], key: RootKey, *, now: int, life: int, token_id: str) -> str:
    """The token, good from `now` on for `life`, both in ns; 0: for ever. Raises SealBroken."""
    seconds = now // _SECOND
    whole = {
        "aud": AUDIENCE,
        "iat": seconds,
        "nbf": seconds,
        **({"exp": (now + life) // _SECOND} if life else {}),
        "jti": token_id,
        **claims,
    }
    return jwt.encode(whole, private_half(key), algorithm=SIGNING, headers={"kid": key.key_id})


def key_named(token: str) -> str:
    """The key that a token says it was signed with. Raises TokenRefused."""
    if len(token) > _LONGEST:
        raise TokenRefused(f"the token is longer than {_LONGEST} characters")
    try:
        return str(jwt.get_unverified_header(token).get("kid") or "")
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise TokenRefused("the token is not understood") from None


def proved(token: str, key: RootKey | None, *, now: int, has_end: bool = True) -> dict[str, Any]:
    """What the token says, now that it is proved. `now` in ns. Raises TokenRefused.

    Without `has_end` one that does not say when it ends is believed for ever.
    """
    if key is None or not key.proves:
        raise TokenRefused("the token was signed with a key that is not in the keyring")
    claims = _signed(token, key)
    ends, starts = claims.get("exp"), claims.get("nbf")
    if ends is None and not has_end:
        ends = now // _SECOND + 1
    if not isinstance(ends, int) or not isinstance(starts, int):
        raise TokenRefused("the token does not say when it holds")
    if now >= ends * _SECOND:
        raise TokenRefused("the token is expired")
    if now + _SKEW_S * _SECOND < starts * _SECOND:
        raise TokenRefused("the token does not hold yet")
    if claims.get("aud") != AUDIENCE:
        raise TokenRefused("the token is for somebody else")
    return claims


def unproved(token: str) -> dict[str, Any]:
    """What a token says, for its own bearer. Raises TokenRefused."""
    try:
        told = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise TokenRefused("the token is not understood") from None
    return dict(told)


def _signed(token: str, key: RootKey) -> dict[str, Any]:
    try:
        # Times and audience are judged by the caller's clock, in words of our own.
        claims = json.loads(jwt.PyJWS().decode(token, public_half(key), algorithms=[SIGNING]))
    except (jwt.PyJWTError, TypeError, ValueError, RecursionError):
        raise TokenRefused("the signature of the token does not hold") from None
    if not isinstance(claims, dict):
        raise TokenRefused("the token is not understood")
    return claims
