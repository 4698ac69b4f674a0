"""The drawings of the documentation, made by the renderer that draws the pages' graphs.

Run as a program it writes them to `docs/drawings`; `tests/test_site.py` compares.
"""

import os
import sys
from pathlib import Path

import django

if __name__ == "__main__":
    # Words of the drawings are texts of pages: they are marked for translation as they are read.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from dashboard.graphs.alone import standalone_svg
from dashboard.graphs.geometry import Graph
from dashboard.graphs.lifecycle_map import lifecycle_map

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "drawings"
_STYLES = ("tokens.css", "base.css", "graph.css")


def alone(graph: Graph) -> str:
    """A drawing as a file of its own."""
    css = ROOT / "static" / "css"
    styles = [(css / name).read_text() for name in _STYLES]
    return standalone_svg(graph, styles, (ROOT / "static" / "img" / "icons.svg").read_text())


def drawings() -> dict[str, str]:
    """Every file by its name."""
    # Behind the settings: it reads templates' files and the record's nouns.
    from tests.played_drawings import played_drawings

    return {"states.svg": alone(lifecycle_map({}, {})), **played_drawings(alone)}


def write(folder: Path) -> None:
    """Draw all of them anew."""
    folder.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    django.setup()
    write(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
