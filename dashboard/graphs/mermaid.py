"""Any graph as Mermaid text that versions 11 and 12 read; nothing is drawn with it.

Node ids are generated (e1, e2, ...): raw ids such as `end` break the parser. Labels are quoted,
and every character with a meaning in Mermaid or HTML becomes an entity, so that no name is ever
read as syntax.
"""

from dashboard.graphs.geometry import CIRCLE, Graph, GraphEdge, GraphNode
from dashboard.graphs.placement import PlacementView
from dashboard.wording import count_of

#: Mermaid's own defaults are 500 edges and 50,000 characters.
MAX_EDGES = 480
MAX_TEXT = 48_000
_LABEL_LIMIT = 120
#: What a node is drawn as when it stands for something that has no state.
_NO_STATES = frozenset({"event", "possible"})
_SAFE = frozenset(" .,:/+-_@()=!?→·")

_CLASSES = (
    "classDef status fill:#d5f6ea,stroke:#1d9467,stroke-width:4px,color:#12372b",
    "classDef quasi fill:#d5f6ea,stroke:#1d9467,stroke-dasharray:5 5,color:#12372b",
    "classDef event fill:#d5f6ea,stroke:#1d9467,color:#12372b",
    "classDef idle fill:#f6f8f7,stroke:#9aa5a0,color:#57645e",
    "classDef idleQuasi fill:#f6f8f7,stroke:#9aa5a0,stroke-dasharray:5 5,color:#57645e",
    "classDef current fill:#b8efd9,stroke:#0f6b49,stroke-width:6px,color:#12372b",
)


def escaped(text: str) -> str:
    """Text for a quoted label: letters, digits, harmless marks; the rest as `#nn;` entities."""
    out = []
    for char in text[:_LABEL_LIMIT]:
        if (char.isalnum() and char.isprintable()) or char in _SAFE:
            out.append(char)
        else:
            out.append(" " if not char.isprintable() else f"#{ord(char)};")
    return _unordered("".join(out).strip()) or "-"


def _unordered(text: str) -> str:
    """Mermaid looks for these words inside labels too: two spoil entities, one takes the line."""
    for word in ("style", "classDef", "direction"):
        text = text.replace(word, f"#{ord(word[0])};{word[1:]}")
    return text


def graph_mermaid(graph: Graph, *, says_states: bool = False) -> str:
    """The text of a lifecycle, map or chain; beyond Mermaid's limits the rest is one node.

    `says_states` where nodes have states that the drawing tells by color and icon alone.
    """
    kept = list(graph.nodes)
    while True:
        text = _flowchart(graph, kept, says_states=says_states)
        edges = text.count("-->") + text.count("-.->") + text.count("==>")
        if (len(text) <= MAX_TEXT and edges <= MAX_EDGES) or len(kept) < 2:
            return text
        kept = kept[: max(len(kept) * 3 // 4, 1)]


def _flowchart(graph: Graph, kept: list[GraphNode], *, says_states: bool) -> str:
    names = {node.key: f"e{place}" for place, node in enumerate(kept, 1)}
    rest = len(graph.nodes) - len(kept)
    lines = ["flowchart LR", f"%% {_comment(graph.title)}"]
    lines += [f"{names[node.key]}{_shape(node, says_states=says_states)}" for node in kept]
    for edge in graph.edges:
        if edge.source in names and edge.target in names:
            lines.append(_arrow(edge, names))
    if rest:
        lines.append(
            f'more["{escaped(count_of(rest, "{count} more node", "{count} more nodes"))}"]'
        )
    lines += _CLASSES
    for name, members in _by_class(kept, names).items():
        lines.append(f"class {','.join(members)} {name}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    plain = text.replace(";", ",")
    return "".join(char for char in plain if char.isalnum() or char in " -,.")


def _shape(node: GraphNode, *, says_states: bool) -> str:
    words = [line.text for line in node.lines if line.text]
    if says_states and node.state not in _NO_STATES and not node.is_tombstone:
        words.append(node.state)
    label = "<br/>".join(escaped(word) for word in words)
    return f'(("{label}"))' if node.shape == CIRCLE else f'(["{label}"])'


def _arrow(edge: GraphEdge, names: dict[str, str]) -> str:
    told = [f"{label.text} {label.flow}".strip() for label in edge.labels]
    words = [word for word in told if word] or [edge.text]
    text = "<br/>".join(escaped(word) for word in words if word)
    line = "-.->" if edge.kind in ("new", "cause", "next") else "-->"
    line = "==>" if edge.path == "taken" and line == "-->" else line
    label = f'|"{text}"|' if text else ""
    return f"{names[edge.source]} {line}{label} {names[edge.target]}"


def _by_class(nodes: list[GraphNode], names: dict[str, str]) -> dict[str, list[str]]:
    classes: dict[str, list[str]] = {}
    for node in nodes:
        classes.setdefault(_class_of(node), []).append(names[node.key])
    return classes


def _class_of(node: GraphNode) -> str:
    if node.is_current:
        return "current"
    if node.state == "event":
        return "event"
    if node.state == "possible" or node.is_tombstone:
        return "idleQuasi" if node.is_quasi or node.is_tombstone else "idle"
    return "quasi" if node.is_quasi else "status"


def placement_mermaid(view: PlacementView, title: str) -> str:
    """The text of one placement: what was looked at, why nodes fell out, which one was chosen."""
    lines = ["flowchart LR", f'e1(["{escaped(title)}"])']
    classes = {"status": ["e1"], "idle": [], "current": []}
    place = 1
    for refusal in (view.filtered + view.exhausted)[:MAX_EDGES]:
        place += 1
        lines.append(
            f'e{place}["{escaped(count_of(refusal.count, "{count} node", "{count} nodes"))}"]'
        )
        lines.append(f'e1 -.->|"{escaped(refusal.kind)}: {escaped(refusal.reason)}"| e{place}')
        classes["idle"].append(f"e{place}")
    for candidate in view.candidates:
        place += 1
        lines.append(f'e{place}["{escaped(candidate.name)}"]')
        lines.append(
            f'e1 {"==>" if candidate.is_chosen else "-->"}|"{candidate.final:.3f}"| e{place}'
        )
        classes["current" if candidate.is_chosen else "status"].append(f"e{place}")
    lines += _CLASSES
    lines += [f"class {','.join(members)} {name}" for name, members in classes.items() if members]
    return "\n".join(lines) + "\n"
