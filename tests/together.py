"""Which tests one process of a parallel run takes together, in their order.

In: addresses of tests. Out: live tests that share the session's stack as one, those of a module
with a stack of its own as another, what is made once for a whole module, and every other test for
itself.
"""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent
#: One process reads the sources, the document of the API, or brings a record up to date, once for
#: all of these.
MADE_ONCE = (
    "tests/test_tidy.py",
    "tests/cluster/api/test_openapi_fuzz.py",
    "tests/cluster/models/test_tokens_moved.py",
)
_TAKES_WORLD = re.compile(r"def \w+\([^)]*\b(world|visitor|page)\b[^)]*\)")


@cache
def share(module: str) -> str:
    """The name of the whole that a module is part of; empty where each test stands for itself."""
    text = (ROOT / module).read_text()
    if module.startswith("tests/live/") and _TAKES_WORLD.search(text) and "def world(" not in text:
        return "the session's stack"
    return module if "mark.live" in text or module in MADE_ONCE else ""


class TogetherScheduling(LoadScopeScheduling):
    """Hands out wholes, the largest first."""

    def _split_scope(self, nodeid: str) -> str:
        return share(nodeid.partition("::")[0]) or nodeid
