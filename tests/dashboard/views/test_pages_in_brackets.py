"""Every sentence of every page comes from a catalog: in a language of brackets none is without."""

import re
from html.parser import HTMLParser

import pytest

from dashboard.examples import EXAMPLES
from tests.dashboard.views.test_languages import LEFT, RIGHT, asked, bracketed
from tests.dashboard.views.test_query_counts import PATHS, fill

__all__ = ["asked", "bracketed"]

#: Written alike in every language, read by machines, or what people wrote.
NOT_TOLD = {"script", "style", "code", "kbd", "samp", "pre", "textarea", "option", "svg"}
TOLD_BY = {"aria-label", "title", "placeholder", "alt"}
VOID = {"input", "br", "hr", "meta", "link", "img", "wbr", "use", "path", "rect", "line", "col"}
#: Amounts, instants, ids, what the fixtures call things.
DATA = re.compile(
    r"\d[\d\s\u202f.:,%-]*(ms|s|min|h|d|MHz|MiB|GiB|KiB|B|UTC)?|UTC|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug"
    r"|Sep|Oct|Nov|Dec)\b|default|Bivouac"
)
WORD = re.compile(r"[^\W\d_]{2,}")


class Sentences(HTMLParser):
    """Gathers texts outside of brackets that hold two words beside each other."""

    def __init__(self):
        super().__init__()
        self.bare = []
        self._within = []
        self._depth = 0

    def handle_starttag(self, tag, attrs):
        if tag not in VOID and (self._within or tag in NOT_TOLD):
            self._within.append(tag)
        for name, value in attrs:
            if name in TOLD_BY and value and not self._depth:
                self._note(outside(value))

    def handle_endtag(self, tag):
        if self._within:
            self._within.pop()

    def handle_data(self, data):
        if self._within:
            return
        bare = ""
        for char in data:
            self._depth += (char == LEFT) - (char == RIGHT)
            bare += char if not self._depth and char != RIGHT else "|" if char == RIGHT else ""
        self._note(bare)

    def _note(self, text):
        for part in text.split("|"):
            told = " ".join(DATA.sub(" ", part).split())
            if len(WORD.findall(told)) > 1:
                self.bare.append(told)


def outside(value):
    depth, bare = 0, ""
    for char in value:
        depth += (char == LEFT) - (char == RIGHT)
        bare += char if not depth and char != RIGHT else "|" if char == RIGHT else ""
    return bare


#: Words of the record, of expressions and of job files, which are not translated.
OF_THE_RECORD = re.compile(
    r"No node has the driver .*|[\w.]+ (==|contains) .*|.*web\.web\[ \].*|"
    r"(, )?(team-[ ]?)+|(Cluster )?(, )?(web, )?"
    r"(complete, )?[a-z]+(-[a-z]+)+,?|mock_driver|, job- blocked,|"
    r"(kernel|cpu|driver)\.\w+|Node pool with all nodes in the cluster\."
)


#: The first comments of the example files, and their names.
EXAMPLE_TEXTS = {
    " ".join(DATA.sub(" ", text).split()) for each in EXAMPLES for text in (each.title, each.name)
}


@pytest.mark.parametrize("name", PATHS)
def test_no_sentence_of_a_page_is_without_brackets(store, asked, name):
    fill(store, 1, 12)
    answer = asked("qq", PATHS[name])
    assert answer.status_code == 200
    sentences = Sentences()
    sentences.feed(answer.content.decode())
    bare = {text for text in sentences.bare if not OF_THE_RECORD.fullmatch(text)}
    assert sorted(bare - EXAMPLE_TEXTS) == []
