"""Sealing what the record, or a browser, must not be able to read or change.

In: texts. Out: sealed ones, and back. The key follows from the secret key of the data directory
(`BIVOUAC_SECRET_KEY`), which every server machine shares; the record alone opens nothing.
"""

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

#: Of texts kept for long; one without it was written before they were sealed.
_MARK = "sealed:"
_SECOND = 1_000_000_000


class SealBroken(Exception):
    """What was sealed does not open; the message says why."""


def sealed_secret(text: str) -> str:
    """A secret as the record keeps it; empty stays empty."""
    return _MARK + _fernet("kept secrets").encrypt(text.encode()).decode() if text else ""


def opened_secret(kept: str) -> str:
    """The secret again. Raises SealBroken where the secret key is another one now."""
    if not kept.startswith(_MARK):
        return kept
    try:
        return _fernet("kept secrets").decrypt(kept.removeprefix(_MARK).encode()).decode()
    except InvalidToken:
        raise SealBroken("it was sealed under another BIVOUAC_SECRET_KEY: set it again") from None


def sealed_for_a_while(text: str, *, now: int) -> str:
    """A text that others carry and bring back. `now` in ns."""
    return _fernet("sign-ins").encrypt_at_time(text.encode(), now // _SECOND).decode()


def opened_in_time(carried: str, *, life_s: int, now: int) -> str:
    """The text again, within its life. Raises SealBroken."""
    try:
        return (
            _fernet("sign-ins")
            .decrypt_at_time(carried.encode(), ttl=life_s, current_time=now // _SECOND)
            .decode()
        )
    except InvalidToken:
        raise SealBroken("it was not made here, or is too old") from None


def _fernet(use: str) -> Fernet:
    return _fernet_of(str(settings.SECRET_KEY), use)


@lru_cache(maxsize=8)
def _fernet_of(key: str, use: str) -> Fernet:
    derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"bivouac {use}".encode())
    return Fernet(base64.urlsafe_b64encode(derive.derive(key.encode())))
