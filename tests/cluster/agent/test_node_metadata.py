"""A node's metadata: configured pairs, overlaid by what was said since, over restarts."""

import msgspec
import pytest

from cluster.agent.agent_state import DiskStorage, NoStorage
from cluster.agent.answers import Answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.node_metadata import MOST, MetadataRefused, MetadataTold, NodeMetadata

STATIC = {"rack": "r1", "zone": "a"}


class Told:
    """Counts how often the node was told to register again."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def disk(tmp_path):
    """Opens the state directory again and again, as an agent that restarts."""
    opened = []

    def open_again():
        opened.append(DiskStorage(tmp_path / "state", tmp_path / "alloc"))
        return opened[-1]

    yield open_again
    for storage in opened:
        storage.close()


def test_without_changes_the_configuration_counts(told):
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    assert metadata.told == MetadataTold(dynamic={}, meta=STATIC, static=STATIC)
    assert told.count == 0


def test_changes_overlay_the_configuration_and_null_takes_away(told):
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    metadata.change({"rack": "r2", "zone": None, "colour": "blue", "gone": None})
    assert metadata.told == MetadataTold(
        dynamic={"colour": "blue", "rack": "r2", "zone": None},
        meta={"rack": "r2", "colour": "blue"},
        static=STATIC,
    )

    metadata.change({"rack": None, "zone": "b", "colour": None})
    assert metadata.told == MetadataTold(
        dynamic={"rack": None, "zone": "b"}, meta={"zone": "b"}, static=STATIC
    )
    assert told.count == 2


def test_what_is_so_already_tells_nobody(told):
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    metadata.change({"colour": "blue"})
    metadata.change({"colour": "blue", "gone": None})
    assert told.count == 1


def test_changes_outlive_the_agent_and_its_configuration(disk, told):
    NodeMetadata(STATIC, disk(), told).change({"rack": None, "colour": "blue", "empty": ""})

    again = NodeMetadata({"rack": "r9", "new": "x"}, disk(), told)

    assert again.told == MetadataTold(
        dynamic={"colour": "blue", "empty": "", "rack": None},
        meta={"colour": "blue", "empty": "", "new": "x"},
        static={"rack": "r9", "new": "x"},
    )
    again.change({"colour": None})
    assert disk().load_metadata() == {"rack": None, "empty": ""}


def test_too_much_is_refused_whole(disk, told):
    storage = disk()
    metadata = NodeMetadata(STATIC, storage, told)
    metadata.change({"a": "x" * (MOST - 1)})
    with pytest.raises(MetadataRefused, match="limited to 64KiB"):
        metadata.change({"rack": None, "b": "y"})
    assert list(metadata.told.dynamic) == list(storage.load_metadata()) == ["a"]
    assert told.count == 1


async def answer(metadata, verb, body):
    answers = Answers(None, NoStorage(), None, metadata)
    return msgspec.json.decode(b"".join([piece async for piece in answers.answer(verb, body)]))


async def test_the_agent_answers_over_its_channel(told):
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    changed = await answer(metadata, "metadata.change", {"Meta": {"rack": None, "n": "1"}})
    assert changed == {
        "Dynamic": {"n": "1", "rack": None},
        "Meta": {"n": "1", "zone": "a"},
        "Static": STATIC,
    }
    assert await answer(metadata, "metadata.read", {}) == changed


async def test_checks_of_several_allocations_are_told_by_their_first_lines(told):
    found = {"a": {"1": {"Check": "up", "Output": " first\nsecond"}, "2": {"Output": "x" * 300}}}
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    answers = Answers(None, NoStorage(), None, metadata, checks=lambda key: found.get(key, {}))
    pieces = [piece async for piece in answers.answer("allocs.checks", {"AllocIDs": ["a", "b"]})]
    assert msgspec.json.decode(b"".join(pieces)) == {
        "a": {"1": {"Check": "up", "Output": "first"}, "2": {"Output": "x" * 200}},
        "b": {},
    }


@pytest.mark.parametrize("body", [{}, {"Meta": {"a": 1}}, {"Meta": {"a": "x" * (MOST + 1)}}])
async def test_what_the_agent_cannot_take_it_refuses(told, body):
    metadata = NodeMetadata(STATIC, NoStorage(), told)
    with pytest.raises(AnswerRefused) as refused:
        await answer(metadata, "metadata.change", body)
    assert (refused.value.status, told.count) == (400, 0)
