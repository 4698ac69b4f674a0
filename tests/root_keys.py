"""Root keys as the record holds them, made once for all tests: each takes a tenth of a second."""

from functools import lru_cache

from cluster.keyring.root_keys import new_material
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.structs.root_key import RootKey, RootKeyState
from tests.builders import SOME_MOMENT


@lru_cache
def material(key_id):
    return new_material()


def root_key(key_id="key-1", state=RootKeyState.ACTIVE, **fields):
    """A key whose private half opens here."""
    made = material(key_id)
    given = {"sealed": made.sealed, "public_key": made.public_key, "create_time": SOME_MOMENT}
    return RootKey(key_id=key_id, state=state, **(given | fields))


def put_keys(store, *keys):
    """Have these in the keyring, instead of any of the same id."""

    def work(change):
        for key in keys:
            change.put(ROOT_KEYS, key)

    return store.write(ROOT_KEYS.upserted, work, now=SOME_MOMENT)
