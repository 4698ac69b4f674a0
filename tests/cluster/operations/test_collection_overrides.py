"""Setting in the record what stands in place of the environment's settings of collection."""

import math

import pytest

from cluster.operations.errors import Conflict, NotAllowed, OperationRefused
from cluster.operations.garbage import VARIABLES, collection_settings, set_collection_overrides
from scheduler.access.access import Access
from scheduler.access.caller import ANONYMOUS, Caller, CallerKind
from scheduler.state.events import Topic, WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.collection import CollectionOverrides, CollectionSettings
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000


@pytest.fixture
def store():
    return MemoryStateStore()


def put(store, by=MANAGER, expected_index=None, **values):
    return set_collection_overrides(
        store, CollectionOverrides(**values), by=by, expected_index=expected_index, now=NOW
    )


def test_what_is_set_is_stored_whole_and_told_in_one_event(store):
    first = put(store, job_age=60, node_interval=600)
    second = put(store, job_age=0, expected_index=first)
    stored = store.collection_overrides()
    assert stored == CollectionOverrides(job_age=0, create_index=first, modify_index=second)
    frames = list(store.frames_since(first))
    assert [(frame.index, frame.kind) for frame in frames] == [
        (second, WriteKind.COLLECTION_OVERRIDDEN)
    ]
    events = [(event.topic, event.key, event.value) for event in frames[0].events]
    assert events == [(Topic.COLLECTION_OVERRIDES, "collection", stored)]


def test_what_is_set_stands_over_the_settings(store):
    put(store, job_age=60)
    settings = CollectionSettings(job_age=5, node_age=7)
    assert store.collection_overrides().over(settings) == CollectionSettings(
        job_age=60, node_age=7
    )


def test_setting_what_is_set_already_writes_nothing(store):
    put(store, job_age=60)
    before = store.index
    put(store, job_age=60)
    assert store.index == before


def test_every_value_out_of_bounds_is_named(store):
    before = store.index
    with pytest.raises(OperationRefused) as refused:
        put(store, node_interval=9.9, job_interval=86400.1, job_age=-1, token_age=math.nan)
    assert str(refused.value).split("; ") == [
        "job_interval must be from 10 to 86400 seconds",
        "job_age must be from 0 to 315360000 seconds",
        "node_interval must be from 10 to 86400 seconds",
        "token_age must be from 0 to 315360000 seconds",
    ]
    assert store.index == before
    put(store, node_interval=10, job_interval=86400, job_age=0, token_age=315360000)


def test_what_was_changed_meanwhile_is_not_overwritten(store):
    seen = put(store, job_age=60)
    put(store, job_age=70, expected_index=seen)
    with pytest.raises(Conflict):
        put(store, job_age=80, expected_index=seen)
    assert store.collection_overrides().values == {"job_age": 70}


def test_only_management_sets_it(store):
    operator = Caller(kind=CallerKind.PERSON, access=Access(levels={"operator": "write"}))
    for by in (ANONYMOUS, operator):
        with pytest.raises(NotAllowed):
            put(store, by=by, job_age=60)


def test_every_setting_has_a_variable_and_an_override(settings):
    fields = set(CollectionSettings.__struct_fields__)
    overrides = set(CollectionOverrides.__struct_fields__) - {"create_index", "modify_index"}
    assert (set(VARIABLES), overrides) == (fields, fields)
    for number, variable in enumerate(VARIABLES.values()):
        setattr(settings, variable, 100.0 + number)
    read = collection_settings()
    assert [getattr(read, field) for field in VARIABLES] == [100.0 + n for n in range(11)]
