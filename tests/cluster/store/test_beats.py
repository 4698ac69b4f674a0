"""Beats: batches outside the index, the newest wins."""

from cluster.models import NodeChannelRow
from cluster.store.beats import (
    BeatsSince,
    HeardBeat,
    forget_beats,
    read_beats,
    read_signs,
    write_beats,
    write_channels,
    write_sign,
)
from cluster.store.used_by_nodes import NodeUsed
from scheduler.state.events import WriteKind
from tests.builders import make_node

HOUR = 3600 * 1_000_000_000


def test_the_newest_beat_of_each_node_is_kept_without_an_index(record):
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node()), now=1)
    assert write_beats(record, {"b": HeardBeat(10, 5), "a": HeardBeat(20, 5)}) == 1
    write_beats(record, {"a": HeardBeat(19, 7), "b": HeardBeat(30, 7)})
    assert read_beats(record) == {"a": HeardBeat(20, 5), "b": HeardBeat(30, 7)}
    assert read_beats(record, after=20) == {"b": HeardBeat(30, 7)}
    assert record.index == 2


def test_a_reader_is_told_of_each_beat_once_whatever_the_clocks_say(record):
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node()), now=1)
    beats = BeatsSince()
    write_beats(record, {"a": HeardBeat(20, 5), "b": HeardBeat(500, 5)})
    assert beats.read(record) == {"a": HeardBeat(20, 5), "b": HeardBeat(500, 5)}
    assert beats.read(record) == {}
    # Written by a process whose clock is behind that of the other.
    write_beats(record, {"a": HeardBeat(30, 5), "c": HeardBeat(7, 5)})
    assert beats.read(record) == {"a": HeardBeat(30, 5), "c": HeardBeat(7, 5)}


def test_what_tasks_use_goes_with_the_beat_and_is_forgotten_when_a_node_says_no_more(record):
    write_beats(record, {"a": HeardBeat(20, 5), "b": HeardBeat(20, 5)}, {"a": (1500, 256)})
    assert record.read(lambda reader: reader.node_used()) == {"a": NodeUsed(1500, 256, 20)}
    write_beats(record, {"a": HeardBeat(30, 5), "b": HeardBeat(30, 5)}, {"b": (0, 0)})
    assert record.read(lambda reader: reader.node_used()) == {"b": NodeUsed(0, 0, 30)}


def test_what_is_known_of_nodes_that_are_gone_is_forgotten(record):
    def holders():
        return dict(NodeChannelRow.objects.using(record.alias).values_list("node_id", "holder"))

    node = make_node()
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(node), now=1)
    write_beats(record, {"gone": HeardBeat(20, 5), node.id: HeardBeat(30, 5)})
    write_channels(record, ["gone", node.id], "http://one")
    write_channels(record, ["gone"], "http://two")
    assert holders() == {"gone": "http://two", node.id: "http://one"}
    assert forget_beats(record) == 2
    assert read_beats(record) == {node.id: HeardBeat(30, 5)}
    assert holders() == {node.id: "http://one"}


def test_each_web_process_has_one_row_of_signs_without_an_index(record):
    record.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node()), now=1)
    counts = [
        write_sign(record, name, signs, now=signs)
        for name, signs in (("a", 1), ("b", 5), ("a", 2))
    ]
    assert (counts, read_signs(record), record.index) == ([1, 1, 1], {"a": 2, "b": 5}, 2)


def test_web_processes_are_forgotten_once_another_outlived_them_by_an_hour(record):
    for name, at in (("long-gone", 1), ("gone", 2 * HOUR), ("newest", 3 * HOUR)):
        write_sign(record, name, 1, now=at)
    assert forget_beats(record) == 1
    assert read_signs(record) == {"gone": 1, "newest": 1}
