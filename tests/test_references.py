"""What comments and documents refer to is there: each chapter, section, row, rule and link."""

import io
import re
import tokenize

import pytest

from tests.references import CHAPTERS, ROOT, SUFFIXES, dead_links, fault_of, references_in
from tests.test_tidy import FILES

TEXTS = [path for path in FILES if path.suffix in SUFFIXES and "vendor" not in path.parts]
#: This file's own examples are wrong on purpose.
REFERENCES = [
    reference
    for path in TEXTS
    if path.name != "test_references.py"
    for reference in references_in(path, path.read_text(encoding="utf-8"))
]


def test_every_reference_leads_to_a_place_that_is_there():
    assert {str(each): fault for each in REFERENCES if (fault := fault_of(each))} == {}


def test_references_are_found_at_all():
    of_code = [reference for reference in REFERENCES if reference.file.suffix == ".py"]
    with_places = [reference for reference in of_code if reference.places]
    assert len(with_places) >= 200
    assert {f"{reference.name}.md" for reference in of_code} > {
        "reconciler.md", "placement.md", "evaluations.md", "control-plane.md", "ui.md", "goals.md"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("(reconciler.md 4.2)", "", id="section"),
        pytest.param("(reconciler.md 4.9)", "not there: 4.9", id="no-section"),
        pytest.param("placement.md 8.5 to 8.9", "not there: 8.9", id="end-of-a-span"),
        pytest.param("see (access.md 8.1,\n  placement.md 98)", "not there: 98", id="two-lines"),
        pytest.param("`http-api.md` 3.3 and 3.44", "not there: 3.44", id="second-of-two"),
        pytest.param("evaluations.md Q10", "", id="quirk"),
        pytest.param("evaluations.md Q99", "not there: Q99", id="no-quirk"),
        pytest.param("evaluations.md 106-109", "", id="rows"),
        pytest.param("evaluations.md 106-509", "not there: 509", id="no-row"),
        pytest.param("control-plane.md 1.3.9", "", id="point-of-a-section"),
        pytest.param("control-plane.md 1.3.99", "not there: 1.3.99", id="no-point"),
        pytest.param("goals.md P8", "", id="goal"),
        pytest.param("as elsewhere.md 4 says", "no such document", id="no-document"),
        pytest.param("by control-plane 99", "not there: 99", id="chapter-without-its-ending"),
    ],
)
def test_a_reference_that_leads_nowhere_is_noticed(text, fault):
    found = [fault_of(reference) for reference in references_in(ROOT / "some.py", text)]
    assert [each for each in found if each] == ([fault] if fault else [])


BARE = re.compile(r"[(,;] ?[1-9]\d?\.\d{1,2}(?:\.\d+)*[),;]")


def bare_sections(path):
    """Sections in the comments and docstrings of a file that say of no document."""
    text = path.read_text(encoding="utf-8")
    if not BARE.search(text):
        return []
    told = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING)
        and (token.type == tokenize.COMMENT or token.string.startswith('"""'))
    ]
    return [
        found.group()
        for words in told
        for found in BARE.finditer(words)
        if not any(chapter.stem in words[: found.start()] for chapter in CHAPTERS.glob("*.md"))
    ]


def test_a_section_is_named_with_its_document():
    sources = [
        path for path in TEXTS if path.suffix == ".py" and path.name != "test_references.py"
    ]
    assert {str(path): found for path in sources if (found := bare_sections(path))} == {}


def test_sections_of_a_chapter_are_looked_up_in_the_chapter_itself():
    (reference,) = references_in(CHAPTERS / "capsule.md", "as \u00a744 says")
    assert fault_of(reference) == "not there: 44"


def test_links_between_documents_lead_somewhere():
    dead = {
        str(path.relative_to(ROOT)): found
        for path in TEXTS
        if path.suffix == ".md" and (found := dead_links(path, path.read_text(encoding="utf-8")))
    }
    assert dead == {}
