import re

import msgspec
import pytest

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.lifecycle import EvaluationLife, lifecycle_graph
from dashboard.graphs.mermaid import MAX_EDGES, MAX_TEXT, escaped, graph_mermaid, placement_mermaid
from dashboard.graphs.placement import placement_view
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.evaluation import LifecycleStep, Step

CLASSES = """\
classDef status fill:#d5f6ea,stroke:#1d9467,stroke-width:4px,color:#12372b
classDef quasi fill:#d5f6ea,stroke:#1d9467,stroke-dasharray:5 5,color:#12372b
classDef event fill:#d5f6ea,stroke:#1d9467,color:#12372b
classDef idle fill:#f6f8f7,stroke:#9aa5a0,color:#57645e
classDef idleQuasi fill:#f6f8f7,stroke:#9aa5a0,stroke-dasharray:5 5,color:#57645e
classDef current fill:#b8efd9,stroke:#0f6b49,stroke-width:6px,color:#12372b
"""

LIFE = """\
flowchart LR
%% Lifecycle of evaluation 3f2a91c4
e1(("Job<br/>api<br/>job-register"))
e2(["pending"])
e3(["delayed"])
e4(["scheduling"])
e5(["applying"])
e6(["blocked"])
e7(["canceled"])
e8(["complete"])
e9(["failed"])
e10(["deleted"])
e1 ==>|"event"| e2
e2 ==>|"dequeued"| e4
e2 -->|"must wait"| e3
e3 -->|"time is up"| e2
e4 -->|"handed back"| e3
e4 -->|"plan"| e5
e5 -->|"answer"| e4
e4 -->|"finished"| e8
e4 -->|"attempts used up"| e9
e4 -->|"no room again"| e6
e6 -->|"unblocked"| e4
e6 -->|"superseded, or job fully placed"| e7
e2 -->|"superseded while queued"| e7
e7 -->|"collected"| e10
e8 -->|"collected"| e10
e9 -->|"garbage collection"| e10
e4 -.->|"queued-allocs, max-plan-attempts"| e6
e4 -.->|"follow-up"| e2
e5 -.->|"preemption"| e2
e8 -.->|"deployment-watcher"| e2
e9 -.->|"failed-follow-up"| e2
"""

CHAIN = """\
flowchart LR
%% Chain of evaluations
e1(("node-04<br/>lost"))
e2(["web<br/>node-update, 2 placed<br/>a1a1a1a1"])
e3(["web<br/>queued-allocs<br/>b2b2b2b2"])
e4(["thumbs<br/>preemption<br/>c3c3c3c3"])
e5(["web<br/>when memory is free"])
e1 --> e2
e2 -->|"BlockedEval"| e3
e2 -.->|"preempts"| e4
e3 -.->|"then"| e5
"""

HOSTILE = [
    "end", 'a"b', "<img src=x onerror=alert(1)>", "]) --> x", "%% comment", "a|b", "`code`",
    "graph TD;A-->B", "click e1 call f()", "#quot;", "a;b", "{{ x }}", "\\n", "\x00\x1b[31m",
    "ありがとう",
    "x" * 5000, "", "\u202eevil", "style e1 fill:red", "&lt;b&gt;",
]  # fmt: skip


def test_lifecycle_text_is_the_golden_one():
    life = EvaluationLife(
        eval_id="3f2a91c4-0000",
        trigger="job-register",
        event=("Job", "api"),
        steps=tuple(
            LifecycleStep(eval_id="x", number=number, step=step, at=number)
            for number, step in enumerate((Step.CREATED, Step.ENQUEUED, Step.DEQUEUED), 1)
        ),
    )
    assert graph_mermaid(lifecycle_graph(life)) == (
        LIFE + CLASSES + "class e1 event\nclass e2 status\nclass e3,e5,e10 idleQuasi\n"
        "class e4 current\nclass e6,e7,e8,e9 idle\n"
    )


def chain():
    layout = ChainLayout("chain-x")
    layout.update(
        [
            ChainMember(
                id="a1a1a1a1-1", job="web", state="complete", trigger="node-update",
                outcome="2 placed", blocked_eval="b2b2b2b2-2", event_key="n",
                event_lines=("node-04", "lost"), created_at=1,
            ),
            ChainMember(
                id="b2b2b2b2-2", job="web", state="blocked", trigger="queued-allocs", created_at=2,
                previous_eval="a1a1a1a1-1", expects="when memory is free",
            ),
            ChainMember(
                id="c3c3c3c3-3", job="thumbs", state="complete", trigger="preemption",
                created_at=3, cause_eval="a1a1a1a1-1", cause_text="preempts",
            ),
        ]
    )  # fmt: skip
    return layout.graph()


def test_chain_text_is_the_golden_one():
    assert graph_mermaid(chain()) == (
        CHAIN + CLASSES + "class e1 event\nclass e2,e3,e4 status\nclass e5 idleQuasi\n"
    )


def test_what_stands_in_a_title_one_after_the_other_stays_apart():
    two = msgspec.structs.replace(chain(), title="Drain 1 node; Stop shop, rehearsed")
    assert graph_mermaid(two).splitlines()[1] == "%% Drain 1 node, Stop shop, rehearsed"


def test_states_are_said_where_only_the_drawing_tells_them():
    lines = graph_mermaid(chain(), says_states=True).splitlines()
    assert lines[2:7] == [
        'e1(("node-04<br/>lost"))',
        'e2(["web<br/>node-update, 2 placed<br/>a1a1a1a1<br/>complete"])',
        'e3(["web<br/>queued-allocs<br/>b2b2b2b2<br/>blocked"])',
        'e4(["thumbs<br/>preemption<br/>c3c3c3c3<br/>complete"])',
        'e5(["web<br/>when memory is free"])',
    ]


def test_placement_text_is_the_golden_one():
    metric = AllocMetric(
        nodes_evaluated=5,
        nodes_filtered=1,
        nodes_exhausted=2,
        constraint_filtered={"${attr.cpu.arch} = amd64": 1},
        dimension_exhausted={"memory": 2},
        score_meta_data=(
            NodeScore(node_id="n6", scores={"binpack": 0.93}, norm_score=0.93),
            NodeScore(node_id="n2", scores={"binpack": 0.5}, norm_score=0.5),
        ),
    )
    view = placement_view(metric, {"n6": "node-06"}, chosen="n6")
    assert placement_mermaid(view, "api[3]") == (
        'flowchart LR\ne1(["api#91;3#93;"])\n'
        'e2["1 node"]\ne1 -.->|"filtered: #36;#123;attr.cpu.arch#125; = amd64"| e2\n'
        'e3["2 nodes"]\ne1 -.->|"exhausted: memory"| e3\n'
        'e4["node-06"]\ne1 ==>|"0.930"| e4\n'
        'e5["n2"]\ne1 -->|"0.500"| e5\n'
        + CLASSES
        + "class e1,e5 status\nclass e2,e3 idle\nclass e4 current\n"
    )


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_is_ever_read_as_syntax(name):
    text = escaped(name)
    assert re.fullmatch(r"[\w .,:/+\-@()=!?→·]*(#\d+;[\w .,:/+\-@()=!?→·]*)*", text)
    assert text
    layout = ChainLayout("chain-x")
    layout.update(
        [ChainMember(id=name or "a", job=name, state="complete", trigger=name, outcome=name)]
    )
    lines = graph_mermaid(layout.graph()).splitlines()
    assert re.fullmatch(r'e1\(\["[^"<>|`]*(<br/>[^"<>|`]*)*"\]\)', lines[2])


@pytest.mark.parametrize("word", ["style", "classDef", "direction"])
def test_words_that_mermaid_heeds_inside_labels_are_broken_up(word):
    assert word not in escaped(f"a {word} TB:#")


def test_an_arrow_whose_words_cannot_be_seen_has_a_label_all_the_same():
    layout = ChainLayout("chain-x")
    layout.update(
        ChainMember(
            id=f"{place}", job="web", trigger="t", outcome="", created_at=place, state="complete",
            cause_eval="0" if place else "", cause_text="\x00",
        )
        for place in range(2)
    )  # fmt: skip
    assert '-.->|"-"|' in graph_mermaid(layout.graph())


def test_a_chain_beyond_mermaids_limits_says_what_is_left_out():
    layout = ChainLayout("chain-x")
    layout.update(
        ChainMember(
            id=f"{place:08}", job=f"job-{place}", state="complete", trigger="node-update",
            outcome=f"{place} placed", created_at=place,
            previous_eval=f"{place - 1:08}" if place else "",
        )
        for place in range(1500)
    )  # fmt: skip
    text = graph_mermaid(layout.graph())
    assert len(text) <= MAX_TEXT
    assert text.count("-->") <= MAX_EDGES
    shown = len(re.findall(r"^e\d+\(", text, re.MULTILINE))
    assert f'more["{escaped(f"{1500 - shown:,}".replace(",", chr(0x202F)))} more nodes"]' in text
