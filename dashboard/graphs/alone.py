"""A graph as a file of its own: SVG that brings its colours, icons and arrowheads along.

In: geometry, the stylesheets' text and the sprite of icons. Out: one SVG document, light or dark
as its viewer's system is. Nothing is fetched by it.
"""

import re
from collections.abc import Iterable
from html import escape

from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.geometry import Graph

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SYMBOL = re.compile(r'<symbol id="([^"]+)".*?</symbol>', re.DOTALL)


def standalone_svg(graph: Graph, styles: Iterable[str], sprite: str) -> str:
    """The document. `styles` are ours, and name nothing outside."""
    whole = DrawnGraph(graph).whole()
    layers = "\n".join(
        f'<g class="graph-{layer}">{"".join(elements)}</g>'
        for layer, elements in whole.layers.items()
    )
    frame = " ".join(f'{name}="{escape(value)}"' for name, value in whole.frame.items())
    style = "\n".join(_COMMENT.sub("", text) for text in styles)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph graph-map" role="img" {frame}>\n'
        f"<title>{escape(graph.title)}</title>\n<desc>{escape(whole.description)}</desc>\n"
        f"<style>\n{_small(style)}\n</style>\n{_used(sprite, layers)}\n{layers}\n</svg>\n"
    )


def _used(sprite: str, markup: str) -> str:
    """The sprite with those icons that the drawing shows."""
    return _SYMBOL.sub(lambda each: each[0] if f'"#{each[1]}"' in markup else "", sprite)


def _small(style: str) -> str:
    return re.sub(r"\s*\n\s*", "\n", style).strip()
