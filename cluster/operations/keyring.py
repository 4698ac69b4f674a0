"""The keyring: which root keys there are, which one signs, when another one does.

In: a store, what is asked. Out: the keys as stored, or `OperationRefused`. What is made with the
keys is the business of those who sign (`node_identities`).
"""

from collections.abc import Iterable

from msgspec.structs import replace

from cluster.keyring.root_keys import Material, new_material, private_half
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require_management, require_operator
from cluster.seals import SealBroken
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.variable_nouns import VARIABLES
from scheduler.structs.root_key import RootKey, RootKeyState

NO_KEY = "root key not found"


def root_keys(reader: StateReader) -> list[RootKey]:
    """All of them, oldest first."""
    return sorted(reader.list_all(ROOT_KEYS), key=lambda key: (key.create_index, key.key_id))


def signing_key(reader: StateReader) -> RootKey | None:
    """The key that signs; None where there is none, or none that opens on this server."""
    return _signs(root_keys(reader))


def keep_keyring(store: StateStore, *, by: Caller, now: int, ids: IDSource) -> None:
    """Have a key that signs, begin with one whose time has come, end full rotations.

    The first start makes the first key by this; so does a server whose secret key is another one
    than that the keys were sealed under: what they signed is still believed.
    """
    require_management(by)
    kept = store.read(root_keys)
    if not _is_due(kept, now):
        return
    material = None if _begins(kept, now) or _signs(kept) else new_material()
    new_id = ids.next_id()

    def work(change: Change) -> None:
        keys = root_keys(change)
        begins = _begins(keys, now)
        if begins is not None:
            _retire(change, keys, RootKeyState.INACTIVE)
            _put(change, begins, RootKeyState.ACTIVE)
        elif _signs(keys) is None and material is not None:
            _retire(change, keys, RootKeyState.INACTIVE)
            change.put(ROOT_KEYS, _new_key(change, material, new_id))
        for key in keys:
            # What no key opens stays as it is: `rekey_variables` has passed it over.
            if key.state == RootKeyState.REKEYING and not _has_left(change, key):
                _put(change, key, RootKeyState.INACTIVE)

    store.write(ROOT_KEYS.upserted, work, now=now, by=by)


def rotate_root_key(
    store: StateStore,
    *,
    full: bool = False,
    publish_time: int = 0,
    by: Caller,
    now: int,
    ids: IDSource,
) -> tuple[int, RootKey]:
    """Sign with a new key from now on, or from `publish_time` on; the index, and the key."""
    require_operator(by, "keyring-rotate")
    if full and publish_time:
        raise OperationRefused("keyring cannot be prepublished and full rotated at the same time")
    if publish_time < 0:
        raise OperationRefused("publish_time must not be negative")
    material, new_id = new_material(), ids.next_id()

    def work(change: Change) -> RootKey:
        key = _new_key(change, material, new_id)
        if publish_time:
            key = replace(key, state=RootKeyState.PREPUBLISHED, publish_time=publish_time)
        else:
            keys = root_keys(change)
            _retire(change, keys, RootKeyState.REKEYING if full else RootKeyState.INACTIVE)
            if full:
                for each in keys:
                    if each.state == RootKeyState.INACTIVE:
                        _put(change, each, RootKeyState.REKEYING)
        change.put(ROOT_KEYS, key)
        return key

    return store.write(WriteKind.ROOT_KEY_ROTATED, work, now=now, by=by)


def delete_root_key(
    store: StateStore, key_id: str, *, force: bool = False, by: Caller, now: int
) -> int:
    """Forget a key, and believe nothing any more that it signed; the index of the write."""
    require_operator(by, "keyring-delete")

    def work(change: Change) -> None:
        key = change.get(ROOT_KEYS, key_id)
        if key is None:
            raise NotFound(NO_KEY)
        if key.state == RootKeyState.ACTIVE:
            raise OperationRefused("active root key cannot be deleted - call rotate first")
        if not force and _is_used(change, key_id):
            raise OperationRefused("root key in use, cannot delete")
        change.delete(ROOT_KEYS, key_id)

    return store.write(ROOT_KEYS.deleted, work, now=now, by=by)[0]


def _is_used(change: Change, key_id: str) -> bool:
    return bool(change.list_by(VARIABLES, "key", key_id)) or any(
        node.identity_signing_key_id == key_id for node in change.nodes()
    )


def _has_left(change: Change, key: RootKey) -> bool:
    """Whether variables are sealed under a key that could be sealed under another."""
    return _opens(key) and bool(change.list_by(VARIABLES, "key", key.key_id))


def _is_due(keys: list[RootKey], now: int) -> bool:
    is_rekeying = any(key.state == RootKeyState.REKEYING for key in keys)
    return is_rekeying or _begins(keys, now) is not None or _signs(keys) is None


def _begins(keys: Iterable[RootKey], now: int) -> RootKey | None:
    """The announced key whose time has come, the latest of several."""
    ripe = [
        key
        for key in keys
        if key.state == RootKeyState.PREPUBLISHED and key.publish_time <= now
    ]  # fmt: skip
    return max(ripe, key=lambda key: key.publish_time, default=None)


def _signs(keys: Iterable[RootKey]) -> RootKey | None:
    for key in keys:
        if key.state == RootKeyState.ACTIVE and _opens(key):
            return key
    return None


def _opens(key: RootKey) -> bool:
    try:
        private_half(key)
    except SealBroken:
        return False
    return True


def _new_key(change: Change, material: Material, key_id: str) -> RootKey:
    return RootKey(
        key_id=key_id,
        state=RootKeyState.ACTIVE,
        create_time=change.now,
        sealed=material.sealed,
        public_key=material.public_key,
        create_index=change.index,
        modify_index=change.index,
    )


def _retire(change: Change, keys: Iterable[RootKey], state: RootKeyState) -> None:
    for key in keys:
        if key.state == RootKeyState.ACTIVE:
            _put(change, key, state)


def _put(change: Change, key: RootKey, state: RootKeyState) -> None:
    change.put(ROOT_KEYS, replace(key, state=state, modify_index=change.index))
