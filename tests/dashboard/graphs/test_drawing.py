from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.graphs.drawing import DrawnGraph, GraphChanges
from dashboard.graphs.geometry import ArrowLabel, Disc, Graph, GraphEdge, GraphNode
from tests.dashboard.drawn_page import DrawnPage

#: The same keys in every layer: an element is known by both.
KEYS = st.sampled_from("abc")
NODES = st.builds(
    GraphNode, key=KEYS, state=st.sampled_from(["pending", "complete"]), name=KEYS,
    x=st.integers(0, 2), y=st.just(0), width=st.just(9), height=st.just(9),
)  # fmt: skip
EDGES = st.builds(GraphEdge, key=KEYS, source=KEYS, target=KEYS, line=KEYS)
DISCS = st.builds(Disc, key=KEYS, x=st.integers(0, 2), y=st.just(0), text=KEYS)
LABELS = st.builds(ArrowLabel, x=st.integers(0, 2), y=st.just(0), text=KEYS)


def some(items):
    return st.lists(items, max_size=3, unique_by=lambda item: item.key).map(tuple)


GRAPHS = st.builds(
    Graph, key=st.just("g"), title=st.just("G"), description=st.sampled_from(["one", "two"]),
    view=st.tuples(st.just(0), st.just(0), st.integers(1, 2), st.just(4)), nodes=some(NODES),
    edges=some(EDGES), discs=some(DISCS), labels=st.lists(LABELS, max_size=2).map(tuple),
)  # fmt: skip


def whole(graph):
    return DrawnGraph(graph).whole()


@given(st.lists(GRAPHS, min_size=2, max_size=4))
def test_a_page_told_of_each_change_is_the_page_drawn_now(versions):
    page, drawn = DrawnPage(whole(versions[0])), DrawnGraph(versions[0])
    for version in versions[1:]:
        page.take(drawn.redraw(version))
    assert vars(page) == vars(DrawnPage(whole(versions[-1])))
    assert drawn.whole() == whole(versions[-1])


@given(GRAPHS)
def test_of_what_stayed_nothing_is_told(graph):
    assert DrawnGraph(graph).redraw(graph) == GraphChanges(key="g")


@given(GRAPHS, st.integers(0, 2))
def test_of_one_node_that_changed_only_that_is_told(graph, place):
    if not graph.nodes:
        return
    place %= len(graph.nodes)
    nodes = [*graph.nodes]
    nodes[place] = replace(nodes[place], state="failed")
    after = replace(graph, nodes=tuple(nodes))
    element = whole(after).layers["nodes"][place]
    assert DrawnGraph(graph).redraw(after) == GraphChanges(key="g", layers={"nodes": (element,)})
