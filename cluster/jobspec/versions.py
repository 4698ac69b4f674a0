"""Whether a version requirement can be read: `>= 1.2, < 2.0`, `~> 1.3`.

In: the text of a `version` or `semver` constraint. Out: why it cannot be read, or nothing.
Comparing versions is the scheduler's work.
"""

import re

_SEMVER = re.compile(
    r"\s*(?:<=|>=|!=|=|<|>)?\s*v?\d+(?:\.\d+)*(?:-[0-9A-Za-z\-~.]+)?(?:\+[0-9A-Za-z\-~.]+)?\s*",
    re.ASCII,
)
_VERSION = re.compile(
    r"\s*(?:<=|>=|!=|~>|=|<|>)?\s*v?\d+(?:\.\d+)*(?:-?[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?"
    r"(?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?\s*",
    re.ASCII,
)
_LONGEST = 1024


def version_problem(text: str) -> str:
    """Why a `version` requirement cannot be read; empty if it can."""
    return _problem(text, _VERSION)


def semver_problem(text: str) -> str:
    """Why a `semver` requirement cannot be read; empty if it can. `~>` is not part of this one."""
    return _problem(text, _SEMVER)


def _problem(text: str, form: re.Pattern[str]) -> str:
    if len(text) > _LONGEST:
        return "Malformed constraint: too long"
    for part in text.split(","):
        if form.fullmatch(part) is None:
            return f"Malformed constraint: {part}"
    return ""
