"""One word, one meaning, for a word that had five: room is free capacity (docs/glossary.md)."""

import re

from tests.test_tidy import FILES, ROOT

#: Packages, pages and queues that were called so.
_OTHER_ROOMS = re.compile(
    r"\brooms\b|\b(?:this|that|which|one|each|only) room (?:that|of|is)\b|Room(?:Desk|Form)"
)
#: Files that tell what was, or hold words of others.
_TOLD = ("CHANGELOG.md", "tests/vectors", "tests/test_rooms.py", "docs/spec")


def test_nothing_but_free_capacity_is_called_a_room():
    others = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in FILES
        if not str(path.relative_to(ROOT)).startswith(_TOLD)
        for found in _OTHER_ROOMS.finditer(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert others == []
    assert [
        path.name for path in FILES if "rooms" in path.stem and path.name != "test_rooms.py"
    ] == []
