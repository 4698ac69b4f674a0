"""The worked examples (control-plane.md 15), and other recorded scenarios, told as stories.

Each is played with the real control plane in memory; what its evaluations since the first mark are
part of is compared with what a person would say that happened.
"""

from collections import Counter

import pytest

from scheduler.state.story_nouns import STORIES
from tests.conformance.chain_player import play
from tests.conformance.test_chains import load


def told(name):
    """The stories of evaluations since the first mark: kind, job, nodes and evaluations."""
    played = play(load(name))
    store, start = played.world.store, played.marks[0][1]
    counts = Counter(row.story_id for row in store.evaluations() if row.create_index > start)
    stories = [story for story in store.list_all(STORIES) if story.id in counts]
    assert len(stories) == len(counts)
    return [
        (story.kind.value, story.job_id, story.node_count, counts[story.id]) for story in stories
    ]


#: The three of the chapter, and their variants: one story each.
SEEDS = {
    "seed-node-miss": ("loss", "", 1, 5),
    "seed-node-miss-retried": ("loss", "", 1, 6),
    "seed-canary": ("rollout", "web", 0, 5),
    # Each of two nodes down and up once, one after the other: they flap.
    "seed-flapping": ("loss", "", 2, 20),
    "seed-flapping-together": ("loss", "", 2, 20),
    "seed-large-flap": ("loss", "", 1, 8),
}


@pytest.mark.parametrize("name", SEEDS)
def test_a_worked_example_is_one_story(name):
    assert told(name) == [SEEDS[name]]


OTHERS = {
    # Version 1 fails, and version 0 comes back as version 2: all of it is the rollout of 1.
    "deploy-auto-revert": [("rollout", "web", 0, 3)],
    "deploy-canary-fail": [("rollout", "web", 0, 3)],
    # By hand, so a rollout of its own.
    "deploy-revert": [("rollout", "web", 0, 2)],
    "drain-several-jobs": [("drain", "", 1, 4)],
    "job-scale": [("scaling", "web", 0, count) for count in (2, 2, 1, 1)],
    "job-stop-start-purge": [
        ("stop", "web", 0, 1),
        ("rollout", "web", 0, 2),
        *[("stop", "web", 0, 1)] * 3,
    ],
    "job-evaluate": [("evaluation", job, 0, 1) for job in ("web", "etl", "sys")],
    "job-alloc-stop": [("stop", "web", 0, 1)],
    "disconnect-replace-best-score": [("loss", "", 1, 7)],
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_told_as_a_person_would(name):
    assert told(name) == OTHERS[name]
