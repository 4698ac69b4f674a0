"""The browser's half in a real browser, under the policy: drawing, keys, socket, editor."""

import json
from types import SimpleNamespace

import msgspec
import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from msgspec.structs import replace

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.lifecycle import EvaluationLife, lifecycle_graph
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from scheduler.structs.evaluation import LifecycleStep, Step

STEPS = (Step.CREATED, Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED)
PAGE = Template(
    '{% load cluster_tags %}<!doctype html><html lang="en"><head><title>x</title></head><body>'
    '{% icon_sprite %}{% graph graph name="g" %}</body></html>'
)
DRAW = """async (graph) => {
  const { drawGraph } = await import("/static/js/graphs/svg.js");
  drawGraph(document.querySelector("[data-graph]"), graph);
}"""

PATCH = """async (patch) => {
  const { patchGraph } = await import("/static/js/graphs/svg.js");
  patchGraph(document.querySelector("[data-graph]"), patch);
}"""
# The whole drawing in one form. Which node the Tab key reaches, and which arrow has just been
# taken, is for the script to say.
NORMAL = """() => {
  const told = (element) => [element.tagName,
    [...element.attributes].map((item) => [item.name, item.value.replace(" moved", "")])
      .filter(([name]) => name !== "tabindex").sort(),
    element.children.length ? [...element.children].map(told) : element.textContent];
  return told(document.querySelector("svg.graph"));
}"""

# A socket that the test plays the server of.
SOCKET = """window.sockets = [];
window.WebSocket = class {
  static OPEN = 1;
  constructor(url) {
    Object.assign(this, { url, readyState: 1, sent: [] });
    window.sockets.push(this);
  }
  send(text) { this.sent.push(text); }
  close() { this.readyState = 3; }
};
window.tell = (message) => window.sockets.at(-1).onmessage({ data: JSON.stringify(message) });
"""


FLOWS = {"event-pending": 3, "pending-complete": 1, "scheduling-blocked": 25}
URLS = "window.sockets.map((socket) => socket.url)"


def until(tab, condition):
    """Wait for a condition; Playwright's own way evaluates text, which the policy forbids."""
    tab.evaluate(f"""async () => {{
      while (!({condition})) await new Promise((done) => setTimeout(done, 20));
    }}""")


def life(count):
    return lifecycle_graph(
        EvaluationLife(
            eval_id="3f2a91c4",
            trigger="job-register",
            steps=[
                LifecycleStep(eval_id="3f2a91c4", number=number, step=step, at=number)
                for number, step in enumerate(STEPS[:count], 1)
            ],
        )
    )


def plain(told):
    return json.loads(msgspec.json.encode(told))


def whole(graph):
    return plain(DrawnGraph(graph).whole())


@pytest.fixture
def shown(tab, address, pages):
    def show(graph):
        pages["/graph"] = PAGE.render(Context({"graph": graph}))
        tab.goto(f"{address}/graph")
        return tab

    return show


def chain(*members):
    layout = ChainLayout("chain-x", selected="a")
    layout.update(members)
    return layout.graph()


ALONE = ChainMember(id="a", job="<b>web", state="complete", event_key="n", expects="'later'")
MADE = ChainMember(id="b", job="web", state="blocked", previous_eval="a", href="/x/?a&b")
STUB = ChainMember(id="c", job="web", state="deleted", is_tombstone=True, previous_eval="a")
SIX = [replace(MADE, id=f"six-{number}", created_at=number) for number in range(6)]
VERSIONS = [
    pytest.param(life(2), life(5), id="a-life-goes-on"),
    pytest.param(life(5), life(2), id="steps-and-discs-go"),
    pytest.param(chain(ALONE), chain(ALONE, MADE, STUB), id="what-was-possible-has-come"),
    pytest.param(chain(ALONE, *SIX[:2]), chain(ALONE, *SIX), id="many-are-folded"),
    pytest.param(
        lifecycle_map({}, {}), lifecycle_map({"blocked": 9}, FLOWS), id="counts-and-moves"
    ),
]


@pytest.mark.parametrize(("before", "after"), VERSIONS)
def test_a_page_that_was_brought_on_is_the_page_that_is_served_now(shown, before, after):
    drawn = DrawnGraph(before)
    fresh = in_any_order(shown(after).evaluate(NORMAL))
    tab = shown(before)
    assert in_any_order(tab.evaluate(NORMAL)) != fresh
    tab.evaluate(PATCH, plain(drawn.redraw(after)))
    assert in_any_order(tab.evaluate(NORMAL)) == fresh
    tab.evaluate(DRAW, plain(drawn.whole()))
    assert tab.evaluate(NORMAL) == shown(after).evaluate(NORMAL)


def in_any_order(svg):
    """A patch adds what is new at the end of its layer; nothing lies above another there."""
    tag, attributes, parts = svg
    return (
        tag,
        attributes,
        [
            (part[0], part[1], sorted(part[2])) if isinstance(part[2], list) else part
            for part in parts
        ],
    )


def test_a_status_change_keeps_elements_and_focus(shown):
    tab = shown(life(2))
    tab.evaluate("""() => {
      const nodes = [...document.querySelectorAll(".graph-node")];
      window.before = new Map(nodes.map((node) => [node.dataset.key, node]));
      window.before.get("scheduling").focus();
    }""")
    tab.evaluate(DRAW, whole(life(3)))
    assert tab.evaluate("""() => [...document.querySelectorAll(".graph-node")].every(
      (node) => window.before.get(node.dataset.key) === node)""")
    assert tab.evaluate("document.activeElement.dataset.key") == "scheduling"
    assert tab.locator('[data-key="scheduling"] .graph-pulse').count() == 1
    assert tab.locator(".graph-pulse").count() == 1
    assert tab.locator(".graph-edge.moved").get_attribute("data-key") == "pending-scheduling"


COPYING = Template(
    '{% load cluster_tags %}<!doctype html><html lang="en"><head><title>x</title></head><body>'
    '{% icon_sprite %}{% include "dashboard/partials/_graph_tools.html" with key=graph.key %}'
    '{% graph graph name="life" %}</body></html>'
)
COPY = """async () => {
  const { attachCopy } = await import("/static/js/controllers/copy.js");
  attachCopy();
}"""


def test_what_is_copied_of_a_graph_that_changed_is_the_text_of_now(tab, address, pages):
    def serve(count):
        graph = life(count)
        context = Context({"graph": graph, "mermaid": graph_mermaid(graph)})
        pages["/copy"] = COPYING.render(context)
        return graph, graph_mermaid(graph)

    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _, first = serve(2)
    tab.goto(f"{address}/copy")
    tab.evaluate(COPY)
    copied = "navigator.clipboard.readText()"
    button = tab.get_by_role("button", name="Copy as Mermaid")
    button.click()
    until(tab, f"(await {copied}) === {json.dumps(first)}")

    graph, second = serve(4)
    tab.evaluate(DRAW, whole(graph))
    button.click()
    # Not yet said to be another: the page shows what it was loaded with, and so does the text.
    assert tab.evaluate(copied) == first
    tab.evaluate("""() => document.querySelector("[data-graph]").dispatchEvent(
      new CustomEvent("graph:drawn", { bubbles: true }))""")
    button.click()
    until(tab, f"(await {copied}) === {json.dumps(second)}")


def test_an_equal_drawing_touches_nothing(shown):
    tab = shown(life(3))
    changes = tab.evaluate(
        """async (graph) => {
      const { drawGraph } = await import("/static/js/graphs/svg.js");
      const watch = new MutationObserver(() => {});
      const holder = document.querySelector("[data-graph]");
      const what = { subtree: true, childList: true, attributes: true, characterData: true };
      // The frame of the drawing is set again, to what it was.
      for (const layer of holder.querySelectorAll("svg.graph > g")) watch.observe(layer, what);
      drawGraph(holder, graph);
      return watch.takeRecords().length;
    }""",
        whole(life(3)),
    )
    assert changes == 0


def test_arrow_keys_run_along_edges_with_one_tab_stop(shown):
    tab = shown(life(5))
    tab.evaluate("""async () => {
      const { attachGraph } = await import("/static/js/graphs/navigate.js");
      attachGraph(document.querySelector("[data-graph]"));
      document.querySelector('[data-key="pending"]').focus();
    }""")
    passed = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Home", "ArrowRight", "ArrowDown"):
        tab.keyboard.press(key)
        passed.append(tab.evaluate("document.activeElement.dataset.key"))
    assert passed[:5] == ["scheduling", "applying", "scheduling", "event", "pending"]
    assert tab.locator('.graph-node[tabindex="0"]').count() == 1


@pytest.fixture
def opened(tab, address, pages):
    """A live page; calling it says what else the template knows."""
    tab.add_init_script(SOCKET)

    def opened(**context):
        context = {"live_topics": "evaluation:a,nodes", "page_index": 7, **context}
        pages["/live-page"] = render_to_string("base.html", context)
        tab.goto(f"{address}/live-page")
        until(tab, "window.sockets.length === 1")
        return tab

    return opened


@pytest.fixture
def live(opened):
    return opened()


def frame(since, index, *pieces, topic="nodes"):
    return {
        "type": "frame",
        "topic": topic,
        "since": since,
        "index": index,
        "at": 0,
        "pieces": pieces,
    }


def test_a_page_connects_with_its_index_and_says_that_it_is_live(live):
    assert live.evaluate("window.sockets[0].url").endswith(
        "/live?index=7&topics=evaluation%3Aa%2Cnodes"
    )
    live.evaluate("window.tell({ type: 'beat', index: 9, at: Date.now() })")
    assert live.locator("[data-live-badge]").inner_text().startswith("live")
    assert live.locator("[data-live-index]").first.inner_text() == "9"


def test_a_gap_resumes_from_the_last_index_that_is_whole(live):
    live.evaluate("(message) => window.tell(message)", frame(7, 9))
    live.evaluate("(message) => window.tell(message)", frame(12, 13))
    assert live.locator("[data-live-badge]").inner_text().startswith("offline, showing")
    until(live, "window.sockets.length === 2")
    assert "index=7&" in live.evaluate("window.sockets[1].url")
    assert live.locator("[data-live-badge]").inner_text().startswith("connecting, showing")


def test_a_lost_socket_shows_since_when_and_comes_back(live):
    live.evaluate("window.tell({ type: 'beat', index: 9, at: Date.now() })")
    # In one breath: the next connection is tried within half a second.
    word, is_hidden = live.evaluate("""() => {
      window.sockets[0].onclose({ code: 1006 });
      const find = (mark) => document.querySelector(mark);
      return [find("[data-live-badge]").innerText, find("[data-stale-banner]").hidden];
    }""")
    assert word.startswith("offline, showing")
    assert is_hidden
    live.locator("[data-stale-banner]").wait_for(state="visible")
    until(live, "window.sockets.length === 2")
    assert "index=9&" in live.evaluate("window.sockets[1].url")
    live.evaluate("window.tell({ type: 'beat', index: 9, at: Date.now() })")
    assert live.locator("[data-stale-banner]").is_hidden()


def test_a_page_whose_person_signed_out_does_not_knock_again(live):
    live.evaluate("window.sockets[0].onclose({ code: 4401 })")
    assert "signed out" in live.locator("[data-live-badge]").inner_text()
    live.evaluate("new Promise((done) => setTimeout(done, 600))")
    assert live.evaluate("window.sockets.length") == 1


def reload(index):
    return {"type": "reload", "reason": "too far behind", "index": index}


UNSAVED = "document.body.insertAdjacentHTML('beforeend', '<div data-unsaved></div>')"


@pytest.mark.parametrize(
    ("method", "prepare"),
    [
        pytest.param("POST", "", id="answers-a-form"),
        pytest.param("GET", UNSAVED, id="holds-unsaved-text"),
    ],
)
def test_a_page_that_may_not_load_again_goes_on_from_the_newest_index(opened, method, prepare):
    tab = opened(request=SimpleNamespace(method=method, path="/"))
    tab.evaluate(f"() => {{ window.untouched = true; {prepare} }}")
    assert tab.locator("[data-older-notice]").is_hidden()
    tab.evaluate("(message) => window.tell(message)", reload(40))
    assert [url.partition("?")[2][:9] for url in tab.evaluate(URLS)] == ["index=7&t", "index=40&"]
    tab.evaluate("(message) => window.tell(message)", frame(40, 41))
    assert tab.locator("[data-live-badge]").inner_text().startswith("live")
    assert tab.locator("[data-older-notice]").is_visible()
    assert tab.evaluate("window.untouched")
    # Told so again at once, it waits a while.
    tab.evaluate("(message) => window.tell(message)", reload(50))
    assert tab.locator("[data-live-badge]").inner_text().startswith("offline")
    assert tab.evaluate("window.sockets.length") == 2


def test_any_other_page_is_loaded_again(live):
    live.evaluate("window.untouched = true")
    with live.expect_navigation():
        live.evaluate("(message) => window.tell(message)", reload(40))
    assert live.evaluate("window.untouched") is None
    assert live.locator("[data-older-notice]").is_hidden()


def test_a_dialog_says_what_its_button_knows(live):
    live.evaluate("""() => document.getElementById("content").insertAdjacentHTML("beforeend",
      `<button id="a" data-confirm="d" data-fill-version="3" data-fill-id="x">Promote</button>
       <button id="b" data-confirm="d" data-fill-version="4">Promote</button>
       <dialog id="d"><form><input type="hidden" name="id" data-filled="id">
       <h2>Version <b data-filled="version">?</b></h2>
       <label data-filled-with="id"><input type="checkbox"></label></form></dialog>`)""")
    told = (
        "[document.querySelector('#d h2').textContent, document.querySelector('#d input').value]"
    )
    live.locator("#a").click()
    assert live.evaluate(told) == ["Version 3", "x"]
    live.locator("#d [type=checkbox]").check()
    live.keyboard.press("Escape")
    live.locator("#b").click()
    assert live.evaluate(told) == ["Version 4", ""]
    # What is offered with a value is not there without one, nor chosen from the time before.
    assert live.locator("#d label").is_hidden()
    assert not live.evaluate("document.querySelector('#d [type=checkbox]').checked")


FOLDS = """<div id="reasons">
  <details id="r-a" open><summary>first</summary>a</details>
  <details id="r-b"><summary>second</summary>b</details>
  <details id="r-c" open><summary>third</summary>c</details></div>"""
#: The same reasons, otherwise ordered.
REORDERED = """<div id="reasons">
  <details id="r-c" open><summary>third</summary>c</details>
  <details id="r-a" open><summary>first</summary>a</details>
  <details id="r-b"><summary>second</summary>b</details></div>"""


def test_reasons_stay_open_closed_and_focused_as_their_reader_left_them(live):
    live.evaluate(
        """(html) => {
      document.getElementById("content").insertAdjacentHTML("beforeend", html);
      document.querySelector("#r-a").open = false;
      document.querySelector("#r-b").open = true;
      document.querySelector("#r-b > summary").focus();
    }""",
        FOLDS,
    )
    piece = {"kind": "html", "target": "reasons", "html": REORDERED}
    live.evaluate("(message) => window.tell(message)", frame(7, 8, piece))
    until(live, "document.querySelector('#reasons > details').id === 'r-c'")
    folds = "[...document.querySelectorAll('#reasons > details')].map((it) => [it.id, it.open])"
    assert live.evaluate(folds) == [["r-c", True], ["r-a", False], ["r-b", True]]
    assert live.evaluate("document.activeElement.parentElement.id") == "r-b"


def test_of_what_is_replaced_twice_in_a_batch_only_the_last_is_put_in(live):
    live.evaluate("""() => {
      document.getElementById("content").insertAdjacentHTML("beforeend", '<p id="p">0</p><ul id="u"></ul>');
      window.swaps = [];
      document.addEventListener("live:swapped", (event) => window.swaps.push(event.target.outerHTML));
    }""")  # noqa: E501
    whole = [{"kind": "html", "target": "p", "html": f'<p id="p">{n}</p>'} for n in (1, 2)]
    added = [
        {"kind": "html", "target": "u", "mode": "append", "html": f"<li>{n}</li>"} for n in (1, 2)
    ]
    live.evaluate("(message) => window.tell(message)", frame(7, 8, whole[0], *added, whole[1]))
    until(live, "window.swaps.length === 3")
    assert live.evaluate("window.swaps") == ["<li>1</li>", "<li>2</li>", '<p id="p">2</p>']


def test_what_was_scrolled_stays_where_it_was(live):
    live.evaluate("""() => {
      document.styleSheets[0].insertRule("#box { block-size: 40px; overflow: auto }");
      document.styleSheets[0].insertRule("#box > hr { block-size: 400px; margin: 0 }");
      document.getElementById("content").insertAdjacentHTML(
        "beforeend", '<div id="box"><hr></div>');
      document.getElementById("box").scrollTop = 70;
    }""")
    # The browser says that something was scrolled with its next picture.
    live.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    piece = {"kind": "html", "target": "box", "html": '<div id="box"><hr><p>more</p></div>'}
    live.evaluate("(message) => window.tell(message)", frame(7, 8, piece))
    until(live, "document.querySelector('#box > p')")
    assert live.evaluate("document.getElementById('box').scrollTop") == 70


def test_pieces_change_the_page_and_keep_the_focus(live):
    live.evaluate("""() => document.getElementById("content").insertAdjacentHTML("beforeend",
      `<table><tbody id="rows">
       <tr id="rows-a"><td><a href="#" id="link-a">a</a></td></tr></tbody></table>
       <span data-fact="count">1</span>`)""")
    live.evaluate("document.getElementById('link-a').focus()")
    row = '<tr id="rows-%s"><td><a href="#" id="link-%s">%s</a></td></tr>'
    live.evaluate(
        "(message) => window.tell(message)",
        frame(
            7, 8,
            {"kind": "html", "target": "rows-a", "mode": "upsert", "container": "rows",
             "html": row % ("a", "a", "changed")},
            {"kind": "html", "target": "rows-b", "mode": "upsert", "container": "rows",
             "html": row % ("b", "b", "<script>window.evil = 1</script>")},
            {"kind": "facts", "values": {"count": "2"}, "say": "2 rows"},
        ),
    )  # fmt: skip
    until(live, "document.querySelector('[data-fact=count]').textContent === '2'")
    assert live.locator("#rows tr").all_inner_texts()[1] == "changed"
    assert live.evaluate("document.activeElement.id") == "link-a"
    assert live.evaluate("window.evil") is None
    assert live.locator("[data-status-line]").inner_text() == "2 rows"


def test_the_editor_marks_problems_by_line_under_the_policy(tab, address, pages):
    pages["/editor"] = """<!doctype html><html lang="en"><head><title>x</title>
      <link rel="stylesheet" href="/static/css/tokens.css"></head><body><form>
      <div data-editor data-nonce="test-nonce" data-problems="p" data-problem-list="list">
      <textarea name="text" aria-label="Job file">job "a" {\n  memry = 1\n}</textarea></div></form>
      <script type="application/json" id="p">
      [{"line": 2, "column": 3, "message": "Unknown name"}]</script>
      <ol id="list"></ol></body></html>"""
    tab.goto(f"{address}/editor")
    tab.evaluate(
        "import('/static/js/controllers/editor.js').then((module) => module.attachEditors())"
    )
    assert tab.locator(".cm-lintRange-error").inner_text() == "memry"
    tab.locator("#list a").click()
    tab.keyboard.type("# ")
    assert (
        tab.evaluate("document.querySelector('textarea').value") == 'job "a" {\n  # memry = 1\n}'
    )
