"""What "copy as Mermaid" gives is accepted by Mermaid 11 and 12, whatever the names.

Accepted means: the very nodes, arrows and labels of the graph, and nothing taken for an order.
"""

import random
import re

import pytest

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.geometry import Graph
from dashboard.graphs.lifecycle import EvaluationLife, MadeEvaluation, lifecycle_graph
from dashboard.graphs.mermaid import graph_mermaid, placement_mermaid
from dashboard.graphs.placement import placement_view
from dashboard.graphs.story import story_graph
from dashboard.graphs.story_lanes import LaneEvent, StoryDrawing, StoryLane
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.evaluation import LifecycleStep, Step
from tests.live.mermaid_reader import MAJORS, MermaidReader

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: Names that mean something to Mermaid, Markdown, HTML or a browser.
NASTY = (
    "end", 'a"b', "it's", "a]b", "a)b", "((a", "]) --> x", "{{a}}", "a|b", "[/a/]", "a;b", "a&b",
    "%%{init: {'theme': 'dark', 'securityLevel': 'loose'}}%%", "%% comment", "---\ntitle: x\n---",
    "click e1 call alert(1)", 'click e1 href "javascript:alert(1)"', "style e1 fill:red",
    "classDef x fill:red", "e1:::x", "e1@{ shape: rect }", "subgraph x", "direction TB",
    "<img src=x onerror=alert(1)>", "</span><script>alert(1)</script>", "<b>bold</b>", "&lt;b&gt;",
    "#quot;", "#35;", "`code`", "`**bold**`", "**bold**", "$$x^2$$", "fa:fa-car", "\\n", "\\",
    "graph TD;A-->B", "accTitle: x", "accDescr { x }", "a direction LR b",
    "linkStyle 0 stroke:red", "interpolate basis", "default", "_self", "href x", "==>", "x--x",
    "o--o", "\x00\x1b[31m", "\u202eevil",
    "ありがとう", "\U0001f3d5 camp", "a\u00a0b", "ﬂ°°34¶ß", "x" * 99,
)  # fmt: skip


@pytest.fixture(scope="module", params=sorted(MAJORS))
def mermaid(browser, request):
    reader = MermaidReader(browser, request.param)
    yield reader
    reader.close()


def test_the_two_versions_asked_for_are_here():
    assert sorted(MAJORS) == ["11", "12"]


def chain_of_names(*names: str) -> Graph:
    """A chain in which each name stands wherever a name can stand."""
    layout = ChainLayout("chain-x")
    layout.update(
        ChainMember(
            id=f"{place:08}", job=name, state="complete", trigger=name, outcome=name,
            event_key=f"event {place}", event_lines=(name, name), created_at=place,
            cause_eval=f"{place - 1:08}" if place else "", cause_text=name, expects=name,
        )
        for place, name in enumerate(names)
    )  # fmt: skip
    return layout.graph()


def random_chain(chance: random.Random) -> Graph:
    """Members linked to earlier ones in every way there is."""

    def name() -> str:
        return "".join(chance.choices(NASTY, k=chance.randint(1, 3)))[: chance.randint(1, 60)]

    def earlier(place: int) -> str:
        return f"{chance.randrange(place):08}" if place and chance.random() < 0.6 else ""

    layout = ChainLayout("chain-x")
    layout.update(
        ChainMember(
            id=f"{place:08}", job=name(), trigger=name(), outcome=name(), created_at=place,
            state=chance.choice(("pending", "blocked", "complete", "failed", "canceled")),
            event_key=chance.choice(("", "one", "two")), event_lines=(name(), name()),
            previous_eval=earlier(place), cause_eval=earlier(place), cause_text=name(),
            expects=chance.choice(("", name())),
        )
        for place in range(chance.randint(1, 12))
    )  # fmt: skip
    return layout.graph()


def story_of_names(name: str) -> Graph:
    """A story in which a name stands wherever one can: lanes, folds, what waits, what may come."""
    members = [
        ChainMember(
            id=f"{place:08}", job=name, state=state, trigger=name, outcome=name, created_at=place,
            previous_eval=f"{place - 1:08}" if place == 1 else "", expects=name,
        )
        for place, state in enumerate(("complete", "blocked", *["complete"] * 5))
    ]  # fmt: skip
    event = LaneEvent(lines=(name, name), name=name)
    lanes = (
        StoryLane(key="a", title=name, subs=(name,), members=tuple(members), event=event),
        StoryLane(key="b", title=name, expects=name),
    )
    return story_graph(StoryDrawing(key="story-x", title=name, description=name, lanes=lanes))


def life_of_names(name: str) -> Graph:
    return lifecycle_graph(
        EvaluationLife(
            eval_id=name,
            trigger=name,
            event=(name, name),
            steps=tuple(
                LifecycleStep(eval_id=name, number=number, step=step, at=number)
                for number, step in enumerate((Step.CREATED, Step.ENQUEUED, Step.DEQUEUED), 1)
            ),
            made=(MadeEvaluation(id=name, trigger=name, at=9),),
        )
    )


def plain(text: str) -> str:
    """A name as a label can hold it: marks that cannot be seen are spaces, and those are one."""
    seen = "".join(char if char.isprintable() else " " for char in text[:120])
    return re.sub(" +", " ", seen.strip()) or "-"


def expected(graph: Graph) -> dict[str, object]:
    """What a reader must find in the text of this graph."""
    ids = {node.key: f"e{place}" for place, node in enumerate(graph.nodes, 1)}
    edges = []
    for edge in graph.edges:
        words = [f"{label.text} {label.flow}".strip() for label in edge.labels]
        words = [word for word in words if word] or [edge.text]
        label = "\n".join(plain(word) for word in words if word)
        edges.append([ids[edge.source], ids[edge.target], label])
    return {
        "type": "flowchart-v2",
        "config": {},
        "nodes": [
            [ids[node.key], "\n".join(plain(line.text) for line in node.lines if line.text)]
            for node in graph.nodes
        ],
        "edges": edges,
        "clickable": 0,
        "groups": 0,
    }


def test_no_name_is_more_than_a_name(mermaid):
    graphs = [chain_of_names(name, "plain", name) for name in NASTY]
    assert mermaid.read([graph_mermaid(graph) for graph in graphs]) == [
        expected(graph) for graph in graphs
    ]


def test_stories_are_read_as_they_are(mermaid):
    graphs = [story_of_names(name) for name in NASTY]
    assert mermaid.read([graph_mermaid(graph) for graph in graphs]) == [
        expected(graph) for graph in graphs
    ]


def test_lifecycles_are_read_as_they_are(mermaid):
    graphs = [life_of_names(name) for name in NASTY]
    assert mermaid.read([graph_mermaid(graph) for graph in graphs]) == [
        expected(graph) for graph in graphs
    ]


def test_random_chains_are_read_as_they_are(mermaid):
    chance = random.Random(11)  # noqa: S311 - the same chains every time
    graphs = [random_chain(chance) for _ in range(40)]
    assert mermaid.read([graph_mermaid(graph) for graph in graphs]) == [
        expected(graph) for graph in graphs
    ]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_thousand_random_chains_are_read_as_they_are(mermaid):
    chance = random.Random(12)  # noqa: S311 - the same chains every time
    for _ in range(20):
        graphs = [random_chain(chance) for _ in range(50)]
        assert mermaid.read([graph_mermaid(graph) for graph in graphs]) == [
            expected(graph) for graph in graphs
        ]


def test_placements_are_read_with_their_reasons_and_candidates(mermaid):
    def text(name: str) -> str:
        metric = AllocMetric(
            nodes_evaluated=5,
            nodes_filtered=1,
            nodes_exhausted=2,
            constraint_filtered={name: 1},
            dimension_exhausted={name: 2},
            score_meta_data=(NodeScore(node_id="n6", scores={"binpack": 0.9}, norm_score=0.9),),
        )
        return placement_mermaid(placement_view(metric, {"n6": name}, chosen="n6"), name)

    for name, answer in zip(NASTY, mermaid.read([text(name) for name in NASTY]), strict=True):
        word = plain(name)
        assert answer == {
            "type": "flowchart-v2",
            "config": {},
            "nodes": [["e1", word], ["e2", "1 node"], ["e3", "2 nodes"], ["e4", word]],
            "edges": [
                ["e1", "e2", plain(f"filtered: {name}")],
                ["e1", "e3", plain(f"exhausted: {name}")],
                ["e1", "e4", "0.900"],
            ],
            "clickable": 0,
            "groups": 0,
        }


def test_a_chain_of_the_largest_size_is_read(mermaid):
    layout = ChainLayout("chain-x")
    layout.update(
        ChainMember(
            id=f"{place:08}", job=f"job-{place}", state="complete", trigger="node-update",
            created_at=place, previous_eval=f"{place - 1:08}" if place else "",
        )
        for place in range(600)
    )  # fmt: skip
    (answer,) = mermaid.read([graph_mermaid(layout.graph())])
    assert answer["nodes"][-1][0] == "more"
    assert len(answer["nodes"]) > 200


def test_a_drawing_shows_the_names_and_does_nothing(mermaid):
    drawn = mermaid.draw(graph_mermaid(chain_of_names("<img src=x>", "%%{init}%%", "a]b")))
    assert drawn["active"] == 0
    for name in ("<img src=x>", "%%{init}%%", "a]b"):
        assert [word for word in drawn["words"] if name in word], drawn["words"]
