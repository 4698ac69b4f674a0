"""The worked examples (control-plane.md 15), and other recorded scenarios, told as stories.

Each is played with the real control plane in memory; what its evaluations since the first mark are
part of is compared with what a person would say that happened.
"""

import re
from collections import Counter

import pytest

from dashboard.queries.story_files import story_file
from dashboard.viewer import Viewer
from scheduler.state.story_nouns import STORIES
from tests.callers import MANAGER
from tests.conformance.chain_player import play
from tests.conformance.chain_stores import opened
from tests.conformance.test_chains import load
from tests.dashboard.graphs.test_mermaid import CLASSES

_TIME = re.compile(r"\b\d\d(:?)\d\d\1\d\d\b")
_SHORT_ID = re.compile(r"(?<=>)[0-9a-f]{8}(?=<)")


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


def story(title, text):
    """The whole text of a story's drawing, and the classes after its nodes and arrows."""
    body, _, classes = text.strip().partition("\n\n")
    return f"flowchart LR\n%% {title}\n{body}\n{CLASSES}{classes}\n"


_OF_A = """
e1(("n1<br/>lost<br/>TIME"))
e2(["a<br/>node-update, 1 stopped,#8230;<br/>ID<br/>complete"])
e3(["a<br/>1 waits for room<br/>ID<br/>blocked"])
e4(["a<br/>when there is room"])
e5(["b<br/>node-update<br/>ID<br/>failed"])
"""
#: The texts that are exported; times and short ids are left out of them.
EXPORTED = {
    "seed-node-miss": story("n1 lost TIME", f"""
{_OF_A.strip()}
e6(["b<br/>waits for room<br/>ID<br/>blocked"])
e7(["b<br/>when there is room"])
e8(["sys<br/>node-update, nothing to#8230;<br/>ID<br/>complete"])
e2 -->|"BlockedEval"| e3
e3 -.->|"then"| e4
e5 -->|"BlockedEval"| e6
e6 -.->|"then"| e7
e1 --> e2
e1 --> e5
e1 --> e8

class e1 event
class e2,e3,e5,e6,e8 status
class e4,e7 idleQuasi
"""),
    "seed-node-miss-retried": story("n1 lost TIME", f"""
{_OF_A.strip()}
e6(["b<br/>max-plan-attempts<br/>ID<br/>failed"])
e7(["b<br/>waits for room<br/>ID<br/>blocked"])
e8(["b<br/>when there is room"])
e9(["sys<br/>node-update, nothing to#8230;<br/>ID<br/>complete"])
e2 -->|"BlockedEval"| e3
e3 -.->|"then"| e4
e5 -->|"BlockedEval"| e6
e6 -->|"BlockedEval"| e7
e7 -.->|"then"| e8
e1 --> e2
e1 --> e5
e1 --> e9

class e1 event
class e2,e3,e5,e6,e7,e9 status
class e4,e8 idleQuasi
"""),
    "seed-canary": story("Rollout of web v1", """
e1(("web v1<br/>a manager<br/>TIME"))
e2(["web<br/>job-register, 1 placed<br/>ID<br/>complete"])
e3(["web<br/>next step, nothing to do<br/>ID<br/>complete"])
e4(("promoted<br/>TIME"))
e5(["web<br/>promoted, 1 replaced, 1#8230;<br/>ID<br/>complete"])
e6(["web<br/>next step, 1 replaced<br/>ID<br/>complete"])
e7(["web<br/>next step, nothing to do<br/>ID<br/>complete"])
e1 --> e2
e2 -.->|"next step"| e3
e4 --> e5
e1 -.-> e4
e6 -.->|"next step"| e7
e4 -.-> e6

class e1,e4 event
class e2,e3,e5,e6,e7 status
"""),
    # Twenty that fared alike are folded into one.
    "seed-flapping": story("2 nodes lost TIME", """
e1(("2 nodes<br/>lost<br/>TIME"))
e2(["5 jobs<br/>10 placed<br/>#215;20<br/>complete"])
e1 --> e2

class e1 event
class e2 status
"""),
}  # fmt: skip


def without_chance(text):
    """An exported text without what differs from one play to another."""
    return _SHORT_ID.sub("ID", _TIME.sub("TIME", text))


@pytest.mark.parametrize("name", EXPORTED)
def test_the_exported_story_of_a_worked_example_is_word_for_word(name, sqlite_store, monkeypatch):
    # Everything runs in the one thread of the play, so nobody else is kept waiting.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with opened(sqlite_store) as record:
        played = play(load(name), record)
        now, (_, start) = played.world.clock.now(), played.marks[0]
        viewer = Viewer(name="kim", caller=MANAGER, now=now, namespaces=None)

        def export(reader):
            made = [row for row in reader.evaluations() if row.create_index > start]
            (story_id,) = {row.story_id for row in made}
            return story_file(
                reader, viewer, story_id=story_id, form="mmd", at=None, site="http://here"
            )

        told = sqlite_store.read(export)
    assert without_chance(told["text"]) == EXPORTED[name]


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
