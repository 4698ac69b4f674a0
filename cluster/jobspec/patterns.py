"""Regular expressions in the language of job files (RE2), in linear time.

In: a pattern and a text. Out: whether it is found, or why the pattern does not compile. Keeps the
compiled patterns of the last uses, within bounds; is safe to share between threads.
"""

from functools import lru_cache

import re2

#: Compiled patterns kept; a job has a handful.
_KEPT_PATTERNS = 1024
#: Longer patterns are refused: compiling is linear, but not free.
_LONGEST_PATTERN = 4096
#: Wordings of the engine that differ from those job authors know.
_WORDINGS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}
_TRAILING_BACKSLASH = "trailing backslash at end of expression: ``"


class Re2Matcher:
    """`scheduler.ports.PatternMatcher` with the RE2 engine."""

    def __init__(self) -> None:
        self._compiled = lru_cache(maxsize=_KEPT_PATTERNS)(_compile)

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text; False for a pattern that does not compile."""
        compiled, _ = self._compiled(pattern)
        return compiled is not None and compiled.search(text) is not None

    def problem(self, pattern: str) -> str:
        """Why the pattern does not compile; empty if it does."""
        return self._compiled(pattern)[1]


def _compile(pattern: str) -> tuple["re2._Regexp | None", str]:
    if len(pattern) > _LONGEST_PATTERN:
        return None, "expression too large"
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options), ""
    except re2.error as error:
        return None, _worded(error.args[0] if error.args else "invalid")
    except UnicodeEncodeError:
        return None, "invalid UTF-8"


def _worded(message: bytes | str) -> str:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
    if text == "trailing \\":
        return _TRAILING_BACKSLASH
    what, colon, where = text.partition(": ")
    wording = _WORDINGS.get(what, what)
    return f"{wording}: `{where}`" if colon else wording
