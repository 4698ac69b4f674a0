"""How much a job document may hold; checked before any work is spent on it.

In: a decoded JSON document, or one that is being decoded. Out: the problems of its size. Knows no
field but the task groups.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from cluster.jobspec.problems import JobProblems, Problem

#: Task groups of a job; each costs a judgement, a diff and a reconciliation of its own.
MAX_GROUPS = 1_000
#: Objects (groups, tasks, constraints, ...), and values of any kind, in one document.
MAX_OBJECTS = 10_000
MAX_VALUES = 100_000

#: What nests; a union would be made anew for each look.
_NESTING = (dict, list)
_TOO_MANY_OBJECTS = Problem("", f"a job holds at most {MAX_OBJECTS} objects")


def object_limit() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An `object_hook` that stops the decoding of a text with too many objects."""
    numbers = count(1)

    def keep(found: dict[str, Any]) -> dict[str, Any]:
        if next(numbers) > MAX_OBJECTS:
            raise JobProblems([_TOO_MANY_OBJECTS], malformed=True)
        return found

    return keep


def refuse_oversized(document: object) -> None:
    """Raise `JobProblems` naming every bound that the document exceeds."""
    problems = [*_group_problems(document), *_amount_problems(document)]
    if problems:
        raise JobProblems(problems, malformed=True)


def _group_problems(document: object) -> list[Problem]:
    fields = document.items() if isinstance(document, dict) else ()
    return [
        Problem(name, f"{name}: a job has at most {MAX_GROUPS} task groups; got {len(value)}")
        for name, value in fields
        if name.casefold() == "taskgroups" and isinstance(value, list) and len(value) > MAX_GROUPS
    ]


def _amount_problems(document: object) -> list[Problem]:
    objects = values = 0
    pending: list[Any] = [document] if isinstance(document, _NESTING) else []
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            objects += 1
            inner = list(value.values())
        else:
            inner = value
        values += len(inner)
        if objects > MAX_OBJECTS:
            return [_TOO_MANY_OBJECTS]
        if values > MAX_VALUES:
            return [Problem("", f"a job holds at most {MAX_VALUES} values")]
        pending += [each for each in inner if isinstance(each, _NESTING)]
    return []
