"""The declarations as a whole, and the checklist of how one is added."""

import re
from pathlib import Path

import pytest

from scheduler.state.noun import AnyNoun, event_key, key_cells
from scheduler.state.nouns import NOUNS, owned_by
from scheduler.structs.identity import JobKey

ROOT = Path(__file__).parents[3]
CHECKLIST = (ROOT / "CONTRIBUTING.md").read_text().split("### Add a noun")[1].split("\n#")[0]
STEPS = {
    path
    for path in re.findall(r"`([a-z][a-z0-9_/]*/[a-z0-9_]+\.py)(?:::\w+)?`", CHECKLIST)
    if (ROOT / path).exists()
}


def test_a_plain_noun_touches_at_most_eight_files():
    assert len(STEPS) == 8


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_step_of_the_checklist_was_taken_for_a_plain_noun(step):
    assert re.search("AclPolicy|ACL_POLICIES|acl/policy", (ROOT / step).read_text())


def test_no_two_nouns_share_a_topic_or_a_table():
    topics = [noun.topic for noun in NOUNS if noun.topic]
    assert len(set(topics)) == len(topics)
    assert len({noun.table for noun in NOUNS}) == len(NOUNS)


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.table)
def test_an_owner_is_a_noun_that_its_rows_are_found_by(noun: AnyNoun):
    assert noun.owner is None or noun.owner.index in noun.indexes
    assert noun.owner is None or (noun, noun.owner.index) in owned_by(noun.owner.topic)


@pytest.mark.parametrize(
    ("key", "cells", "name"),
    [
        pytest.param("web", ("web",), "web", id="text"),
        pytest.param(JobKey("team", "web"), ("team", "web"), "web", id="job"),
        pytest.param((JobKey("team", "web"), 7, 2), ("team", "web", 7, 2), "web/2", id="version"),
        pytest.param(("e1", 3), ("e1", 3), "e1/3", id="step"),
    ],
)
def test_the_parts_of_a_key_and_how_events_say_it(key, cells, name):
    assert (key_cells(key), event_key(key)) == (cells, name)
