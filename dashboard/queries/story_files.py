"""A story as files: a drawing as Mermaid text and as a picture, its data, its incident note.

In: a reader, a story's id, the form. Out: text. The picture stands alone: it brings its styles and
icons along, and follows the theme of whoever looks at it.
"""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from django.contrib.staticfiles import finders
from django.utils import translation

from cluster.store.ports import RecordReader
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.geometry import Graph
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.queries.story import Shown, story_for
from dashboard.queries.story_facts import rollout_context
from dashboard.queries.story_losses import losses_context
from dashboard.stories.note import NoteParts, incident_note
from dashboard.stories.whole import Whole, whole_of
from dashboard.viewer import Absent, Viewer

FORMS = {
    "mmd": "text/plain; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}
_STYLES = ("css/tokens.css", "css/base.css", "css/graph.css", "css/pages/story.css")
_OWN_STYLE = (
    "svg.graph{font:13px var(--font-ui);background:var(--surface-1);color-scheme:light dark}"
)
_SYMBOL = re.compile(r'<symbol id="i-([a-z-]+)".*?</symbol>', re.DOTALL)
_DEFINED = re.compile(r"<defs>.*?</defs>", re.DOTALL)
_USED = re.compile(r'href="#i-([a-z-]+)"')
#: A page of JSON does not hold more bodies; what is left out is counted.
MOST_BODIES = 10_000


def story_file(
    reader: RecordReader, viewer: Viewer, *, story_id: str, form: str, at: int | None, site: str
) -> dict[str, Any]:
    """The text of one file; raises Absent."""
    if form not in FORMS:
        raise Absent
    story, namespaces = story_for(reader, viewer, story_id)
    # A file is read by others, and by programs: it is in English, whoever asks for it.
    with translation.override("en"):
        whole = whole_of(reader, story, viewer.now, namespaces=namespaces, at=at)
        match form:
            case "mmd":
                return {"text": graph_mermaid(whole.graph, says_states=True)}
            case "svg":
                return {"text": picture(whole.graph, site)}
            case "md":
                return {"text": incident_note(whole, site, _parts(reader, whole))}
        return {"text": _data(reader, whole, Shown(at=at))}


def _data(reader: RecordReader, whole: Whole, shown: Shown) -> str:
    faces = whole.gathered.faces
    ids = [face.id for face in faces if not face.is_stub][:MOST_BODIES]
    told = whole.gathered.evaluations
    bodies = {item.id: item for item in reader.evaluations_among(ids)} | {
        key: item for key, item in told.items() if key in ids
    }
    document = {
        "Index": reader.index if shown.at is None else shown.at,
        "Story": whole.story,
        "Evaluations": [bodies[eval_id] for eval_id in ids if eval_id in bodies],
        "Collected": [face.id for face in faces if face.is_stub],
        "LeftOut": len(faces) - len(ids) - whole.gathered.collected,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _parts(reader: RecordReader, whole: Whole) -> NoteParts:
    """What the page tells beside the story itself."""
    told = rollout_context(reader, whole) | losses_context(reader, whole)
    return NoteParts(
        outcome=told.get("outcome"),
        changed=told.get("changed", ""),
        compare_url=told.get("compare_url", ""),
        acts=told.get("acts", ()),
        loss=told.get("loss"),
    )


def picture(graph: Graph, site: str) -> str:
    """The drawing as a file of its own, in the colors of both themes."""
    drawing = DrawnGraph(graph).whole()
    layers = "".join(
        f'<g class="graph-{layer}">{"".join(elements)}</g>'
        for layer, elements in drawing.layers.items()
    )
    icons = "".join(
        _symbols()[name] for name in sorted(set(_USED.findall(layers))) if name in _symbols()
    )
    # Whoever opens the file is elsewhere: links lead to the site; places within the page to none.
    layers = layers.replace(' href="/', f' href="{escape(site)}/')
    layers = re.sub(r' href="(?:\?[^"]*|#phases)"', "", layers)
    frame = " ".join(f'{name}="{value}"' for name, value in drawing.frame.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph graph-chain" role="img" {frame}>'
        f"<title>{escape(graph.title)}</title><desc>{escape(graph.description)}</desc>"
        f"<style>{escape(_style(), quote=False)}</style>{_markers()}{icons}{layers}</svg>\n"
    )


@cache
def _style() -> str:
    return "\n".join([*(_static(path) for path in _STYLES), _OWN_STYLE])


@cache
def _symbols() -> dict[str, str]:
    return {found[1]: found[0] for found in _SYMBOL.finditer(_static("img/icons.svg"))}


@cache
def _markers() -> str:
    found = _DEFINED.search(_static("img/icons.svg"))
    return found[0] if found else ""


def _static(path: str) -> str:
    found = finders.find(path)
    assert isinstance(found, str), f"{path} is part of the product"
    return Path(found).read_text(encoding="utf-8")
