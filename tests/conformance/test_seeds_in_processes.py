"""The worked examples in real processes: what their chains look like as exported Mermaid text.

Every example is played on a server of its own; its chains are then asked of that server, as a
script would, and compared with what control-plane.md 15 says. Names stand for ids.
"""

import re

import pytest

from tests.conformance import chain_processes
from tests.conformance.chain_outcome import Outcome
from tests.conformance.test_chains import load
from tests.conformance.test_seed_stories import EXPORTED, without_chance
from tests.dashboard.graphs.test_mermaid import CLASSES

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]

#: Behind its trigger, what an evaluation achieved; and by whom a version was registered.
_ACHIEVED = re.compile(r", [^<\n]*(?=<br/>ID)")
_WHO = re.compile(r"(?<=web v1<br/>)[^<]+")
#: A node of a drawing: its name, and its shape with its text.
_LABEL = re.compile(r"^(e\d+)(\(.*)$", re.MULTILINE)
_TIME = re.compile(r"\b\d\d:\d\d:\d\d\b")


def chain(text: str) -> str:
    """The whole text of a chain whose nodes and arrows are these, and the classes after them."""
    body, _, classes = text.strip().partition("\n\n")
    return f"flowchart LR\n%% Chain of evaluations\n{body}\n{CLASSES}{classes}\n"


def alone(event: str, job: str, trigger: str, name: str) -> str:
    """A chain of one evaluation that is complete: nothing links it to another."""
    return chain(f"""
e1(("{event}<br/>TIME"))
e2(["{job}<br/>{trigger}<br/>{name}<br/>complete"])
e1 --> e2

class e1 event
class e2 status
""")


#: Common to both ways of counting the missed node: its system job, and the service that no
#: remaining node meets the constraint of.
SYSTEM_AND_A = [
    alone("Node<br/>n1", "sys", "node-update", "sys/node-update@n1#1"),
    chain("""
e1(("Node<br/>n1<br/>TIME"))
e2(["a<br/>node-update, 1 waits<br/>a/node-update@n1#1<br/>complete"])
e3(["a<br/>queued-allocs<br/>a/queued-allocs#1<br/>blocked"])
e4(["a<br/>when there is room"])
e1 --> e2
e2 -->|"BlockedEval"| e3
e3 -.->|"then"| e4

class e1 event
class e2,e3 status
class e4 idleQuasi
"""),
]

#: Scenario, number of evaluations since its first mark, and the chains they make.
EXAMPLES = {
    # 15.1, before the minute's sweep: the plans of b were refused five times.
    "seed-node-miss": (
        5,
        [
            *SYSTEM_AND_A,
            chain("""
e1(("Node<br/>n1<br/>TIME"))
e2(["b<br/>node-update<br/>b/node-update@n1#1<br/>failed"])
e3(["b<br/>max-plan-attempts<br/>b/max-plan-attempts#1<br/>blocked"])
e4(["b<br/>when there is room"])
e1 --> e2
e2 -->|"BlockedEval"| e3
e3 -.->|"then"| e4

class e1 event
class e2,e3 status
class e4 idleQuasi
"""),
        ],
    ),
    # 15.1, after it: the retry of b failed as the first try did, and left the sixth.
    "seed-node-miss-retried": (
        6,
        [
            *SYSTEM_AND_A,
            chain("""
e1(("Node<br/>n1<br/>TIME"))
e2(["b<br/>node-update<br/>b/node-update@n1#1<br/>failed"])
e3(["b<br/>max-plan-attempts<br/>b/max-plan-attempts#1<br/>failed"])
e4(["b<br/>max-plan-attempts<br/>b/max-plan-attempts#2<br/>blocked"])
e5(["b<br/>when there is room"])
e1 --> e2
e2 -->|"BlockedEval"| e3
e3 -->|"BlockedEval"| e4
e4 -.->|"then"| e5

class e1 event
class e2,e3,e4 status
class e5 idleQuasi
"""),
        ],
    ),
    # 15.2: registration and three times health make 4, the promotion one more.
    "seed-canary": (
        5,
        [
            alone("Job<br/>web", "web", "job-register", "web/job-register#2"),
            *(
                alone(
                    "Deployment<br/>web/deployment#2", "web", "deployment-watcher",
                    f"web/deployment-watcher#{number}",
                )
                for number in (2, 3, 4, 5)
            ),
        ],
    ),
    # 15.3: five for each of four transitions, none linked to another.
    "seed-flapping": (
        20,
        [
            alone(f"Node<br/>{node}", job, "node-update", f"{job}/node-update@{node}#{number}")
            for node in ("n1", "n2")
            for number in (1, 2)
            for job in ("sys1", "sys2", "sys3", "sys4", "sys5")
        ],
    ),
    # 15.1, row 6: what three deliveries that end in an error leave behind.
    "failed-follow-up": (
        2,
        [
            chain("""
e1(("Operator<br/>etl<br/>TIME"))
e2(["etl<br/>job-register<br/>blue:etl/job-register#2<br/>failed"])
e3(["etl<br/>failed-follow-up<br/>blue:etl/failed-follow-up#1<br/>delayed"])
e1 --> e2
e2 -->|"NextEval"| e3

class e1 event
class e2 status
class e3 quasi
"""),
        ],
    ),
    # 15.4 in small: 6 down, of which the way up repeats only those of the system jobs.
    "seed-large-flap": (
        8,
        [
            alone("Node<br/>n1", job, "node-update", f"{job}/node-update@n1#{number}")
            for number, jobs in (
                (1, ("sys1", "sys2", "web1", "web2", "web3", "web4")),
                (2, ("sys1", "sys2")),
            )
            for job in jobs
        ],
    ),
}  # fmt: skip


def plainly(text: str) -> list[str]:
    """The nodes and arrows of a story's text without what differs from one play to another.

    That is who asked, the words of the moment, and the order of branches that fare alike: those of
    one write stand by their ids.
    """
    body, _, _ = _WHO.sub("WHO", _ACHIEVED.sub("", text)).partition("classDef")
    labels = dict(_LABEL.findall(body))
    names = re.compile(r"\be\d+\b")
    return sorted(names.sub(lambda name: labels[name[0]], line) for line in body.splitlines())


def exported(played, stack) -> tuple[int, list[str], list[str]]:
    """How many evaluations there are since the first mark; texts of their chains and stories."""
    (_, begin), *_ = played.marks
    names = {identifier[:8]: name for identifier, name in Outcome(played, ()).names.items()}
    short_ids = re.compile("|".join(names))
    made = [
        item
        for item in played.world.store.evaluations()
        if item.create_index > begin and item.type != "_core"
    ]
    texts = set()
    with stack.client() as client:
        for evaluation in made:
            answer = client.get(f"/chains/{evaluation.id}.mmd")
            assert answer.status_code == 200, answer.text
            named = short_ids.sub(lambda found: names[found.group()], answer.text)
            texts.add(_TIME.sub("TIME", named))
        stories = [
            without_chance(client.get(f"/stories/{story_id}.mmd").text)
            for story_id in sorted({item.story_id for item in made})
        ]
    return len(made), sorted(texts), stories


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_exported_chains_of_an_example_are_those_of_the_chapter(
    name, monkeypatch, django_db_blocker
):
    # Everything is asked in the one thread of the play, so nobody else is kept waiting.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    count, chains = EXAMPLES[name]
    with django_db_blocker.unblock(), chain_processes.play(load(name)) as (played, stack):
        made, texts, stories = exported(played, stack)
    assert made == count
    assert texts == sorted(chains)
    if name in EXPORTED:
        assert list(map(plainly, stories)) == [plainly(EXPORTED[name])]
