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


def test_what_is_known_of_nodes_that_are_gone_is_forgotten(record):
    node = make_node()
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(node), now=1)
    write_beats(record, {"gone": HeardBeat(20, 5), node.id: HeardBeat(30, 5)})
    write_channels(record, ["gone", node.id], "http://one")
    write_channels(record, ["gone"], "http://two")
    assert read_channel(record, "gone") == "http://two"
    assert forget_beats(record) == 2
    assert read_beats(record) == {node.id: HeardBeat(30, 5)}
    assert read_channel(record, "gone") == ""
    assert read_channel(record, node.id) == "http://one"
