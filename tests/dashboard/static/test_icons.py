"""Icons are drawn through `use`: what is filled must be filled there too."""

import base64

import pytest
from django.template import Context, Template

PAGE = Template(
    '{% load cluster_tags %}<!doctype html><html lang="en"><head><title>x</title>'
    '<link rel="stylesheet" href="/static/css/tokens.css">'
    '<link rel="stylesheet" href="/static/css/base.css"></head><body>'
    "{% icon_sprite %}{% icon name %}</body></html>"
)
#: How dark a point of a picture is, of 255.
INK = """async ([png, x, y]) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const brush = new OffscreenCanvas(image.width, image.height).getContext("2d");
  brush.drawImage(image, 0, 0);
  return 255 - brush.getImageData(x, y, 1, 1).data[0];
}"""


@pytest.mark.parametrize(
    ("name", "spot", "is_filled"),
    [
        pytest.param("complete", (3, 10), True, id="disc"),
        pytest.param("failed", (3, 10), True, id="octagon"),
        pytest.param("scheduling", (10, 8), True, id="half"),
        pytest.param("scheduling", (5, 8), False, id="other-half"),
        pytest.param("canceled", (5, 5), False, id="ring"),
    ],
)
def test_an_icon_is_filled_where_it_says_so(tab, address, pages, name, spot, is_filled):
    pages["/icon"] = PAGE.render(Context({"name": name}))
    tab.goto(f"{address}/icon")
    png = base64.b64encode(tab.locator("svg.icon").screenshot()).decode()
    assert (tab.evaluate(INK, [png, *spot]) > 128) is is_filled
