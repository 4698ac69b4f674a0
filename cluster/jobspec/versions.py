"""Whether a version requirement can be read: `>= 1.2, < 2.0`, `~> 1.3`.

In: the text of a `version` or `semver` constraint. Out: why it cannot be read, or nothing.
Comparing versions is the scheduler's work.
"""

import re

_NUMBERS = r"\s*v?[0-9]+(?:\.[0-9]+)*"
_BUILD = r"(?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?\s*"
_DASHED = r"(?:-[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*"
#: A pre-release after a dash.
_SEMVER = re.compile(rf"\s*(?:<=|>=|!=|=|<|>)?{_NUMBERS}{_DASHED})?{_BUILD}", re.ASCII)
#: Also one directly behind the number, if it starts with a letter.
_VERSION = re.compile(
    rf"\s*(?:<=|>=|!=|~>|=|<|>)?{_NUMBERS}"
    rf"{_DASHED}|[A-Za-z\-~]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*)?{_BUILD}",
    re.ASCII,
)
_LONGEST = 1024


def version_problem(text: str) -> str:
    """Why a `version` requirement cannot be read; empty if it can."""
    return _problem(text, _VERSION, "malformed constraint")


def semver_problem(text: str) -> str:
    """Why a `semver` requirement cannot be read; empty if it can. `~>` is not part of this one."""
    return _problem(text, _SEMVER, "Malformed constraint")


def _problem(text: str, form: re.Pattern[str], head: str) -> str:
    if len(text) > _LONGEST:
        return f"{head}: too long"
    for part in text.split(","):
        if form.fullmatch(part) is None:
            return f"{head}: {part}"
    return ""
