"""Everything wrong with a job, collected and rendered as the public API words it.

Out: `Problem` values, the `JobProblems` error that carries them, and the nested text of several
errors. Knows nothing of what is being checked.
"""

from collections.abc import Iterable
from typing import NamedTuple

#: Lines of one refusal; the number of all problems stands in its head.
MAX_SHOWN = 200


class Problem(NamedTuple):
    """One thing wrong. `path` names the place (`TaskGroups[0].Count`), empty for the whole."""

    path: str
    message: str
    #: 1-based place in the text; None where the job did not come as text.
    line: int | None = None
    column: int | None = None


class JobProblems(Exception):
    """The job cannot be taken as it is; `problems` says why, all of it."""

    def __init__(self, problems: Iterable[Problem], *, malformed: bool = False) -> None:
        self.problems = tuple(problems)
        #: The text could not be read as a job at all, as against a job that breaks a rule.
        self.malformed = malformed
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """The body of the refusal: decoder messages as they are, rules in the multi-error form."""
        messages = [problem.message for problem in self.problems]
        return "\n".join(_shown(messages)) if self.malformed else error_text(messages)


def error_text(messages: Iterable[str]) -> str:
    """Several messages as one text, closed by a blank line so that it can be nested in another."""
    lines = list(messages)
    if not lines:
        return ""
    head = "1 error occurred:" if len(lines) == 1 else f"{len(lines)} errors occurred:"
    return head + "\n" + "\n".join(f"\t* {line}" for line in _shown(lines)) + "\n\n"


def _shown(lines: list[str]) -> list[str]:
    """Nobody reads thousands of lines, and the answer would be larger than the job."""
    if len(lines) <= MAX_SHOWN:
        return lines
    return [*lines[:MAX_SHOWN], f"and {len(lines) - MAX_SHOWN} more"]


def warning_text(messages: Iterable[str]) -> str:
    """Warnings as the `Warnings` field carries them."""
    lines = list(messages)
    if not lines:
        return ""
    head = "1 warning:" if len(lines) == 1 else f"{len(lines)} warnings:"
    return head + "\n\n" + "\n".join(f"* {line}" for line in lines)
