"""Keys, palette and menu of the frame, in a real browser: works without a mouse, harms nothing."""

import pytest

FRAME = """<!doctype html><html lang="en"><head><title>x</title>
<script type="module" src="/static/js/main.js"></script></head><body>
<nav class="nav" data-nav>
  <a href="#jobs" data-go="j" title="Jobs"><span>Jobs</span><span class="count">14</span></a>
</nav>
<details class="menu"><summary>kim</summary><button type="button">Sign out</button></details>
<main>
  <div hidden><button type="button">Try now</button></div>
  <div class="actions"><button type="button" id="pause">Pause <kbd>Space</kbd></button></div>
  <table><tbody>
    <tr><td><a id="first" href="#1">1</a></td></tr><tr><td><a id="second" href="#2">2</a></td></tr>
  </tbody></table>
</main>
<dialog data-palette><input type="text"><ul role="listbox"></ul></dialog>
<dialog data-keys><dl data-keys-list></dl><input type="checkbox" data-keys-off></dialog>
</body></html>"""


@pytest.fixture
def frame(tab, address, pages):
    pages["/frame"] = FRAME
    tab.goto(f"{address}/frame")
    tab.wait_for_load_state("networkidle")
    return tab


def test_the_palette_offers_pages_and_visible_buttons_by_their_words(frame):
    frame.keyboard.press("Control+k")
    assert frame.locator("[role=option]").all_inner_texts() == ["Go to Jobsg j", "PauseSpace"]


def test_g_and_a_letter_go_to_a_page(frame):
    frame.keyboard.press("g")
    assert frame.locator("html").get_attribute("data-go") == ""
    frame.keyboard.press("j")
    assert frame.url.endswith("#jobs")


def test_j_and_k_walk_the_rows(frame):
    for key in ("j", "j", "k"):
        frame.keyboard.press(key)
    assert frame.evaluate("document.activeElement.id") == "first"


@pytest.mark.parametrize("way", ["Escape", "click"])
def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(frame, way):
    frame.locator("summary").click()
    assert frame.get_by_text("Sign out").is_visible()
    if way == "Escape":
        frame.keyboard.press("Escape")
    else:
        frame.locator("#pause").click()
    assert not frame.get_by_text("Sign out").is_visible()


def test_escape_gives_the_focus_back_to_the_menus_name(frame):
    frame.locator("summary").click()
    frame.get_by_text("Sign out").focus()
    frame.keyboard.press("Escape")
    assert frame.evaluate("document.activeElement.tagName") == "SUMMARY"
