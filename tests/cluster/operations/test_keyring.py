"""The keyring: one key signs, older ones are believed, nothing is kept in clear."""

import pytest
from django.test import override_settings

from cluster.keyring.root_keys import private_half
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.keyring import (
    delete_root_key,
    keep_keyring,
    root_keys,
    rotate_root_key,
    signing_key,
)
from scheduler.access.caller import CLUSTER
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.root_key import RootKeyState
from tests.builders import SOME_MOMENT, CountingIDs, make_node
from tests.callers import MANAGER
from tests.root_keys import put_keys, root_key

ACTIVE, INACTIVE, REKEYING, PREPUBLISHED, DEPRECATED = (
    RootKeyState(word) for word in ("active", "inactive", "rekeying", "prepublished", "deprecated")
)
LATER = SOME_MOMENT + 10**9


@pytest.fixture
def store():
    return MemoryStateStore()


def keep(store, now=SOME_MOMENT, ids=None):
    keep_keyring(store, by=CLUSTER, now=now, ids=ids or CountingIDs())


def rotate(store, **options):
    return rotate_root_key(store, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs(), **options)


def delete(store, key_id, **options):
    return delete_root_key(store, key_id, by=MANAGER, now=SOME_MOMENT, **options)


def states(store):
    return {key.key_id: key.state for key in store.read(root_keys)}


def test_the_first_look_makes_a_key_and_the_next_writes_nothing(store):
    keep(store)
    index = store.index
    keep(store)
    (key,) = store.read(root_keys)
    assert (key.state, store.index) == (ACTIVE, index)
    assert store.read(signing_key) == key


def test_the_private_half_is_sealed_in_the_record(store):
    keep(store)
    (key,) = store.read(root_keys)
    clear = private_half(key).private_numbers().d
    assert "PRIVATE" not in key.sealed
    assert key.sealed.startswith("sealed:")
    assert str(clear) not in key.sealed


def test_a_key_that_does_not_open_here_is_replaced_and_still_believed(store):
    put_keys(store, root_key("foreign"))
    with override_settings(SECRET_KEY="another"):
        assert store.read(signing_key) is None
        keep(store)
        made = store.read(signing_key)
    assert states(store) == {"foreign": INACTIVE, made.key_id: ACTIVE}


@pytest.mark.parametrize(
    ("full", "older"), [pytest.param(False, INACTIVE), pytest.param(True, REKEYING)]
)
def test_a_rotation_signs_with_another_key(store, full, older):
    put_keys(store, root_key("first"), root_key("gone", state=DEPRECATED))
    index, key = rotate(store, full=full)
    assert states(store) == {"first": older, "gone": DEPRECATED, key.key_id: ACTIVE}
    assert (store.index, store.read(signing_key)) == (index, key)


def test_a_full_rotation_ends_once_nothing_is_left_to_encrypt(store):
    put_keys(store, root_key("first"), root_key("second", state=INACTIVE))
    _, key = rotate(store, full=True)
    assert states(store) == {"first": REKEYING, "second": REKEYING, key.key_id: ACTIVE}
    keep(store)
    assert states(store) == {"first": INACTIVE, "second": INACTIVE, key.key_id: ACTIVE}


def test_an_announced_key_signs_from_its_time_on(store):
    put_keys(store, root_key("first"))
    _, key = rotate(store, publish_time=LATER)
    keep(store, LATER - 1)
    assert states(store) == {"first": ACTIVE, key.key_id: PREPUBLISHED}
    keep(store, LATER)
    assert states(store) == {"first": INACTIVE, key.key_id: ACTIVE}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"full": True, "publish_time": LATER}, "cannot be prepublished and full rotated"),
        ({"publish_time": -1}, "must not be negative"),
    ],
)
def test_a_rotation_that_makes_no_sense_is_refused(store, options, words):
    with pytest.raises(OperationRefused, match=words):
        rotate(store, **options)
    assert states(store) == {}


def test_what_cannot_be_deleted(store):
    put_keys(store, root_key("first"), root_key("old", state=INACTIVE))
    node = make_node(1, identity_signing_key_id="old")
    store.write("made", lambda change: change.put_node(node), now=SOME_MOMENT)
    with pytest.raises(NotFound, match="root key not found"):
        delete(store, "gone")
    with pytest.raises(OperationRefused, match="call rotate first"):
        delete(store, "first", force=True)
    with pytest.raises(OperationRefused, match="root key in use"):
        delete(store, "old")
    delete(store, "old", force=True)
    assert states(store) == {"first": ACTIVE}
