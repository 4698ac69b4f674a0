"""The first token of a manager, and a new one when all others are lost.

In: a store, and the file in which the server is told to start again. Out: a token that may do
everything. Nobody needs a right for it: who writes the file has the server.
"""

from pathlib import Path

from cluster.operations.acl_tokens import UUID, TokenMade, put_new_token
from cluster.operations.errors import OperationRefused
from cluster.store.tokens import find_token, new_secret
from cluster.store.writer import DjangoStateStore
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource
from scheduler.state.nouns import ACL_BOOTSTRAP, ACL_TOKENS, BOOTSTRAP_KEY
from scheduler.structs.acl_token import AclBootstrap, AclToken, TokenType

BOOTSTRAP_NAME = "Bootstrap Token"
#: Of the largest index.
_DIGITS = 19


def bootstrap(
    store: DjangoStateStore,
    *,
    secret: str,
    reset_file: Path,
    by: Caller,
    now: int,
    ids: IDSource,
) -> TokenMade:
    """Make a management token while there was none yet, or when the file names the last start.

    `secret`: the one it shall have; made when empty. `reset_file`: may be missing; one that cannot
    be read, or holds no number, counts as missing. Tokens made before stay valid.
    """
    reset_index = _number_in(reset_file)

    def work(change: Change) -> tuple[AclToken, str]:
        _require_open(change, reset_index)
        if secret and not UUID.fullmatch(secret):
            raise OperationRefused("invalid acl token")
        if secret and find_token(store, secret) is not None:
            raise OperationRefused("the SecretID is that of another token")
        token = AclToken(
            accessor_id=ids.next_id(),
            name=BOOTSTRAP_NAME,
            type=TokenType.MANAGEMENT,
            global_=True,
            create_time=now,
        )
        made = secret or new_secret()
        change.put(ACL_BOOTSTRAP, AclBootstrap(reset_index=change.index))
        return put_new_token(change, token, made), made

    index, (token, made) = store.write(ACL_TOKENS.upserted, work, now=now, by=by)
    return TokenMade(token=token, secret=made, index=index)


def _require_open(change: Change, given: int | None) -> None:
    done = change.get(ACL_BOOTSTRAP, BOOTSTRAP_KEY)
    if done is None or given == done.reset_index:
        return
    said = f"reset index: {done.reset_index}"
    if given is None:
        raise OperationRefused(f"ACL bootstrap already done ({said})")
    raise OperationRefused(f"Invalid bootstrap reset index (specified {given}, {said})")


def _number_in(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
