"""Scripts speak the language that the page brings."""

from django.template.loader import render_to_string

from tests.dashboard.static.test_browser import SOCKET

TEXTS = '<script id="script-texts" type="application/json">{"connecting": "verbindet"}</script>'
BADGE = "document.querySelector('[data-live-badge]').innerText"


def test_what_the_page_brings_is_shown_and_its_language_is_asked_for(tab, address, pages):
    tab.add_init_script(SOCKET)
    html = render_to_string("base.html", {"live_topics": "nodes", "page_index": 7})
    foreign = html.replace("</body>", f"{TEXTS}</body>").replace('lang="en"', 'lang="de"')
    pages["/foreign"], pages["/own"] = foreign, html
    shown = []
    for path in ("/foreign", "/own"):
        tab.goto(f"{address}{path}")
        tab.evaluate("""async () => {
          while (!window.sockets.length) await new Promise((done) => requestAnimationFrame(done));
        }""")
        shown.append((tab.evaluate(BADGE), tab.evaluate("window.sockets[0].url")))
    (badge, foreign_url), (own_badge, own_url) = shown
    assert (badge.split()[0], own_badge.split()[0]) == ("verbindet", "connecting")
    assert "language=de" in foreign_url
    assert "language" not in own_url
