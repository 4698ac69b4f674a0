"""References to documents: where they stand in the files, and whether what they name is there.

In: tracked files. Out: references as (file, line, document, places), and what is wrong with one. A
document is named by its file (`reconciler.md`), places follow it: sections (`4.2`, `8.5 to 8.7`),
ids of rules, rows and quirks (`Q10`, `J25`), rows or points by number, or a heading in words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "docs" / "spec"
FOLDERS = (CHAPTERS, ROOT / "docs" / "design", ROOT / "docs")
SUFFIXES = {".py", ".md", ".html", ".js", ".css", ".toml", ".svg"}

_NAME = re.compile(r"(?<![\w*-])(?P<path>(?:\.\.?/|[\w.-]+/)*)(?P<name>[\w.-]+)\.md\b")
_SECTION = r"\d+(?:\.\d+)*"
_ID = r"[A-Z]{1,2}-?\d+[a-z]?"
#: Chapters named without their ending, in words that are no ordinary ones.
_CHAPTER = re.compile(
    r"(?<![\w/-])(?P<name>control-plane|http-api|node-agent(?:-2)?|reconciler)(?= [\dQ§])"
)
_OWN = re.compile(rf"§ ?(?P<place>{_SECTION})")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<to>[^)#\s]+)")
_PLACE = re.compile(rf"[`)\]]*,? ?(?:§ ?|rules? |section )?(?P<place>{_SECTION}(?![\w%])|{_ID})")
_NEXT = re.compile(
    r"(?:,? and |, | to |[\u2013-])(?:§ ?)?"
    rf"(?P<place>{_SECTION}(?![\w%]|\.\d)|{_ID})(?! [a-z]+s\b)"
)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """One mention of a document."""

    file: Path
    line: int
    path: str
    name: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        where = f"{self.file.relative_to(ROOT)}:{self.line}"
        return f"{where}: {self.path}{self.name}.md {', '.join(self.places)}"


def references_in(file: Path, text: str) -> Iterator[Reference]:
    """Every mention of a Markdown file in a text; a reference may run over the end of a line."""
    flat = re.sub(r"\n[ \t]*(?:#:? |\* )?", lambda found: " " + "\0" * (len(found[0]) - 1), text)
    bare = flat.replace("\0", "")
    offsets = [at for at, letter in enumerate(flat) if letter != "\0"]
    mentions = [*_NAME.finditer(bare), *_CHAPTER.finditer(bare)]
    for found in mentions:
        yield Reference(
            file,
            text.count("\n", 0, offsets[found.start()]) + 1,
            found.groupdict().get("path", ""),
            found["name"],
            tuple(_places(bare, found.end())),
        )
    if file.parent == CHAPTERS:
        for found in _OWN.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Reference(file, line, "", file.stem, (found["place"],))


def dead_links(file: Path, text: str) -> list[str]:
    """Links of a Markdown file to files that are not there."""
    return [to for to in _LINK.findall(text) if not (file.parent / to).exists()]


def _places(text: str, at: int) -> Iterator[str]:
    found = _PLACE.match(text, at)
    while found:
        yield found["place"]
        found = _NEXT.match(text, found.end())


def fault_of(reference: Reference) -> str:
    """What is wrong with a reference; "" when nothing is."""
    document = document_of(reference)
    if document is None:
        return "no such document"
    missing = [place for place in reference.places if not is_in(document, place)]
    return f"not there: {', '.join(missing)}" if missing else ""


def document_of(reference: Reference) -> Path | None:
    """The file a reference names: beside it, from the top, or by its name among the documents."""
    name = f"{reference.name}.md"
    around = [reference.file.parent, ROOT, ROOT / "tests"]
    if reference.path:
        candidates = [folder / reference.path / name for folder in around]
    else:
        candidates = [reference.file.parent / name, *(folder / name for folder in FOLDERS)]
        candidates.append(ROOT / name)
    return next((path for path in candidates if path.is_file()), None)


def is_in(document: Path, place: str) -> bool:
    """Whether a document has a section, a numbered point or row, or an id of that name."""
    numbers, ids = contents(document)
    if place[0].isdigit():
        return place in numbers or _is_point(document, place)
    return place in ids


@cache
def contents(document: Path) -> tuple[frozenset[str], frozenset[str]]:
    """(numbers of headings, ids that begin a table row, a point or a paragraph)."""
    text = document.read_text(encoding="utf-8")
    numbers = {
        found[1]
        for heading in _HEADING.findall(text)
        if (found := re.match(rf"({_SECTION})[. ]", heading + " "))
    }
    begins = re.compile(rf"^(?:\W*)({_ID})\b", re.MULTILINE)
    return frozenset(numbers), frozenset(begins.findall(text))


def _is_point(document: Path, place: str) -> bool:
    """A numbered point of the section before the last dot, or of the whole document."""
    section, _, point = place.rpartition(".")
    text = document.read_text(encoding="utf-8")
    if section:
        text = _section(text, section)
    return bool(re.search(rf"^(?:\| ?)?{point}(?:\.| ?\|)", text, re.MULTILINE))


def _section(text: str, number: str) -> str:
    begin = re.search(rf"^(#+) {re.escape(number)}[. ]", text, re.MULTILINE)
    if not begin:
        return ""
    depth = len(begin[1])
    end = re.compile(rf"^#{{1,{depth}}} ", re.MULTILINE).search(text, begin.end())
    return text[begin.start() : end.start() if end else len(text)]
