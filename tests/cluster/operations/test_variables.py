"""Variables in the record: sealed anew by a rotation, freed when nobody renews their lock."""

import pytest

from cluster.operations.errors import Conflict, OperationRefused
from cluster.operations.keyring import delete_root_key, keep_keyring, rotate_root_key
from cluster.operations.variable_locks import (
    acquire_lock,
    end_overdue_locks,
    rearm_locks,
    renew_lock,
)
from cluster.operations.variables import (
    REKEYED_AT_ONCE,
    Locked,
    put_variable,
    read_variable,
    rekey_variables,
)
from scheduler.access.caller import CLUSTER
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.structs.root_key import RootKeyState
from tests.builders import SOME_MOMENT, CountingIDs
from tests.root_keys import put_keys, root_key

SECOND = 10**9
PLACE = ("default", "app")


@pytest.fixture
def store():
    record = MemoryStateStore()
    put_keys(record, root_key())
    return record


def put(store, path="app", **items):
    return put_variable(store, "default", path, items or {"a": "b"}, by=CLUSTER, now=SOME_MOMENT)


def acquire(store, at=SOME_MOMENT, **options):
    options = {"ttl": 10 * SECOND, "lock_delay": 5 * SECOND} | options
    return acquire_lock(store, *PLACE, by=CLUSTER, now=at, ids=CountingIDs(), **options)[1]


def rotate(store):
    rotate_root_key(store, full=True, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs())


def states(store):
    return sorted(key.state.value if hasattr(key.state, "value") else key.state
                  for key in store.read(lambda reader: reader.list_all(ROOT_KEYS)))  # fmt: skip


def test_a_full_rotation_seals_every_variable_anew_and_ends_then(store):
    paths = [f"path-{number}" for number in range(REKEYED_AT_ONCE + 5)]
    for path in paths:
        put(store, path, name=path)
    before = store.read(lambda reader: reader.get(VARIABLES, ("default", "path-0")))
    rotate(store)
    keep_keyring(store, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs())
    assert states(store) == ["active", "rekeying"]

    counts = [rekey_variables(store, by=CLUSTER, now=SOME_MOMENT) for _ in range(3)]
    assert counts == [REKEYED_AT_ONCE, 5, 0]
    keep_keyring(store, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs())
    assert states(store) == ["active", "inactive"]
    after = store.read(lambda reader: reader.get(VARIABLES, ("default", "path-0")))
    assert after.key_id != before.key_id
    assert after.modify_index > before.modify_index
    assert after.modify_time == before.modify_time
    for path in paths:
        told = store.read(lambda reader, path=path: read_variable(reader, "default", path,
                                                                  by=CLUSTER))  # fmt: skip
        assert told.items == {"name": path}
    delete_root_key(store, "key-1", by=CLUSTER, now=SOME_MOMENT)


def test_a_key_that_variables_need_is_not_deleted_unless_forced(store):
    put(store)
    rotate_root_key(store, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs())
    with pytest.raises(OperationRefused, match="root key in use, cannot delete"):
        delete_root_key(store, "key-1", by=CLUSTER, now=SOME_MOMENT)
    delete_root_key(store, "key-1", force=True, by=CLUSTER, now=SOME_MOMENT)
    with pytest.raises(OperationRefused, match="root key key-1 that it is sealed under is gone"):
        store.read(lambda reader: read_variable(reader, *PLACE, by=CLUSTER))


def test_what_no_key_opens_does_not_hold_a_rotation_up(store):
    put(store)
    broken = root_key(state=RootKeyState.REKEYING, sealed="sealed:broken")
    put_keys(store, root_key("key-2"), broken)
    assert rekey_variables(store, by=CLUSTER, now=SOME_MOMENT) == 0
    keep_keyring(store, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs())
    assert states(store) == ["active", "inactive"]


def test_a_lock_ends_after_twice_its_ttl_and_the_delay(store):
    put(store)
    lock = acquire(store).variable.lock
    free_at = SOME_MOMENT + 25 * SECOND
    assert end_overdue_locks(store, by=CLUSTER, now=free_at - 1) == 0
    with pytest.raises(Locked):
        acquire(store, at=free_at - 1)
    # Its time is over, and only the delay is left.
    with pytest.raises(Conflict, match="attempting to modify locked variable"):
        renew_lock(store, *PLACE, lock.id, by=CLUSTER, now=free_at - 1)
    assert end_overdue_locks(store, by=CLUSTER, now=free_at) == 1
    freed = store.read(lambda reader: reader.get(VARIABLES, PLACE))
    assert (freed.lock, freed.modify_time) == (None, free_at)
    assert store.read(lambda reader: reader.list_all(LOCK_TIMERS)) == []


def test_a_renewed_lock_lives_on_and_the_variable_is_not_written(store):
    put(store)
    told = acquire(store)
    later = SOME_MOMENT + 19 * SECOND
    renew_lock(store, *PLACE, told.variable.lock.id, by=CLUSTER, now=later)
    assert end_overdue_locks(store, by=CLUSTER, now=SOME_MOMENT + 30 * SECOND) == 0
    kept = store.read(lambda reader: reader.get(VARIABLES, PLACE))
    assert kept == told.variable


def test_a_new_leader_gives_every_lock_its_full_time(store):
    acquire(store)
    later = SOME_MOMENT + 1000 * SECOND
    assert rearm_locks(store, by=CLUSTER, now=later) == 1
    assert end_overdue_locks(store, by=CLUSTER, now=later + 24 * SECOND) == 0
    assert end_overdue_locks(store, by=CLUSTER, now=later + 25 * SECOND) == 1


def test_the_holder_takes_its_lock_again_with_other_spans(store):
    first = acquire(store, items={"a": "b"})
    again = acquire(store, lock_id=first.variable.lock.id, ttl=0, lock_delay=0)
    assert again.items == {"a": "b"}
    assert again.variable.lock.id == first.variable.lock.id
    assert (again.variable.lock.ttl, again.variable.lock.lock_delay) == (15 * SECOND,) * 2


def test_items_are_sealed_differently_each_time(store):
    sealed = {put(store)[1].variable.sealed for _ in range(3)}
    assert len(sealed) == 3
