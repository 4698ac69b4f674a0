"""A graph copied as a picture stands alone: an image by itself, with nothing of the page in it."""

from xml.etree import ElementTree as ET

import pytest
from django.template import Context, Template

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember

HOSTILE = "<b>&\"'"
SHEETS = ("tokens", "base", "graph", "components/panel")
PAGE = Template(
    '{% load cluster_tags %}<!doctype html><html lang="en"><head><title>x</title>{% for sheet in '
    'sheets %}<link rel="stylesheet" href="/static/css/{{ sheet }}.css">{% endfor %}</head><body>'
    '{% icon_sprite %}<section class="panel">{% graph graph name="g" %}</section></body></html>'
)
PICTURE = """async () => {
  const { svgText } = await import("/static/js/graphs/picture.js");
  return svgText(document.querySelector("svg.graph"));
}"""
SHOWN_ALONE = """async (text) => {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const brush = canvas.getContext("2d");
  brush.drawImage(image, 0, 0);
  const seen = new Set(brush.getImageData(0, 0, image.width, image.height).data);
  return [image.width, image.height, seen.size > 20];
}"""


PNG_SIZE = """async ([width, height]) => {
  const { pngOf } = await import("/static/js/graphs/picture.js");
  const size = `width="${width}" height="${height}"`;
  const blob = await pngOf(`<svg xmlns="http://www.w3.org/2000/svg" ${size}/>`, width, height);
  const image = await createImageBitmap(blob);
  return [image.width, image.height];
}"""


@pytest.fixture
def picture(tab, address, pages):
    layout = ChainLayout("chain-x", selected="a")
    layout.update(
        [
            ChainMember(
                id="a", job=HOSTILE, state="complete", next_eval="b", href="/evaluations/a/"
            ),
            ChainMember(id="b", job="web", state="blocked", icon="blocked", created_at=1),
        ]
    )
    graph = layout.graph()
    pages["/picture"] = PAGE.render(Context({"graph": graph, "sheets": SHEETS}))
    tab.goto(f"{address}/picture")
    return graph, tab.evaluate(PICTURE)


def test_it_is_an_image_by_itself(picture, tab):
    graph, told = picture
    width, height = graph.view[2] + 32, graph.view[3] + 32
    assert (told["width"], told["height"]) == (width, height)
    assert tab.evaluate(SHOWN_ALONE, told["text"]) == [round(width), round(height), True]


@pytest.mark.parametrize(
    ("drawn", "painted"),
    [
        pytest.param([300, 200], [600, 400], id="twice-the-size"),
        pytest.param([32768, 64], [16384, 32], id="as-long-as-a-canvas-may-be"),
    ],
)
def test_a_png_is_no_larger_than_browsers_draw(picture, tab, drawn, painted):
    assert tab.evaluate(PNG_SIZE, drawn) == painted


def test_nothing_of_the_page_is_in_it(picture):
    _graph, told = picture
    tree = ET.fromstring(told["text"])  # noqa: S314 - drawn a line above
    names = {name for element in tree.iter() for name in element.attrib}
    assert {name for name in names if name.startswith(("data-", "aria-", "on"))} == set()
    assert names & {"class", "style", "tabindex", "role"} == set()
    assert "var(" not in told["text"]
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} >= {"marker", "symbol"}


def test_names_of_jobs_are_text_in_it(picture):
    graph, told = picture
    tree = ET.fromstring(told["text"])  # noqa: S314 - drawn a line above
    said = {element.text for element in tree.iter() if element.text}
    assert {HOSTILE, *(node.name for node in graph.nodes if node.href)} <= said
