"""Every text that a template shows is marked for translation."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dashboard.labels import LABELS
from dashboard.queries.evaluations import evaluation_tabs
from dashboard.queries.job_lists import LISTS
from dashboard.script_texts import TEXTS
from dashboard.stories.names import KINDS as STORY_KINDS
from dashboard.table_texts import COUNTED_TEXTS, NAV_TEXTS, TABLE_TEXTS

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
#: Marked, or not shown.
MARKED = re.compile(
    r"\{% blocktranslate.*?%\}.*?\{% endblocktranslate %\}|\{% comment.*?endcomment %\}", re.DOTALL
)
TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
SHOWN = {
    "aria-label", "aria-description", "title", "placeholder", "alt", "data-copied",
    "data-fill-consequence", "data-fill-title",
}  # fmt: skip
#: What is written alike in every language: code, keys, and what is sent as it is shown.
AS_IT_IS = {"code", "kbd", "samp", "script", "style"}
#: Names and units.
NAMES = {"Bivouac", "MiB", "MHz", "KiB", "GiB", "ms", "Esc", "Enter"}
WORD = re.compile(r"[^\W\d_]+")


class Texts(HTMLParser):
    """Gathers what is shown: text, and attributes that are read out or stand in a field."""

    def __init__(self):
        super().__init__()
        self.found = []
        self._within = []

    def handle_starttag(self, tag, attrs):
        if tag in AS_IT_IS or (tag == "option" and "value" not in dict(attrs)):
            self._within.append(tag)
        told = dict(attrs)
        is_button = tag == "input" and told.get("type") == "submit"
        shown = SHOWN | ({"value"} if is_button else set())
        self.found += [value for name, value in attrs if name in shown and value]

    def handle_endtag(self, tag):
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data):
        if not self._within:
            self.found.append(data)


def unmarked(source):
    texts = Texts()
    texts.feed(TAGS.sub("", MARKED.sub("", source)))
    return [
        " ".join(text.split())
        for text in texts.found
        if "==" not in text and {*WORD.findall(text)} - NAMES
    ]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_text_of_a_template_is_marked(path):
    assert unmarked(path.read_text()) == []


def test_every_text_of_the_scripts_is_marked_and_no_other():
    named = {
        text
        for path in (ROOT / "static/js").rglob("*.js")
        for text in re.findall(r'gettext\("((?:[^"\\\\]|\\\\.)*)"', path.read_text())
        if path.name != "texts.js"
    }
    assert named == set(TEXTS)
    # What the scripts put in is named alike everywhere.
    assert all(re.fullmatch(r"[^{}]*(\{[a-z]+\}[^{}]*)*", text) for text in TEXTS)


def test_every_word_of_a_table_is_marked_and_no_other():
    words = {label.word for labels in LABELS.values() for label in labels.values()}
    words |= {word.word for word in STORY_KINDS.values()}
    words |= {tab["word"] for tab in evaluation_tabs("/")}
    for kind in LISTS.values():
        words |= {kind.one, *(column.word for column in kind.columns)}
        words |= {each.word for each in (*kind.facets, *kind.fields, *kind.choices)}
        words |= {word for facet in kind.facets for word in facet.words.values()}
        words |= {kind.empty[place] for place in (1, 2, 4) if place < len(kind.empty)}
    assert words == set(TABLE_TEXTS)


def test_every_word_that_a_template_counts_is_marked_and_no_other():
    words = {
        word for path in TEMPLATES for word in re.findall(r'counted:"([^"]*)"', path.read_text())
    }
    forms = {(one, many or f"{one}s") for one, _, many in (word.partition(",") for word in words)}
    assert {(f"{{count}} {one}", f"{{count}} {many}") for one, many in forms} == set(COUNTED_TEXTS)


def test_every_word_of_the_navigation_is_marked_and_no_other():
    source = (ROOT / "templates/dashboard/partials/_nav.html").read_text()
    assert set(re.findall(r'nav_link "[^"]*" "[^"]*" "([^"]*)"', source)) == set(NAV_TEXTS)


def handed_on(source):
    """Sentences that a tag is given without a mark around them."""
    for tag in re.findall(r"\{%\s*(?:with|include|empty|meter|notice)\b[^%]*%\}", source):
        texts = re.findall(r'(_\()?"([^"]*)"', tag)
        yield from (text for mark, text in texts if not mark and re.search(r"[a-z] [a-z]", text))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_sentence_that_a_tag_is_given_is_marked(path):
    assert list(handed_on(path.read_text())) == []


@pytest.mark.parametrize(
    "name", ["404_signed_out.html", "429.html", "500.html", "interrupted.html"]
)
def test_pages_without_the_frame_share_one_shell(name):
    source = (ROOT / "templates" / name).read_text()
    assert source.startswith('{% extends "alone.html" %}')
    assert "<head" not in source


def test_a_text_that_is_not_marked_is_found():
    source = """{% if a %}<p title="Where it is">{% translate "Kept" %} {{ name }} lost</p>
      {% endif %}<code>job run</code><option>binpack</option>
      {% blocktranslate %}Gone{% endblocktranslate %}"""
    assert unmarked(source) == ["Where it is", "lost"]
    told = """{% with a="not so" b=_("but so") %}{% meter 1 2 "a share" %}"""
    assert list(handed_on(told)) == ["not so", "a share"]
