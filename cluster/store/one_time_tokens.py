"""One-time tokens: a text that is exchanged, once, for the secret of the token that asked for it.

In: secrets. Out: a new text, or the secret again. The record keeps the text's hash, and the secret
sealed under the text: neither can be read from it.
"""

import hashlib
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cluster.models import OneTimeTokenRow
from cluster.store.tokens import hash_of_secret, new_secret
from cluster.store.transactions import writes_patiently
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Nanoseconds

_NONCE_BYTES = 12


def create_one_time_token(
    store: DjangoStateStore, accessor_id: str, secret: str, *, expires: Nanoseconds
) -> str:
    """A text that can be exchanged for this secret until then; the accessor's last one ends."""
    text = new_secret()
    nonce = secrets.token_bytes(_NONCE_BYTES)
    sealed = AESGCM(_key(text)).encrypt(nonce, secret.encode(), accessor_id.encode())
    row = OneTimeTokenRow(
        accessor_id=accessor_id,
        secret_hash=hash_of_secret(text),
        sealed=nonce + sealed,
        expires=expires,
    )
    writes_patiently(lambda: OneTimeTokenRow.by_store.insert(store.alias, row, or_replace=True))
    return text


def use_one_time_token(store: DjangoStateStore, text: str, *, now: Nanoseconds) -> str | None:
    """The secret behind a text, which is worthless from then on; None when it already was."""
    rows = OneTimeTokenRow.by_store.using(store.alias).filter(
        secret_hash=hash_of_secret(text), expires__gt=now
    )
    row = rows.first()
    # The deletion is the claim: of two who come at once, one sees a row go.
    if row is None or not writes_patiently(rows.delete)[0]:
        return None
    sealed = bytes(row.sealed)
    nonce, sealed = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        return AESGCM(_key(text)).decrypt(nonce, sealed, row.accessor_id.encode()).decode()
    except InvalidTag:
        # Written by hand, or under another accessor: nobody's.
        return None


def _key(text: str) -> bytes:
    return hashlib.sha256(b"bivouac one-time token\0" + text.encode()).digest()
