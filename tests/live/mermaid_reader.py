"""The real Mermaid in a browser: what it understands of a text, and what it draws."""

import hashlib
import html
import json
import lzma
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

_VENDOR = Path(__file__).parent / "vendor" / "mermaid"
_FILES = json.loads((_VENDOR / "manifest.json").read_text())["files"]
#: Names of the files by major version.
MAJORS = {name.split("-")[1].split(".")[0]: name for name in _FILES}

_READ = """async texts => {
  const read = async text => {
    const { diagramType, config } = await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    const nodes = [...db.getVertices().values()];
    return {
      type: diagramType,
      config,
      nodes: nodes.map(node => [node.id, node.text]),
      edges: db.getEdges().map(edge => [edge.start, edge.end, edge.text]),
      clickable: nodes.filter(node => node.link || node.haveCallback).length,
      groups: db.getSubGraphs().length,
    };
  };
  const answers = [];
  for (const text of texts) answers.push(await read(text).catch(error => ({ error: `${error}` })));
  return answers;
}"""
_DRAW = """async text => {
  const { svg } = await mermaid.render("drawn", text);
  const drawn = new DOMParser().parseFromString(svg, "text/html");
  return {
    words: [...drawn.querySelectorAll(".nodeLabel, .edgeLabel")].map(label => label.textContent),
    active: drawn.querySelectorAll("img, a, script, iframe, [onclick], [onerror]").length,
  };
}"""


class MermaidReader:
    """A page that holds one version of Mermaid and no network."""

    def __init__(self, browser: Browser, major: str) -> None:
        name = MAJORS[major]
        source = lzma.decompress((_VENDOR / f"{name}.xz").read_bytes())
        assert hashlib.sha256(source).hexdigest() == _FILES[name]["sha256"], name
        self.context = browser.new_context(offline=True)
        self.page = self.context.new_page()
        self.page.add_script_tag(content=source.decode())
        self.page.evaluate("mermaid.initialize({ startOnLoad: false })")

    def read(self, texts: list[str]) -> list[dict[str, Any]]:
        """Of each text its kind, directives, nodes and edges; or `error`."""
        answers: list[dict[str, Any]] = self.page.evaluate(_READ, texts)
        for answer in answers:
            for item in (*answer.get("nodes", ()), *answer.get("edges", ())):
                item[-1] = _plain(item[-1])
        return answers

    def draw(self, text: str) -> dict[str, Any]:
        """The words of the drawing, and how many elements in it could do something."""
        answer: dict[str, Any] = self.page.evaluate(_DRAW, text)
        return answer

    def close(self) -> None:
        self.context.close()


def _plain(label: str) -> str:
    """Mermaid keeps entities in a coding of its own until it draws."""
    coded = label.replace("ﬂ°°", "&#").replace("ﬂ°", "&").replace("¶ß", ";")
    return re.sub(r"<br ?/?>", "\n", re.sub(" +", " ", html.unescape(coded)))
