"""How deep a job file may nest.

Levels are entered for every term of a file. They are a class, because a generator made into a
context costs several times as much.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from cluster.jobspec.hcl.syntax_problem import SyntaxProblem

#: How deep blocks and expressions may nest together; bounds every recursion over the tree.
MAX_NESTING = 40


class Nesting(AbstractContextManager[None]):
    """One level more for the length of a block; entered again and again, also in itself."""

    __slots__ = ("_depth", "_end")

    def __init__(self, end: Callable[[str, str], SyntaxProblem]) -> None:
        self._end = end
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth >= MAX_NESTING:
            raise self._end("Nesting too deep", f"At most {MAX_NESTING} levels are read.")
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1
