"""Beats: batches outside the index, the newest wins."""

from cluster.store.beats import (
    HeardBeat,
    forget_beats,
    read_beats,
    read_channel,
    write_beats,
    write_channels,
)
from scheduler.state.events import WriteKind
from tests.builders import make_node


def test_the_newest_beat_of_each_node_is_kept_without_an_index(record):
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node()), now=1)
    assert write_beats(record, {"b": HeardBeat(10, 5), "a": HeardBeat(20, 5)}) == 1
    write_beats(record, {"a": HeardBeat(19, 7), "b": HeardBeat(30, 7)})
    assert read_beats(record) == {"a": HeardBeat(20, 5), "b": HeardBeat(30, 7)}
    assert read_beats(record, after=20) == {"b": HeardBeat(30, 7)}
    assert record.index == 2


def test_what_is_known_of_a_node_can_be_forgotten(record):
    write_beats(record, {"a": HeardBeat(20, 5)})
    write_channels(record, ["a"], "http://one")
    write_channels(record, ["a"], "http://two")
    assert read_channel(record, "a") == "http://two"
    forget_beats(record, ["a"])
    assert (read_beats(record), read_channel(record, "a")) == ({}, "")
