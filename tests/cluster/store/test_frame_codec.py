"""A frame reads back as it was written, whole or in part, however it was packed."""

import zlib

import pytest

from cluster.store.frame_codec import (
    MIRRORED_TOPICS,
    decode_events,
    decode_frame,
    decode_rows,
    encode_events,
)
from scheduler.state.events import StateEvent, Topic, WriteKind
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import encode
from scheduler.state.nouns import NOUN_OF_TOPIC
from tests.builders import make_allocation, make_job, make_node

JOB = make_job()


def placement(number):
    """What a placed allocation changes: itself, and what is taken of its node."""
    alloc = make_allocation(JOB, number)
    return (
        StateEvent(topic=Topic.ALLOCATION, key=alloc.id, namespace="default", value=alloc),
        StateEvent(topic=Topic.NODE_USE, key=f"n{number}", value=NodeUse(node_id=f"n{number}")),
    )


def node(number, *, deleted=False):
    value = make_node(number)
    return StateEvent(topic=Topic.NODE, key=value.id, value=value, deleted=deleted)


MANY = [event for number in range(200) for event in placement(number)]
UNFOLLOWED = [event for event in MANY if event.topic is Topic.ALLOCATION]

CASES = [
    pytest.param([], 0, id="empty"),
    pytest.param([placement(1)[1]], 0, id="plain"),
    pytest.param([*placement(1), node(1)], 1, id="compressed"),
    pytest.param([node(1), *MANY, node(2, deleted=True)], 2, id="in-parts"),
    pytest.param(
        [event for event in MANY if event.topic is Topic.ALLOCATION], 3, id="nothing-apart"
    ),
]


def packed(events):
    return encode_events(events, [encode(event.value) for event in events])


@pytest.mark.parametrize(("events", "packing"), CASES)
def test_a_frame_reads_back_in_the_order_it_was_put(events, packing):
    body = packed(events)
    assert body[0] == packing
    frame = decode_frame(7, 9, WriteKind.PLAN_RESULT.value, memoryview(body))
    assert (frame.index, frame.at, [*frame.events]) == (7, 9, events)


@pytest.mark.parametrize(("events", "packing"), CASES)
@pytest.mark.parametrize("topics", [MIRRORED_TOPICS, {"NodeUse"}, {"Allocation", "Node"}])
def test_some_topics_of_a_frame_are_read_without_the_others(events, packing, topics):
    del packing
    found = [*decode_events(packed(events), topics)]
    assert found == [event for event in events if event.topic.value in topics]


def test_a_mirror_unpacks_nothing_of_a_frame_without_what_it_follows(monkeypatch):
    body = packed(UNFOLLOWED[:20])
    monkeypatch.setattr(zlib, "decompress", None)
    assert [*decode_events(body, MIRRORED_TOPICS)] == []


def test_a_frame_that_was_packed_without_telling_so_reads_back():
    body = b"\x01" + packed(UNFOLLOWED)[1:]
    assert [*decode_events(body, NOUN_OF_TOPIC)] == UNFOLLOWED
    assert [*decode_events(body, MIRRORED_TOPICS)] == []


def test_single_rows_are_found_in_every_part():
    wanted = {"n3", MANY[10].key}
    found = [*decode_rows(packed(MANY), lambda _topic, _namespace, key: key in wanted)]
    assert [event.key for event in found] == ["n3", MANY[10].key]
