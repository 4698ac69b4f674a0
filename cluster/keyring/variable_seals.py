"""Sealing the items of variables under root keys: AES-256-GCM, bound to namespace and path.

In: items, a root key, a place. Out: bytes for the record, and items again. The AES key follows
from the private half by HKDF, so what is sealed opens with the keyring alone, and with no backup
that lacks the secret key. Raises SealBroken.
"""

import os
from collections.abc import Mapping
from functools import lru_cache

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cluster.seals import SealBroken, opened_secret
from scheduler.structs.root_key import RootKey

#: Bytes of chance before each sealed text: as many as the mode was made for (NIST SP 800-38D).
_NONCE = 12
_KEY_BYTES = 32
_ITEMS = msgspec.msgpack.Decoder(dict[str, str])


def sealed_items(items: Mapping[str, str], key: RootKey, place: tuple[str, str]) -> bytes:
    """What the record keeps. The same items are sealed differently each time."""
    nonce = os.urandom(_NONCE)
    clear = msgspec.msgpack.encode(dict(items))
    return nonce + _cipher(key).encrypt(nonce, clear, _bound(place))


def opened_items(sealed: bytes, key: RootKey, place: tuple[str, str]) -> dict[str, str]:
    """The items again, in the order in which they were given."""
    try:
        clear = _cipher(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(place))
    except (InvalidTag, ValueError):
        raise SealBroken("the variable was sealed under another key, or changed since") from None
    return _ITEMS.decode(clear)


def _bound(place: tuple[str, str]) -> bytes:
    """What is sealed for one path opens at no other."""
    return "\0".join(place).encode()


def _cipher(key: RootKey) -> AESGCM:
    return _cipher_of(opened_secret(key.sealed), key.key_id)


@lru_cache(maxsize=16)
def _cipher_of(clear: str, key_id: str) -> AESGCM:
    info = f"bivouac variables {key_id}".encode()
    derive = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=info)
    return AESGCM(derive.derive(clear.encode()))
