from xml.etree import ElementTree as ET

import pytest

from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Disc,
    GraphEdge,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.graphs.svg import disc_svg, edge_svg, label_svg, node_svg

HOSTILE = "\"'><script>alert(1)</script>&amp;"


def test_a_stadium_is_a_link_with_focus_shape_icon_and_texts():
    node = GraphNode(
        key="a", state="blocked", name="evaluation a", x=140, y=31.25, width=196, height=50,
        icon="blocked", href="/evaluations/a/",
        lines=stadium_lines((140, 31.25), (196, 50), "web"),
    )  # fmt: skip
    assert node_svg(node) == (
        '<a class="graph-node" data-key="a" data-state="blocked" href="/evaluations/a/"'
        ' tabindex="0" aria-label="evaluation a">'
        '<rect class="focus" x="135" y="26.25" width="206" height="60" rx="30"/>'
        '<rect class="shape" x="140" y="31.25" width="196" height="50" rx="25"/>'
        '<use class="graph-icon" href="#i-blocked" x="152" y="48.25" width="16" height="16"/>'
        '<text class="graph-title" x="175" y="60.75">web</text></a>'
    )


def test_a_circle_without_an_address_is_an_image():
    node = GraphNode(
        key="event", state="event", name="Cluster event", shape=CIRCLE, x=52, y=210, width=88,
        height=88, lines=circle_lines(52, 210, ("Cluster", "event")),
    )  # fmt: skip
    assert node_svg(node) == (
        '<a class="graph-node" data-key="event" data-state="event" role="img" tabindex="0"'
        ' aria-label="Cluster event"><circle class="focus" cx="52" cy="210" r="49"/>'
        '<circle class="shape" cx="52" cy="210" r="44"/>'
        '<text class="graph-title" x="52" y="206.5">Cluster</text>'
        '<text class="graph-title" x="52" y="221.5">event</text></a>'
    )


def test_what_a_node_is_besides_lies_behind_its_shape_or_in_its_marks():
    node = GraphNode(
        key="a", state="scheduling", name="a", x=0, y=0, width=20, height=10, is_quasi=True,
        is_tombstone=True, is_folded=True, is_current=True, is_selected=True,
    )  # fmt: skip
    drawn = ET.fromstring(node_svg(node))  # noqa: S314 - written here
    assert [part.get("class") for part in drawn] == [
        "focus", "behind", "behind", "graph-pulse", "shape",
    ]  # fmt: skip
    assert {"data-quasi", "data-tombstone"} <= set(drawn.keys())
    assert drawn.get("aria-current") == "true"


@pytest.mark.parametrize(
    ("edge", "line"),
    [
        pytest.param(
            GraphEdge(key="a>b", source="a", target="b", line="M0 0H9", path="hot"),
            '<path class="line" d="M0 0H9" marker-end="url(#arrow-hot)"/>',
            id="one-head",
        ),
        pytest.param(
            GraphEdge(key="a>b", source="a", target="b", line="M0 0H9", is_double=True),
            '<path class="line" d="M0 0H9" marker-end="url(#arrow)" marker-start="url(#arrow)"/>',
            id="two-heads",
        ),
    ],
)
def test_an_arrow_has_the_head_of_its_path(edge, line):
    path = f' data-path="{edge.path}"' if edge.path else ""
    assert edge_svg(edge) == (
        '<g class="graph-edge" data-key="a&gt;b" data-source="a" data-target="b" data-kind="step"'
        f"{path}>{line}</g>"
    )


@pytest.mark.parametrize(
    ("label", "key", "expected"),
    [
        (ArrowLabel(x=1, y=2.5, text="then"), "",
         '<text class="graph-label" x="1" y="2.5">then</text>'),
        (ArrowLabel(x=1, y=2, text="plan", flow="12", anchor="end"), "",
         ('<text class="graph-label graph-label-end" x="1" y="2">plan'
         ' <tspan class="flow">12</tspan></text>')),
        (ArrowLabel(x=1, y=2, flow="12"), "0",
         ('<text class="graph-label" data-key="0" x="1" y="2">'
         '<tspan class="flow">12</tspan></text>')),
    ],
    ids=["words", "words-and-moves", "moves-alone-with-a-key"],
)  # fmt: skip
def test_a_label_is_text_and_what_moved(label, key, expected):
    assert label_svg(label, key=key) == expected


def test_a_step_is_its_number_on_a_disc():
    assert disc_svg(Disc("a-b:0", 124, 226, "1")) == (
        '<g class="graph-step" data-key="a-b:0"><circle cx="124" cy="226" r="9"/>'
        '<text x="124" y="229.5">1</text></g>'
    )


@pytest.mark.parametrize(
    "drawn",
    [
        node_svg(
            GraphNode(
                key=HOSTILE, state=HOSTILE, name=HOSTILE, x=0, y=0, width=1, height=1,
                icon=HOSTILE, href=HOSTILE, lines=stadium_lines((0, 0), (1, 1), HOSTILE),
            )
        ),
        edge_svg(
            GraphEdge(
                key=HOSTILE, source=HOSTILE, target=HOSTILE, kind=HOSTILE, path=HOSTILE,
                line=HOSTILE,
                labels=(ArrowLabel(x=0, y=0, text=HOSTILE, flow=HOSTILE, anchor=HOSTILE),),
            )
        ),
        disc_svg(Disc(HOSTILE, 0, 0, HOSTILE)),
    ],
    ids=["node", "edge", "disc"],
)  # fmt: skip
def test_no_name_becomes_markup(drawn):
    tree = ET.fromstring(drawn)  # noqa: S314 - written here
    assert "script" not in {element.tag for element in tree.iter()}
    assert tree.get("data-key") == HOSTILE
    assert HOSTILE in set(tree.itertext())
