"""Making root keys, and opening them to sign.

In: nothing, or a key of the record. Out: a sealed private half with its public one, or the private
half in memory. Raises SealBroken where the record was sealed under another secret key.
"""

import json
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    RSAPublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from jwt.algorithms import RSAAlgorithm

from cluster.seals import opened_secret, sealed_secret
from scheduler.structs.root_key import RootKey

#: How the keys sign.
SIGNING = "RS256"
_BITS = 2048
_EXPONENT = 65537


class Material(NamedTuple):
    """What a new key consists of."""

    sealed: str
    public_key: str


def new_material() -> Material:
    """A key that nobody guesses; takes a tenth of a second or more."""
    private = generate_private_key(public_exponent=_EXPONENT, key_size=_BITS)
    clear = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Material(sealed=sealed_secret(clear.decode()), public_key=public.decode())


def private_half(key: RootKey) -> RSAPrivateKey:
    """What signs. Raises SealBroken."""
    return _private(opened_secret(key.sealed))


def public_half(key: RootKey) -> RSAPublicKey:
    """The half that anybody may have: a signature is checked against it."""
    return _public(key.public_key)


def public_document(key: RootKey) -> dict[str, Any]:
    """The public half as a JSON Web Key."""
    known = json.loads(RSAAlgorithm.to_jwk(public_half(key)))
    return {
        "use": "sig",
        "kty": known["kty"],
        "kid": key.key_id,
        "alg": SIGNING,
        "n": known["n"],
        "e": known["e"],
    }


@lru_cache(maxsize=8)
def _private(clear: str) -> RSAPrivateKey:
    key = load_pem_private_key(clear.encode(), password=None)
    assert isinstance(key, RSAPrivateKey), "made by new_material"
    return key


@lru_cache(maxsize=64)
def _public(text: str) -> RSAPublicKey:
    key = load_pem_public_key(text.encode())
    assert isinstance(key, RSAPublicKey), "made by new_material"
    return key
