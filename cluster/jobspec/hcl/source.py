"""A text with its lines, and the problems found in it.

Out: `Problem` values with line and column, worded `line,column: summary; detail`. Knows no syntax.
"""

import re
from bisect import bisect_right

from cluster.jobspec.problems import JobProblems, Problem

#: Further problems of one text are not listed.
MAX_PROBLEMS = 100


class Source:
    """One text; collects what is wrong with it."""

    def __init__(self, text: str, name: str = "input.hcl") -> None:
        self.text = text
        self.name = name
        self.problems: list[Problem] = []
        #: Where forms and their fields were written: offset by the form's identity and the
        #: field's name, the empty name for the form itself. Forms live as long as what was read
        #: from this text.
        self.offsets: dict[tuple[int, str], int] = {}
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    @property
    def is_full(self) -> bool:
        """Whether further problems would not be listed anyway."""
        return len(self.problems) >= MAX_PROBLEMS

    def place(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a character."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def note(self, start: int, end: int, summary: str, detail: str) -> None:
        """Add a problem of the text between two offsets."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        line, column = self.place(start)
        end_line, end_column = self.place(max(start, end))
        ending = str(end_column) if end_line == line else f"{end_line},{end_column}"
        message = f"{self.name}:{line},{column}-{ending}: {summary}; {detail}"
        self.problems.append(Problem("", message, line, column))

    def note_somewhere(self, summary: str, detail: str) -> None:
        """Add a problem of the text as a whole."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem("", f"<nil>: {summary}; {detail}"))

    def refuse_if_any(self) -> None:
        """Raise `JobProblems` if something was noted."""
        if self.problems:
            raise JobProblems(self.problems, malformed=True)
